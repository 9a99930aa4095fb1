// How the house is run: what works and what does not, what it costs, and what an owner can do about it.
import { get } from "./api.js";
import { el, moment, notice, size } from "./dom.js";
import { abilities, config } from "./operations-house.js";
import { act, ago, count, fill, live, money, mood, section, span, table } from "./operations-parts.js";
import { schedules, work } from "./operations-work.js";

const PARTS = [
  ["", "Overview", overview],
  ["work", "Queue and outbox", work],
  ["schedules", "Schedules", schedules],
  ["abilities", "Skills and grants", abilities],
  ["config", "Config", config],
  ["costs", "Costs", costs],
  ["log", "Log", log],
];

/** How many calls cost something that is not known. */
const unpriced = (number) => (number ? ` and ${calls(number)} of unknown price` : "");
const calls = (number) => `${count(number)} ${number === 1 ? "call" : "calls"}`;

/** Shows the view; gives what ends it. */
export function operationsView(main, [, named = ""], { visit }) {
  main.className = "operations";
  const link = ([path, name]) => el("a", { href: `/operations${path && `/${path}`}`, "aria-current": path === named ? "page" : null }, name);
  const found = PARTS.find(([path]) => path === named);
  main.append(el("nav", { class: "parts", "aria-label": "Operations" }, PARTS.map(link)), el("h1", {}, found ? found[1] : "There is nothing here"));
  if (!found) return undefined;
  main.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  document.title = `${found[1]} – Hob`;
  const place = el("div", {});
  main.append(place);
  return found[2](place, { isOwner: visit.role === "owner" });
}

const LIVENESS = { connected: "good", connecting: "warn", deaf: "bad", down: "bad", closed: "bad" };
const MODEL = { ready: "good", resting: "bad", trying: "warn" };
const STAGES = { queued: "waiting its turn", first_token: "to the model's first word", answered: "to the whole answer", sent: "to the platform's having it" };
const KINDS = { stage: "Answer", model: "Model", tool: "Tool", recall: "Recall", commit: "Commit" };

function overview(place) {
  const [facts, channels, models, latency] = [1, 2, 3, 4].map(() => el("div", {}));
  const look = async () => {
    const [all, asked, took] = await Promise.all(["", "/providers", "/latency"].map((path) => get(`/api/operations${path}`)));
    fill(facts, drawn(all));
    fill(channels, table("Channels", ["Channel", "State", "Heard", "Last message", "Last sent", "Why"], all.status.channels.map(channel), "There are no channels."));
    fill(models, table("Models", ["Model", "Roles", "State", "Calls since the start", "Last 24 h", "From cache", "Cost"], asked.models.map(model), "There are no models."));
    fill(latency, table("How long things took", ["What", "Which", "How often", "Half within", "90 % within", "99 % within", "Mean"], took.took.map(stretch), "Nothing was measured yet."), el("p", { class: "hint" }, `Since the start, ${ago(took.up_secs)}.`));
  };
  place.append(facts, section("Channels", channels), section("Models", models), section("Latency", latency));
  return live(look, 5);
}

function drawn({ status, memory, sandbox, upkeep }) {
  const trouble = (one) => el("li", {}, mood(one.part, "bad"), ` for ${span(one.age_secs)}: ${one.what}; ${one.fix}`);
  const fact = (name, ...words) => [el("dt", {}, name), el("dd", {}, words)];
  const books = status.books;
  const list = (all, none, word) => Object.entries(all).map(([name, one]) => word(name, one)).join(", ") || none;
  return [
    status.degraded.length ? el("ul", { class: "trouble" }, status.degraded.map(trouble)) : el("p", {}, mood("Everything works.", "good")),
    el(
      "dl",
      { class: "facts" },
      fact("Hob", `${status.version}, up ${span(status.up_secs)}`),
      books ? fact("Runs", list(books.runs, "none", (name, number) => `${number} ${name}`), books.queue_age_secs ? ` (oldest waits ${span(books.queue_age_secs)})` : "") : fact("Database", mood("does not answer", "bad")),
      books && fact("Outbox", list(books.outbox, "empty", (name, one) => `${one.count} ${name} (oldest ${span(one.oldest_age_secs)})`)),
      books && fact("Today", `${calls(books.today.calls)}, ${count(books.today.input_tokens)} tokens in, ${count(books.today.output_tokens)} out, ${money(books.today.cost_nanousd)}${unpriced(books.today.unpriced)}`),
      books?.next.length ? fact("Next", books.next.map((job) => (job.in_secs < 0 ? `${job.what} (due for ${span(-job.in_secs)})` : `${job.what} in ${span(job.in_secs)}`)).join("; ")) : null,
      fact("Memory", memory),
      fact("Sandbox", sandbox),
      fact("Backup", status.backup_age_secs === null ? "none" : ago(status.backup_age_secs)),
      fact("Disk", status.disk_free_bytes === null ? "cannot be asked" : `${size(status.disk_free_bytes)} free at `, el("code", {}, status.data_dir)),
      upkeep && fact("Upkeep", moment(upkeep.ended_at), ` let ${count(upkeep.rows_gone)} rows go in ${span(upkeep.took_ms / 1000)}`),
    ),
  ];
}

