// One run: what happened in it, cycle by cycle, live while it goes on; and what owners order of it.
import { get, post } from "./api.js";
import { badge, countOf, facts, money, openKeys, pause, piece, reopen, stretch, tokens } from "./amounts.js";
import { el, moment, notice, shortened } from "./dom.js";
import { checks } from "./check.js";
import { Timeline } from "./timeline.js";

const PURPOSES = { wrap_up_time: " to wrap up (time)", wrap_up_iterations: " to wrap up (iterations)", summary: " for a summary" };
const REMARKS = {
  "agent.loop.detected": "a guard saw a circle",
  "agent.guardrail.escalated": "a guard went further",
  "agent.phantom.caught": "a claim without a deed",
  "agent.compaction.run": "the context was compacted",
  "agent.recovery.fired": "a full window was recovered from",
  "agent.tool.retry": "a tool is tried again",
  "agent.exhaustion.soft": "the last turn",
  "agent.loop.terminated": "the declared end",
  "summary.asked": "a summary is asked for",
  "summary.made": "a summary",
  "summary.failed": "no summary",
  "compaction.requested": "a summary is wanted",
  "human.asked": "a person is asked",
  "human.answered": "a person answered",
  "human.expired": "nobody answered",
  "cancel.requested": "it is to stop",
  "pause.requested": "it is to stand still",
  "pause.lifted": "it goes on",
  "limit.soft": "the time is up",
  "limit.budget": "a budget is used up",
  "limit.quota": "a quota is used up",
  "input.steered": "a message joined",
  "input.edited": "the message was changed",
  "child.ended": "an agent is done",
  "run.suspended": "Hob stopped",
  "run.resumed": "Hob took it up again",
  "run.mismatch": "the record parts from the rules",
  "run.panicked": "a fault in Hob",
  "reply.made": "said",
  "run.ended": "over",
};
const LIVE_MS = 1000;
const WAITING_MS = 3000;
/** Of a long run, so many cycles are unfolded from the start. */
const OPEN_CYCLES = 10;

/** Shows the view; gives what ends it. */
export function runView(main, run, { visit }) {
  main.className = "run";
  const page = new RunPage(run, visit.role === "owner");
  main.append(page.element);
  page.begin();
  return () => page.end();
}

