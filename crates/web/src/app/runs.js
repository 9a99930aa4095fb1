// The runs that were recorded: a list that can be narrowed down, and one of them.
import { get } from "./api.js";
import { badge, countOf, grouped, money, pause, stretch } from "./amounts.js";
import { el, moment, notice, shortened } from "./dom.js";
import { runView } from "./run.js";

const CHANNELS = ["web", "telegram", "slack", "discord", "matrix", "email", "terminal", "event"];
const STATES = ["queued", "running", "waiting", "over"];
const OUTCOMES = ["completed", "cancelled", "failed", "withdrawn", "joined"];
const REFRESH_MS = 5000;

/** Shows the view; gives what ends it. */
export function runsView(main, [, run], context) {
  return run ? runView(main, run, context) : listView(main, context);
}

function listView(main, { go }) {
  const asked = new URLSearchParams(location.search);
  const table = new RunTable(query(asked));
  main.className = "runs";
  main.append(el("h1", {}, "Runs"), filters(asked, go), table.element);
  table.begin();
  return () => (table.over = true);
}

/** What the API is asked, of what stands in the address. */
function query(asked) {
  const wanted = new URLSearchParams();
  for (const name of ["channel", "session", "state", "outcome"]) if (asked.get(name)) wanted.set(name, asked.get(name));
  const cost = Number(asked.get("cost"));
  const took = Number(asked.get("took"));
  if (cost > 0) wanted.set("cost_min", Math.round(cost * 1e9));
  if (took > 0) wanted.set("took_min", Math.round(took * 1000));
  return wanted;
}

function filters(asked, go) {
  const field = (name, label, input) => {
    input.id = `filter-${name}`;
    input.name = name;
    return el("p", {}, el("label", { for: input.id }, label), input);
  };
  const choice = (name, label, values) => {
    const options = values.map((value) => el("option", { value, selected: asked.get(name) === value }, value));
    return field(name, label, el("select", {}, el("option", { value: "" }, "any"), options));
  };
  const number = (name, label) => field(name, label, el("input", { type: "number", min: "0", step: "any", inputmode: "decimal", value: asked.get(name) ?? "" }));
  const narrow = (event) => {
    event.preventDefault();
    const wanted = new URLSearchParams([...new FormData(event.target)].filter(([, value]) => value.trim()));
    go(`/runs${wanted.size ? `?${wanted}` : ""}`);
  };
  const isNarrowed = [...asked.values()].some(Boolean);
  const form = el(
    "form",
    { class: "filters", onsubmit: narrow },
    choice("channel", "Channel", CHANNELS),
    field("session", "Conversation", el("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "web:kitchen", value: asked.get("session") ?? "" })),
    choice("state", "State", STATES),
    choice("outcome", "Outcome", OUTCOMES),
    number("cost", "Dollars, at least"),
    number("took", "Seconds, at least"),
    el("p", { class: "row" }, el("button", {}, "Show"), isNarrowed ? el("a", { href: "/runs" }, "All") : null),
  );
  return el("details", { class: "narrow", open: isNarrowed || matchMedia("(min-width: 60rem)").matches }, el("summary", {}, "Narrow down"), form);
}

class RunTable {
  constructor(wanted) {
    this.wanted = wanted;
    this.shown = new Map();
    this.rows = el("tbody");
    this.told = el("p", { class: "hint", role: "status" }, "Looking …");
    this.more = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.older() }, "More");
    const head = (name, extra) => el("th", { scope: "col", class: extra }, name);
    this.element = el(
      "section",
      { "aria-label": "Runs" },
      el(
        "table",
        {},
        el("caption", { class: "hidden" }, "Runs, newest first"),
        el("thead", {}, el("tr", {}, head("Run"), head("Message"), head("State"), head("Cycles", "wide"), head("Tokens", "wide"), head("Cost"), head("Took", "wide"))),
        this.rows,
      ),
      this.told,
      this.more,
    );
  }

  async begin() {
    await this.older();
    while (!this.over) {
      await pause(REFRESH_MS, () => this.over);
      if (this.over) return;
      try {
        await this.refresh();
      } catch {
        // The next round tries again; what is shown was true a moment ago.
      }
    }
  }

  page(before) {
    const wanted = new URLSearchParams(this.wanted);
    if (before) wanted.set("before", before);
    return get(`/api/runs?${wanted}`);
  }

  async older() {
    this.more.disabled = true;
    try {
      const { runs, next } = await this.page(this.next);
      if (this.over) return;
      this.next = next;
      runs.forEach((run) => this.put(run));
      this.tell();
    } catch (error) {
      this.told.textContent = error.message;
      notice(error.message);
    }
    this.more.disabled = false;
  }

  tell() {
    const count = this.shown.size;
    const so_far = this.next ? ` back to run ${this.next}` : "";
    this.told.textContent = count ? `${countOf(count, "run")}${so_far}` : `No such run${so_far}.`;
    this.more.hidden = !this.next;
  }

  /** What is new and what has changed at the top of the list. */
  async refresh() {
    const { runs, next } = await this.page();
    if (this.over) return;
    const least = next ?? 0;
    const kept = new Set(runs.map(({ run }) => run));
    for (const [run, { row }] of this.shown) {
      if (run < least || kept.has(run)) continue;
      row.remove();
      this.shown.delete(run);
    }
    runs.forEach((run) => this.put(run));
    this.tell();
  }

  put(run) {
    const json = JSON.stringify(run);
    const known = this.shown.get(run.run);
    if (known?.json === json) return;
    const row = this.row(run);
    if (known) {
      const hadFocus = known.row.contains(document.activeElement);
      known.row.replaceWith(row);
      if (hadFocus) row.querySelector("a").focus();
    } else {
      const below = [...this.rows.children].find((other) => Number(other.dataset.run) < run.run);
      this.rows.insertBefore(row, below ?? null);
    }
    this.shown.set(run.run, { row, json });
  }

  row(run) {
    const took = run.ended_at ? stretch(run.ended_at - run.accepted_at) : "";
    const forWhom = run.parent ? [" for ", el("a", { href: `/runs/${run.parent}` }, `run ${run.parent}`)] : [];
    return el(
      "tr",
      { "data-run": run.run },
      el("th", { scope: "row" }, el("a", { href: `/runs/${run.run}` }, String(run.run))),
      el(
        "td",
        { class: "message-cell" },
        el("span", { class: "words" }, run.message || "(no words)"),
        el("span", { class: "hint" }, moment(run.accepted_at), ` ${run.who} in `, el("a", { href: `/runs?session=${encodeURIComponent(run.session)}`, title: run.session }, shortened(run.session)), forWhom),
      ),
      el("td", {}, badge(run)),
      el("td", { class: "wide" }, grouped(run.cycles)),
      el("td", { class: "wide" }, grouped(run.tokens)),
      el("td", {}, run.cycles || run.tokens ? money(run.cost_nano_usd) : ""),
      el("td", { class: "wide" }, took),
    );
  }
}