function channel(one) {
  const name = one.account === "default" ? one.channel : `${one.channel} (${one.account})`;
  return [one.name ? `${name}: ${one.name}` : name, mood(one.state, LIVENESS[one.state] ?? ""), ago(one.heard_age_secs), ago(one.message_age_secs), ago(one.sent_age_secs), one.why ?? "–"];
}

function model(one) {
  const rests = one.state === "resting" ? ` for ${span(one.rests_secs)}` : "";
  const since = Object.entries(one.calls).map(([outcome, number]) => `${count(number)} ${outcome}`);
  const share = one.day.input_tokens ? `${Math.round((one.day.cached_tokens / one.day.input_tokens) * 100)} %` : "–";
  return [one.model, one.roles.join(", "), [mood(one.state + rests, MODEL[one.state] ?? ""), one.why ? ` ${one.why}` : ""], since.join(", ") || "none", `${calls(one.day.calls)}, ${count(one.day.input_tokens)} in, ${count(one.day.output_tokens)} out`, share, money(one.day.cost_nanousd)];
}

function stretch(one) {
  const seconds = (value) => (value === null ? "–" : value < 1 ? `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms` : `${value.toFixed(1)} s`);
  const name = one.kind === "stage" ? (STAGES[one.name] ?? one.name) : one.name === "all" ? "–" : one.name;
  return [KINDS[one.kind] ?? one.kind, name, count(one.count), seconds(one.p50_secs), seconds(one.p90_secs), seconds(one.p99_secs), seconds(one.mean_secs)];
}

function costs(place) {
  const choice = (id, label, options) => {
    const select = el("select", { id }, options.map(([value, name]) => el("option", { value }, name)));
    select.addEventListener("change", () => look().catch((error) => notice(error.message)));
    return [select, el("div", {}, el("label", { for: id }, label), select)];
  };
  const [by, byField] = choice("by", "By", [["model", "model"], ["user", "person"]]);
  const [days, daysField] = choice("days", "Days", [["30", "30"], ["7", "7"], ["90", "90"], ["365", "365"]]);
  const [plots, tables] = [el("div", { class: "plots" }), el("div", {})];
  const plot = (what, title) => {
    const src = (theme) => `/api/operations/costs.svg?days=${days.value}&by=${by.value}&what=${what}&theme=${theme}`;
    const alt = `${title}, stacked bars for each of ${days.value} days; the numbers stand in the tables below`;
    return el(
      "figure",
      {},
      el("figcaption", {}, title),
      el("picture", {}, el("source", { media: "(prefers-color-scheme: dark)", srcset: src("dark") }), el("img", { src: src("light"), alt, width: "500", height: "260" })),
    );
  };
  const sums = (label, first, all) =>
    table(
      label,
      [first, "Calls", "Tokens in", "From cache", "Tokens out", "Cost"],
      all.map((sum) => [sum.name, count(sum.calls), count(sum.input_tokens), count(sum.cached_tokens), count(sum.output_tokens), money(sum.cost_nanousd)]),
      "Nothing was spent.",
    );
  const look = async () => {
    const all = await get(`/api/operations/costs?days=${days.value}&by=${by.value}`);
    const whose = by.value === "model" ? "model" : "person";
    fill(plots, plot("cost", `Cost by ${whose}`), plot("tokens", `Tokens by ${whose}`));
    fill(tables, el("h2", {}, `By ${whose}`), sums(`By ${whose}`, whose === "model" ? "Model" : "Person", all.shares), el("h2", {}, "By day"), sums("By day", "Day", all.days));
  };
  place.append(el("div", { class: "choices" }, byField, daysField), plots, tables);
  return live(look, 60);
}

function log(place) {
  const lines = el("div", { class: "lines", role: "log", "aria-label": "Log", tabindex: "0" });
  const level = el("select", { id: "level" }, [["info", "everything"], ["warn", "warnings and errors"], ["error", "errors"]].map(([value, name]) => el("option", { value }, name)));
  let after = 0;
  let stands = false;
  const line = (one) => el("p", { class: one.level }, el("time", { datetime: new Date(one.at).toISOString() }, new Date(one.at).toLocaleTimeString()), " ", mood(one.level, { error: "bad", warn: "warn" }[one.level] ?? ""), " ", el("span", { class: "hint" }, one.target), " ", one.text);
  const look = async () => {
    if (stands) return;
    const wanted = level.value;
    const found = await get(`/api/operations/log?after=${after}&level=${wanted}`);
    if (wanted !== level.value) return;
    if (found.last < after) {
      // Hob was started anew, and counts from one again.
      after = 0;
      lines.replaceChildren();
      return look();
    }
    const isAtEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
    lines.append(...found.lines.map(line));
    while (lines.children.length > 1000) lines.firstChild.remove();
    after = found.last;
    if (isAtEnd) lines.scrollTop = lines.scrollHeight;
  };
  level.addEventListener("change", () => {
    after = 0;
    lines.replaceChildren();
    look().catch((error) => notice(error.message));
  });
  const stand = act("Stand still", "stand", () => {
    stands = !stands;
    stand.textContent = stands ? "Go on" : "Stand still";
  });
  place.append(el("div", { class: "choices" }, el("div", {}, el("label", { for: "level" }, "Show"), level), stand), lines);
  return live(look, 2);
}
