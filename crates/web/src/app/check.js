// A recorded run, checked, or under another policy: what `hob replay` says with --verify and --what-if.
import { get, post } from "./api.js";
import { countOf, grouped, money, piece, tokens } from "./amounts.js";
import { el } from "./dom.js";

const HASHES = {
  same: "The state is the one that was written down.",
  different: "NOT THE SAME STATE as was written down.",
  other_scheme: "The state's hash was made by another edition and cannot be compared.",
  not_stored: "No hash of the state was written down: the run is older than such hashes, is still at work, or was written off.",
};

/** What stands in the section. */
export function checks(run, models) {
  const told = el("div", { role: "status" });
  const verify = async () => {
    button.disabled = true;
    told.replaceChildren(el("p", {}, "Folding the journal …"));
    try {
      told.replaceChildren(...verdict(await get(`/api/runs/${run}/verdict`)));
    } catch (error) {
      told.replaceChildren(el("p", { class: "bad" }, error.message));
    }
    button.disabled = false;
  };
  const button = el("button", { type: "button", class: "quiet", onclick: verify }, "Replay and verify");
  return [el("h2", { id: "checks" }, "Replay"), el("p", {}, button), told, whatIf(run, models)];
}

function verdict({ holds, events, unreadable, mismatch, told, hash, stored, folded }) {
  const lines = [
    `${countOf(events, "event")} folded.`,
    unreadable && `NOT READABLE from event ${unreadable.seq} on: ${unreadable.what}`,
    mismatch ? `NOT THE SAME EFFECTS: ${mismatch.what}.` : "The journal replays to the same effects.",
    ...told.map(({ what }) => `A person was told of this one while the run lived: ${what}.`),
    HASHES[hash],
    stored && `written down: ${stored}`,
    folded && `folded: ${folded}`,
  ];
  return [el("p", { class: holds ? "good" : "bad" }, holds ? "It holds." : "It does not hold."), el("ul", {}, lines.filter(Boolean).map((line) => el("li", {}, line)))];
}

function whatIf(run, models) {
  const model = el("select", { id: "other-model" }, el("option", { value: "" }, "as it was"), [...new Set(models)].map((name) => el("option", { value: name }, name)));
  const iterations = el("input", { id: "other-iterations", type: "number", min: "0", step: "1" });
  const more = el("textarea", { id: "other-policy", rows: 4, spellcheck: "false", placeholder: "[policy.guards]\nidentical_max = 2" });
  const told = el("div", { role: "status" });
  const compare = async (event) => {
    event.preventDefault();
    const change = [model.value && `models = [${JSON.stringify(model.value)}]`, more.value, iterations.value && `[limits]\niterations = ${Number(iterations.value)}`];
    told.replaceChildren(el("p", {}, "Comparing …"));
    try {
      told.replaceChildren(...report(await post(`/api/runs/${run}/what-if`, { change: change.filter(Boolean).join("\n") })));
    } catch (error) {
      told.replaceChildren(el("pre", { class: "bad" }, error.message));
    }
  };
  const field = (input, label) => el("p", {}, el("label", { for: input.id }, label), input);
  return el(
    "details",
    { class: "what-if" },
    el("summary", {}, "What if …"),
    el("p", { class: "hint" }, "What other numbers, or another model's price and window, would have decided with the recorded answers. Nothing is called."),
    el("form", { onsubmit: compare }, field(model, "Another model"), field(iterations, "Iterations, at most"), field(more, "More, as TOML: system, [limits], [policy.guards] and so on"), el("button", {}, "Compare")),
    told,
  );
}

function report({ notes, compared, difference_count, differences, asked_count, asked_otherwise, stopped, was, would_be }) {
  const asked = ({ model, estimate, most_nano_usd }) => `${model}, ${grouped(estimate)} tokens, ${most_nano_usd === null ? "price unknown" : `at most ${money(most_nano_usd)}`}`;
  const sum = ({ state, cycles, spent }) => `${state} after ${countOf(cycles, "cycle")}, ${tokens(spent.tokens)}, ${money(spent.cost_nano_usd, spent.unpriced)}`;
  const words = (name, all, key) => el("div", {}, el("span", { class: "label" }, name), all.length ? all.map((one, index) => piece(one, { key: `${key}${index}` })) : " nothing");
  const list = (all) => (all.length ? el("ul", {}, all) : null);
  const rest = (count, all, what) => (count > all.length ? el("p", { class: "hint" }, `… and ${grouped(count - all.length)} more ${what}`) : null);
  return [
    el("p", {}, `${countOf(compared, "event")} compared, nothing was called.`),
    list(notes.map((note) => el("li", {}, note))),
    difference_count ? null : el("p", {}, "It would have decided the same."),
    list(differences.map(({ seq, after, was: before, would_be: then }) => el("li", {}, `After event ${seq} (${after})`, words("was", before, `was${seq}`), words("would be", then, `then${seq}`)))),
    rest(difference_count, differences, "differences"),
    list(asked_otherwise.map((ask) => el("li", {}, `Asked after event ${ask.seq}: ${asked(ask.was)}; would be ${asked(ask.would_be)}`))),
    rest(asked_count, asked_otherwise, "calls of a model"),
    el("p", {}, stopped ? `It ends at event ${stopped.seq}: ${stopped.what}.` : "The record was followed to its end."),
    el("p", {}, `Was: ${sum(was)}`),
    el("p", {}, `Would be: ${sum(would_be)}`),
  ].filter(Boolean);
}
