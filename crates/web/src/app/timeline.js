// A run as it stood after any of its events: where it was, what it had used, what the model would have seen.
import { get } from "./api.js";
import { facts, grouped, money, piece, tokens } from "./amounts.js";
import { el, moment, notice } from "./dom.js";

/** So many events are shown before and after the one that is looked at. */
const AROUND = 20;
const SETTLE_MS = 80;

export class Timeline {
  constructor(run) {
    this.path = `/api/runs/${run}`;
    this.at = 0;
    this.upto = 0;
    this.range = el("input", { type: "range", id: "at", min: "1", max: "1", value: "1", oninput: () => this.go(Number(this.range.value)) });
    this.label = el("output", { for: "at" });
    this.told = el("div", { class: "standing" });
    this.context = el("div");
    this.journal = el("tbody");
    const step = (by, name) => el("button", { type: "button", class: "quiet", "aria-label": name, onclick: () => this.go(this.at + by) }, by < 0 ? "◀" : "▶");
    this.contextPart = el("details", { ontoggle: () => this.showContext() }, el("summary", {}, "What the model sees here"), this.context);
    this.journalPart = el(
      "details",
      { open: true, ontoggle: () => this.showJournal() },
      el("summary", {}, "The journal around it"),
      el(
        "table",
        { class: "journal" },
        el("caption", { class: "hidden" }, "Events around the one that is looked at"),
        el("thead", {}, el("tr", {}, ["Event", "When", "What"].map((name) => el("th", { scope: "col" }, name)))),
        this.journal,
      ),
    );
    const body = el(
      "div",
      {},
      el("label", { for: "at" }, "After event"),
      el("div", { class: "scrub" }, step(-1, "One event back"), this.range, step(1, "One event on")),
      this.label,
      this.told,
      this.contextPart,
      this.journalPart,
    );
    this.element = el("details", { class: "timeline", ontoggle: () => this.opened() }, el("summary", {}, el("h2", {}, "Timeline")), body);
  }

  end() {
    this.over = true;
    clearTimeout(this.settling);
  }

  /** The journal goes up to there now. Who looks at its end goes on doing so. */
  reached(upto) {
    const wasAtEnd = this.at === this.upto;
    this.upto = upto;
    this.range.max = String(upto);
    if (wasAtEnd) this.go(upto);
  }

  opened() {
    if (this.element.open) this.go(this.at || this.upto);
  }