class RunPage {
  constructor(run, isOwner) {
    this.run = run;
    this.path = `/api/runs/${run}`;
    this.isOwner = isOwner;
    this.upto = 0;
    this.shown = new Map();
    this.state = el("span", { role: "status" });
    this.connection = el("p", { class: "connection", role: "status", hidden: true }, "Connection lost; trying again …");
    this.head = el("div");
    this.orders = el("div", { class: "buttons" });
    this.question = el("section", { class: "question", "aria-label": "What it asks", hidden: true });
    this.before = el("div");
    this.story = el("ol", { class: "story" });
    this.short = el("section", { "aria-labelledby": "short", hidden: true }, el("h2", { id: "short" }, "In short"), this.story);
    this.earlier = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.loadEarlier() }, "Earlier cycles");
    this.cycles = el("ol", { class: "cycles", "aria-label": "Cycles" });
    this.close = el("div");
    this.timeline = new Timeline(run);
    this.checks = el("section", { "aria-labelledby": "checks" });
    this.element = el(
      "article",
      {},
      el("p", { class: "hint" }, el("a", { href: "/runs" }, "Runs")),
      el("h1", {}, `Run ${run} `, this.state),
      this.connection,
      this.head,
      this.orders,
      this.question,
      this.short,
      el("section", { "aria-labelledby": "happened" }, el("h2", { id: "happened" }, "What happened"), this.before, this.earlier, this.cycles, this.close),
      this.timeline.element,
      this.checks,
    );
  }

  async begin() {
    await this.load("");
    while (!this.over && !this.isDone) {
      await pause(this.entry?.state === "running" ? LIVE_MS : WAITING_MS, () => this.over);
      if (this.over) return;
      await this.look();
    }
  }

  end() {
    this.over = true;
    this.timeline.end();
  }

  /** Has anything happened since? Only then more is asked for. */
  async look() {
    try {
      const { state, upto } = await get(`${this.path}/events?after=${this.upto}&limit=0`);
      this.connection.hidden = true;
      if (this.over || (upto === this.upto && state === this.entry?.state)) return;
      await this.load(this.newest ? `?from=${this.newest}` : "");
    } catch (error) {
      if (this.over) return;
      if (error.status === 404) this.isDone = true;
      else this.connection.hidden = false;
    }
  }

  async load(part) {
    try {
      const page = await get(this.path + part);
      if (!this.over) this.show(page);
    } catch (error) {
      if (error.status === 404) {
        this.isDone = true;
        this.head.replaceChildren(el("p", {}, `There is no run ${this.run}.`));
        this.timeline.element.hidden = true;
      } else notice(error.message);
    }
  }

  show(page) {
    const { entry, tree, gone, upto } = page;
    const isFirst = !this.entry;
    this.entry = entry;
    this.upto = upto;
    this.isDone = entry.ended_at !== null;
    this.state.replaceChildren(badge(entry));
    this.head.replaceChildren(...this.heading(page));
    this.order(page);
    this.ask(page.question, page.failure);
    if (gone) this.before.replaceChildren(el("p", {}, gone));
    if (!tree) return void (this.timeline.element.hidden = true);
    this.begun(tree);
    this.tell(tree.story);
    tree.cycles.forEach((cycle) => this.cycle(cycle, tree.cycle_count));
    this.newest = tree.cycles.at(-1)?.number ?? this.newest;
    if (isFirst) this.oldest = tree.cycles[0]?.number ?? 1;
    this.earlier.hidden = !(this.oldest > 1);
    this.ended(tree);
    this.timeline.reached(upto);
    if (isFirst) this.checks.replaceChildren(...checks(this.run, page.models));
    // More cycles than come at once: the rest follows.
    if (this.newest < tree.cycle_count) this.load(`?from=${this.newest}`);
  }

  heading({ entry, tree }) {
    const where = entry.session.startsWith("web:")
      ? el("a", { href: `/chat/${entry.session.slice(4)}`, title: entry.session }, shortened(entry.session))
      : entry.session;
    const took = entry.ended_at === null ? null : stretch(entry.ended_at - entry.accepted_at);
    const spent = tree?.spent;
    const link = (run) => el("a", { href: `/runs/${run}` }, `run ${run}`);
    return [
      el("p", {}, `${entry.who} in `, where, ", ", moment(entry.accepted_at), " ", el("a", { href: `/runs?session=${encodeURIComponent(entry.session)}` }, "others of this conversation")),
      facts([
        ["Ended by", tree?.terminated_by?.replaceAll("_", " ")],
        ["Took", took],
        ["Cycles", String(tree?.cycle_count ?? entry.cycles)],
        ["Tokens", spent ? tokens(spent.tokens) : null],
        ["Cost", spent ? money(spent.cost_nano_usd, spent.unpriced) : money(entry.cost_nano_usd)],
        ["Models", tree?.models.join(", ")],
        ["Works for", entry.parent ? link(entry.parent) : null],
        ["Agents", tree?.agents.length ? tree.agents.flatMap((run) => [link(run), " "]) : null],
        ["Tainted by", tree?.taint.length ? el("ul", { class: "taint" }, tree.taint.map((source) => el("li", {}, source))) : null],
      ]),
    ];
  }

  order({ stoppable, paused }) {
    const wanted = this.isOwner ? `${stoppable}${paused}` : "";
    if (this.ordered === wanted) return;
    this.ordered = wanted;
    const button = (name, path) => {
      const act = async () => {
        made.disabled = true;
        await this.send(`${this.path}/${path}`);
        made.disabled = false;
      };
      const made = el("button", { type: "button", class: "quiet", onclick: act }, name);
      return made;
    };
    this.orders.replaceChildren();
    if (this.isOwner && stoppable) this.orders.append(button("Stop", "stop"), button("Stop now", "stop-now"));
    if (this.isOwner && paused) this.orders.append(button("Resume its conversation", "resume"));
  }

  async send(path, body) {
    try {
      const { told } = await post(path, body);
      notice(told);
      await this.look();
    } catch (error) {
      notice(error.message);
    }
  }

  ask(question, failure) {
    const asked = JSON.stringify([question, failure]);
    if (this.asked === asked) return;
    this.asked = asked;
    this.question.hidden = !question && !failure;
    this.question.replaceChildren();
    if (failure) this.failed(failure);
    if (!question) return;
    const answer = (text) => this.send(`${this.path}/answers`, { question: question.number, text });
    this.question.append(el("h2", {}, "It asks"), el("p", { class: "plain" }, question.text.text));
    if (!this.isOwner) return;
    const choices = question.choices.map((choice) => el("button", { type: "button", onclick: () => answer(choice) }, choice));
    if (choices.length) this.question.append(el("div", { class: "buttons", role: "group", "aria-label": "Answers" }, choices));
    if (!question.takes_words) return;
    const words = el("textarea", { rows: 2, id: "answer" });
    const done = (event) => {
      event.preventDefault();
      if (words.value.trim()) answer(words.value);
    };
    this.question.append(el("form", { onsubmit: done }, el("label", { for: "answer" }, "In your words"), words, el("button", {}, "Answer")));
  }

  failed({ objective, state, next }) {
    this.question.append(el("h2", {}, "It failed"), facts([["Objective", objective], ["Where it stood", state], ["Next", next]]));
    if (!this.isOwner) return;
    const settle = async (choice) => {
      await this.send(`${this.path}/failure`, { choice });
      await this.load(`?from=${this.newest}`);
    };
    const all = [["Resume", "resume"], ["Try again from the start", "try_again"], ["Let it be", "let_be"]];
    const choices = all.map(([label, choice]) => el("button", { type: "button", onclick: () => settle(choice) }, label));
    this.question.append(el("div", { class: "buttons", role: "group", "aria-label": "What is to be done about it" }, choices));
  }

  /** What it did, one after another, in words. */
  tell(story) {
    this.short.hidden = !story.length;
    this.story.replaceChildren(...story.map(({ words, times, failed }) => el("li", { class: failed ? "bad" : null }, times > 1 ? `${words} ×${times}` : words)));
  }

  begun(tree) {
    const known = JSON.stringify([tree.message, tree.before]);
    if (this.begunWith === known) return;
    this.begunWith = known;
    const open = openKeys(this.before);
    const whole = async () => (await get(`${this.path}/events/1`)).body.text;
    const remarks = this.remarks(tree.before, (index) => this.eventText(tree.before[index].seq));
    this.before.replaceChildren(
      el("div", { class: "message person" }, el("span", { class: "who" }, this.entry.who), piece(tree.message, { key: "message", whole, open: true })),
      ...(remarks ? [remarks] : []),
    );
    if (open.size) reopen(this.before, open);
  }

  async eventText(seq) {
    const { body } = await get(`${this.path}/events/${seq}`);
    return JSON.stringify(body, null, 2);
  }

  ended(tree) {
    this.close.replaceChildren();
    const { unreadable } = tree;
    if (unreadable) this.close.append(el("p", { class: "bad" }, `Event ${unreadable.seq} cannot be read, nor what comes after it: ${unreadable.what}`));
  }

  async loadEarlier() {
    try {
      const { tree } = await get(`${this.path}?before=${this.oldest}`);
      if (this.over || !tree?.cycles.length) return;
      const before = document.getElementById("main").scrollHeight;
      tree.cycles.forEach((cycle) => this.cycle(cycle, tree.cycle_count));
      this.oldest = tree.cycles[0].number;
      this.earlier.hidden = this.oldest <= 1;
      document.getElementById("main").scrollTop += document.getElementById("main").scrollHeight - before;
    } catch (error) {
      notice(error.message);
    }
  }

  cycle(cycle, count) {
    const json = JSON.stringify(cycle);
    const known = this.shown.get(cycle.number);
    if (known?.json === json) return;
    const entry = this.cycleEntry(cycle, count);
    if (known) {
      reopen(entry, openKeys(known.entry));
      known.entry.replaceWith(entry);
    } else {
      const after = [...this.cycles.children].find((other) => Number(other.dataset.cycle) > cycle.number);
      this.cycles.insertBefore(entry, after ?? null);
    }
    this.shown.set(cycle.number, { entry, json });
  }

  cycleEntry(cycle, count) {
    const { number } = cycle;
    const isAnswered = cycle.asks.some(({ outcome }) => outcome === "answered");
    const sum = isAnswered ? `${tokens(cycle.tokens)}, ${money(cycle.cost_nano_usd)}` : "no answer yet";
    const whole = (pick) => async () => pick(await get(`${this.path}/cycles/${number}`));
    const text = cycle.text.text.trim() ? piece(cycle.text, { label: "said", key: "said", open: true, whole: whole((all) => all.text.text) }) : null;
    return el(
      "li",
      { "data-cycle": number },
      el(
        "details",
        { class: "cycle", "data-key": "cycle", open: count - number < OPEN_CYCLES },
        el("summary", {}, el("h3", {}, `Cycle ${number}`), " ", cycle.calls.length ? `${countOf(cycle.calls.length, "call")}, ` : "", el("span", { class: "hint" }, sum)),
        el("ul", { class: "asks" }, cycle.asks.map((ask, index) => el("li", {}, this.askLine(ask), ask.failure ? piece(ask.failure, { key: `failure${index}`, whole: whole((all) => all.asks[index].failure.text) }) : null))),
        text,
        cycle.calls.map((call, index) => this.call(call, (pick) => whole((all) => pick(all.calls[index])))),
        this.remarks(cycle.remarks, (index) => whole((all) => all.remarks[index].text.text)(), cycle.text.text),
      ),
    );
  }

  askLine({ model, purpose, outcome, took_ms }) {
    const took = took_ms === null ? "" : ` in ${stretch(took_ms)}`;
    const came = { open: "no answer yet", answered: `answered${took}`, failed: `failed${took}`, unheard: "the answer was not heard" }[outcome];
    return `asked ${model}${PURPOSES[purpose] ?? ""}: ${came}`;
  }

  call(call, whole) {
    const marks = [call.risk, call.grade, call.attempts === 0 ? "not run" : null, call.attempts > 1 ? countOf(call.attempts, "attempt") : null, call.took_ms === null ? null : stretch(call.took_ms)];
    return el(
      "section",
      { class: `call${call.is_error ? " failed" : ""}`, "aria-label": `Call of ${call.name}` },
      el("p", {}, el("code", {}, call.name), " ", el("span", { class: "hint" }, marks.filter(Boolean).join(", "))),
      piece(call.arguments, { label: "given", key: `${call.id}-given`, whole: whole((all) => all.arguments.text) }),
      call.result ? piece(call.result, { label: call.is_error ? "failed" : "result", key: `${call.id}-result`, whole: whole((all) => all.result.text) }) : el("p", { class: "hint" }, "no result yet"),
      call.source ? el("p", { class: "taint" }, `from ${call.source}, for which nobody vouches`) : null,
    );
  }

  /** What else happened; words that stand right above, as `said`, are not shown again. */
  remarks(all, whole, said) {
    if (!all.length) return null;
    const one = ({ seq, at, kind, text }, index) => {
      const isTold = kind === "reply.made" && text.text === said;
      const words = text.text && !isTold ? piece(text, { key: `remark${seq}`, whole: () => whole(index) }) : null;
      return el("li", {}, el("span", { class: "kind", title: kind }, isTold ? "told so" : (REMARKS[kind] ?? kind)), " ", moment(at), words);
    };
    return el("ul", { class: "remarks", "aria-label": "What else happened" }, all.map(one));
  }
}
