// What waits: runs, words on their way out, and what is to be done later.
import { del, persist, post } from "./api.js";
import { el, newId, notice } from "./dom.js";
import { Listing, act, ago, live, mood, runLink, section, span, table, when } from "./operations-parts.js";

const STATES = { queued: "", running: "good", waiting: "warn", pending: "", sending: "good", unknown: "warn", failed: "bad", abandoned: "bad", held: "warn" };
const state = (word) => mood(word, STATES[word] ?? "");
const words = (text) => el("span", { class: "words" }, text);

/** What is at work or waits, and the outbox. */
export function work(place, { isOwner }) {
  const runs = new Listing({
    path: "/api/operations/queue",
    name: "runs",
    draw: (rows) =>
      table(
        "Runs that are not over",
        ["Run", "Conversation", "State", "For", "Whose", "Message", ...(isOwner ? ["Action"] : [])],
        rows.map((run) => [
          runLink(run.run),
          run.session,
          state(run.state),
          span(run.age_secs),
          run.user,
          words(run.text),
          ...(isOwner ? [ending(run)] : []),
        ]),
        "Nothing is at work, and nothing waits.",
      ),
  });
  const ending = (run) => {
    const waits = run.state === "queued";
    const sure = waits ? null : `Stop run ${run.run}? It ends at its next safe boundary.`;
    const end = async () => {
      await del(`/api/operations/queue/${run.run}`);
      await runs.load();
    };
    return act(waits ? "Cancel" : "Stop", `run${run.run}`, end, { sure });
  };
  const chunks = (path, empty, label) => {
    const list = new Listing({
      path,
      name: "chunks",
      draw: (rows) =>
        table(
          label,
          ["To", "State", "Words", "Since", "Attempts", "Next", "Trouble", "Run", ...(isOwner ? ["Action"] : [])],
          rows.map((chunk) => [
            chunk.session,
            state(chunk.state),
            words(chunk.text),
            ago(chunk.age_secs),
            String(chunk.attempts),
            when(chunk.next_at),
            chunk.error ?? "–",
            runLink(chunk.run),
            ...(isOwner ? [settling(chunk)] : []),
          ]),
          empty,
        ),
    });
    return list;
  };
  const settling = (chunk) => {
    const settle = (what) => async () => {
      await post(`/api/operations/outbox/${chunk.id}/${what}`);
      await Promise.all([open.load(), gone.load()]);
    };
    const waits = ["pending", "unknown", "sending"].includes(chunk.state);
    if (chunk.state === "held") return "by /mail";
    return el(
      "div",
      { class: "row" },
      act(waits ? "Try now" : "Retry", `retry${chunk.id}`, settle("retry")),
      waits && act("Abandon", `abandon${chunk.id}`, settle("abandon"), { sure: "Give this up? It is not said any more." }),
    );
  };
  const open = chunks("/api/operations/outbox", "Everything is delivered.", "What is to be said");
  const gone = chunks("/api/operations/outbox/given-up", "Nothing was given up.", "What was given up");
  place.append(
    section("Runs", runs.element),
    section("Outbox", open.element, el("h3", {}, "Given up"), gone.element),
  );
  return live(() => Promise.all([runs.load(), open.load(), gone.load()]), 5);
}

const WHY = { asked: "paused", failures: "paused: it failed too often", access: "paused: whoever made it is not let in", damaged: "paused: its record is damaged" };