  go(at) {
    this.at = Math.min(Math.max(at, 1), this.upto);
    this.range.value = String(this.at);
    this.label.textContent = `event ${grouped(this.at)} of ${grouped(this.upto)}`;
    if (!this.element.open) return;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.show(), SETTLE_MS);
  }

  /** What is asked for here; none if somebody has gone on meanwhile. */
  async here(path) {
    const { at } = this;
    try {
      const answer = await get(`${this.path}${path}`);
      return !this.over && at === this.at ? answer : null;
    } catch (error) {
      notice(error.message);
      return null;
    }
  }

  async show() {
    this.showJournal();
    this.showContext();
    const standing = await this.here(`/state?at=${this.at}`);
    if (standing) this.told.replaceChildren(...this.standing(standing));
  }

  standing({ when, kind, text, phase, budgets, taint, notes, deeds, joining, mismatch, unreadable }) {
    this.label.replaceChildren(`event ${grouped(this.at)} of ${grouped(this.upto)}: `, el("code", {}, kind ?? ""), " ", when === null ? "" : moment(when));
    const gauge = ({ used, of }, unit) => {
      const words = of === null ? `${grouped(used)}${unit}` : `${grouped(used)}${unit} of ${grouped(of)}`;
      return [words, of ? el("meter", { min: "0", max: String(of), value: Math.min(used, of), "aria-label": words }) : null];
    };
    const used = budgets && facts([
      ["Iterations", gauge(budgets.iterations, "")],
      ["Can be raised to", grouped(budgets.iterations_cap)],
      ["Cycles", grouped(budgets.cycles)],
      ["Window", gauge(budgets.window, " tokens")],
      ["Tokens", tokens(budgets.spent.tokens)],
      ["Cost", money(budgets.spent.cost_nano_usd, budgets.spent.unpriced)],
      ["Set aside", budgets.reserved_nano_usd === null ? null : money(budgets.reserved_nano_usd)],
      ["Reached", budgets.reached],
      ["Time", budgets.time_is_up ? "is up: it sums up" : null],
      ["Joining", joining ? grouped(joining) : null],
      ["Tainted by", taint.length ? el("ul", { class: "taint" }, taint.map((source) => el("li", {}, source))) : null],
    ]);
    return [
      el("p", {}, phase),
      text?.text ? piece(text, { label: "event", key: "event", whole: () => this.whole(this.at) }) : null,
      used,
      notes ? piece(notes, { label: "notes", key: "notes" }) : null,
      deeds ? piece(deeds, { label: "done", key: "deeds" }) : null,
      mismatch ? el("p", { class: "bad" }, mismatch.what) : null,
      unreadable ? el("p", { class: "bad" }, `Event ${unreadable.seq} cannot be read: ${unreadable.what}`) : null,
    ].filter(Boolean);
  }

  async whole(seq) {
    return JSON.stringify((await get(`${this.path}/events/${seq}`)).body, null, 2);
  }

  async showJournal() {
    if (!this.element.open || !this.journalPart.open) return;
    const from = Math.max(0, this.at - AROUND - 1);
    const part = await this.here(`/events?after=${from}&limit=${2 * AROUND + 1}`);
    if (!part) return;
    const hadFocus = this.journal.contains(document.activeElement);
    this.journal.replaceChildren(...part.events.map((event) => this.event(event)));
    if (hadFocus) this.journal.querySelector("[aria-current] button")?.focus();
  }

  event({ seq, at, kind, text }) {
    const isHere = seq === this.at;
    return el(
      "tr",
      { "aria-current": isHere ? "step" : null, class: seq > this.at ? "later" : null },
      el("th", { scope: "row" }, el("button", { type: "button", class: "quiet", "aria-label": `To event ${seq}`, onclick: () => this.go(seq) }, String(seq))),
      el("td", {}, moment(at)),
      el("td", {}, el("code", {}, kind), text.text ? piece(text, { key: `event${seq}`, whole: () => this.whole(seq) }) : null),
    );
  }

  async showContext() {
    if (!this.element.open || !this.contextPart.open) return;
    const { at } = this;
    const context = await this.here(`/context?at=${at}`);
    if (!context) return;
    if (context.gone) return void this.context.replaceChildren(el("p", {}, context.gone));
    const list = el("ol", { class: "context" }, context.messages.map((message) => this.message(message, at)));
    let first = context.messages[0]?.index ?? 0;
    const earlier = el("button", { type: "button", class: "quiet", hidden: first === 0 }, "Earlier messages");
    earlier.addEventListener("click", async () => {
      const more = await this.here(`/context?at=${at}&before=${first}`);
      if (!more) return;
      list.prepend(...more.messages.map((message) => this.message(message, at)));
      first = more.messages[0]?.index ?? 0;
      earlier.hidden = first === 0;
    });
    const system = async () => (await get(`${this.path}/context?at=${at}&before=0&whole=true`)).system.text;
    this.context.replaceChildren(
      piece(context.system, { label: "system prompt", key: "system", whole: system }),
      el("p", { class: "hint" }, `Tools: ${context.tools.join(", ") || "none"}. ${grouped(context.count)} messages.`),
      earlier,
      list,
    );
  }

  message({ index, role, tool, text, calls, pictures }, at) {
    const whole = (pick) => async () => pick(await get(`${this.path}/context/${index}?at=${at}`));
    const who = tool ? `result of ${tool}` : role === "hob" ? "Hob" : "person";
    return el(
      "li",
      { class: role },
      text.text || !calls ? piece(text, { label: who, key: `text${index}`, whole: whole((all) => all.text.text) }) : el("span", { class: "label" }, who),
      (calls ?? []).map((call, place) => piece(call.arguments, { label: `calls ${call.name}`, key: `call${index}-${place}`, whole: whole((all) => all.calls[place].arguments.text) })),
      pictures ? el("p", { class: "hint" }, `Pictures: ${pictures.join(", ")}`) : null,
    );
  }
}