/** What is to be done later. */
export function schedules(place, { isOwner }) {
  const list = (done) =>
    new Listing({
      path: `/api/operations/schedules?done=${done}`,
      name: "schedules",
      mark: "before",
      draw: (rows) => (rows.length ? el("ul", { class: "cards" }, rows.map(card)) : el("p", { class: "hint" }, done ? "Nothing is done." : "Nothing is scheduled.")),
    });
  const [open, over] = [list(false), list(true)];
  const reload = () => Promise.all([open.load(), over.load()]);
  const card = (one) => {
    const missed = one.came.filter((came) => came.state === "missed" || (came.state === "skipped" && !came.look));
    const look = (came) => mood(`looked: ${came.look}`, came.look.startsWith("failed") ? "bad" : "");
    const past = one.came.slice(0, 5).map((came) => el("li", {}, when(came.due_at), " ", came.look && !came.run ? look(came) : mood(came.state, { done: "good", failed: "bad", missed: "warn", skipped: "warn" }[came.state] ?? ""), " ", came.run ? runLink(came.run) : null));
    return el(
      "li",
      {},
      el("h3", {}, `${one.id}. ${one.name ? `${one.name}: ` : ""}${one.when}`),
      el("p", { class: "words" }, one.task),
      el("p", { class: "hint" }, `For ${one.user}${one.session ? `, answers in ${one.session}` : ""}. `, one.state === "paused" ? mood(WHY[one.why] ?? "paused", "warn") : null, one.failures ? ` ${one.failures} failures in a row.` : null, one.asked ? " It is run now." : null),
      one.looks ? el("p", { class: "hint" }, `Looks first ${one.looks}.`) : null,
      one.next.length ? el("p", {}, "Next: ", one.next.flatMap((at, index) => [index ? ", " : null, when(at)])) : null,
      missed.length ? el("p", {}, mood(`Missed ${missed.length} of the last ${one.came.length}`, "warn"), ": ", missed.slice(0, 3).flatMap((came, index) => [index ? ", " : null, when(came.due_at)])) : null,
      past.length ? el("details", {}, el("summary", {}, "Last runs"), el("ul", {}, past)) : null,
      isOwner ? changing(one) : null,
    );
  };
  const changing = (one) => {
    const change = (what) => async () => {
      await post(`/api/operations/schedules/${one.id}/${what}`);
      await reload();
    };
    const remove = async () => {
      await del(`/api/operations/schedules/${one.id}`);
      await reload();
    };
    return el(
      "div",
      { class: "row" },
      one.state !== "done" && act("Run now", `run${one.id}`, change("run"), { done: "It is run now." }),
      one.state === "active" && act("Pause", `pause${one.id}`, change("pause")),
      one.state === "paused" && act("Resume", `pause${one.id}`, change("resume")),
      !one.name && act("Delete", `delete${one.id}`, remove, { sure: `Delete schedule ${one.id}?` }),
    );
  };
  place.append(
    isOwner ? section("Something new", making(reload)) : "",
    section("To be done", open.element),
    el("details", {}, el("summary", {}, "Done"), over.element),
  );
  return live(reload, 15);
}

function making(made) {
  const field = (id, label, input) => el("div", {}, el("label", { for: id }, label), input);
  const at = el("input", { id: "when", required: true, placeholder: "weekdays at 8:30", autocomplete: "off" });
  const task = el("textarea", { id: "task", required: true, rows: 2, placeholder: "Tell me what the weather will be" });
  const zone = el("input", { id: "zone", placeholder: "the household's", autocomplete: "off" });
  const button = el("button", {}, "Schedule");
  const send = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const chat = localStorage.getItem("chat") ?? newId();
      localStorage.setItem("chat", chat);
      const wish = { when: at.value, task: task.value, zone: zone.value || null, chat };
      const one = await persist(() => post("/api/operations/schedules", wish), () => notice("Hob cannot be reached; trying again …"));
      at.value = task.value = zone.value = "";
      notice(`Stored as ${one.id}: ${one.when}`);
      await made();
    } catch (error) {
      notice(error.message);
    } finally {
      button.disabled = false;
    }
  };
  return el(
    "form",
    { class: "making", onsubmit: send },
    field("when", "When", at),
    field("zone", "Time zone", zone),
    field("task", "What to do then", task),
    el("p", { class: "hint" }, "Also: in 2h, tomorrow at 9, every other Friday at 17:00, or cron. It is answered in the page's last conversation."),
    button,
  );
}
