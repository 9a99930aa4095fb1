// What Hob remembers: looked for with the reasons, read back to the message it comes from, pinned, forgotten, taken along.
import { del, get, post, put } from "./api.js";
import { el, moment, notice } from "./dom.js";

const PLACES = [
  ["/memory", "What was said"],
  ["/memory/facts", "Facts"],
  ["/memory/people", "People"],
  ["/memory/answers", "Why"],
  ["/memory/forget", "Export and forget"],
];
const LEGS = {
  relevance: "it fits what was asked",
  salience: "it is pinned, or matters much",
  recency: "it was said just before",
  fact: "it is a fact",
  answer: "Hob was asked what it had said",
};

const factsOf = (count) => `${count} fact${count === 1 ? "" : "s"}`;
const peopleOf = (count) => (count === 1 ? "1 person" : `${count} people`);

/** Shows the view; gives what ends it. */
export function memoryView(main, [, place, number], { go, visit }) {
  main.className = "memory";
  const view = new Memory(main, { go, isOwner: visit.role === "owner" });
  view.show(place, number);
  return () => (view.over = true);
}

class Memory {
  constructor(main, { go, isOwner }) {
    this.main = main;
    this.go = go;
    this.isOwner = isOwner;
    this.query = new URLSearchParams(location.search);
    this.body = el("div", { class: "memory-body" });
  }

  show(place, number) {
    const isItem = /^[mf]\d+$/.test(place ?? "");
    const home = isItem ? (place.startsWith("f") ? "/memory/facts" : "/memory") : place ? `/memory/${place}` : "/memory";
    const tabs = PLACES.map(([path, name]) => el("a", { href: path, "aria-current": path === home ? "page" : null }, name));
    this.main.append(el("h1", {}, "Memory"), el("nav", { class: "tabs", "aria-label": "Memory" }, ...tabs), this.body);
    this.main.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    if (isItem) this.fill(() => this.whole(place));
    else if (place === "people") this.fill(() => this.people(number));
    else if (place === "answers") this.fill(() => (number ? this.why(number) : this.answers()));
    else if (place === "forget") this.fill(() => this.scopes());
    else this.fill(() => this.list(place === "facts" ? "facts" : "said"));
  }

  /** Draws what `make` brings, or why it cannot. */
  async fill(make) {
    this.body.setAttribute("aria-busy", "true");
    try {
      const parts = await make();
      if (!this.over) this.body.replaceChildren(...[parts].flat().filter(Boolean));
    } catch (error) {
      if (!this.over) this.body.replaceChildren(el("p", { class: "bad", role: "alert" }, error.message));
    }
    this.body.removeAttribute("aria-busy");
  }

  /** Does what an owner asked for, and says what came of it. */
  async change(what, done) {
    try {
      const result = await what();
      notice(typeof done === "function" ? done(result) : done);
      return true;
    } catch (error) {
      notice(error.message);
      return false;
    }
  }

  // What was said, and facts.

  async list(kind) {
    const overview = await get("/api/memory");
    const text = this.query.get("text")?.trim();
    const scope = this.query.get("scope") ?? "";
    const parts = [this.searchForm(kind, overview.scopes), el("p", { class: "hint" }, `How Hob looks things up: ${overview.how}.`)];
    if (text) return [...parts, ...(await this.found(text, scope))];
    const pinned = this.query.has("pinned");
    const path = `/api/memory/items?kind=${kind}${scope ? `&scope=${scope}` : ""}${pinned ? "&pinned=true" : ""}`;
    const nothing = pinned ? "Nothing is pinned." : kind === "facts" ? "No facts are known yet." : "Nothing is remembered yet.";
    return [...parts, el("h2", {}, kind === "facts" ? "Facts, the newest first" : "What was said, the newest first"), await this.paged(path, (page) => page.items.map((item) => this.entry(item)), nothing)];
  }

  /** A list that goes on when it is asked to. */
  async paged(path, draw, nothing, key = "before") {
    const list = el("ul", { class: "entries" });
    const more = el("button", { type: "button", class: "quiet" }, "More");
    let next;
    const load = async () => {
      const page = await get(next === undefined ? path : `${path}${path.includes("?") ? "&" : "?"}${key}=${next}`);
      list.append(...draw(page));
      next = page.next ?? undefined;
      more.hidden = next === undefined;
    };
    more.addEventListener("click", () => load().catch((error) => notice(error.message)));
    await load();
    return list.children.length ? el("div", {}, list, more) : el("p", {}, nothing);
  }

  searchForm(kind, scopes) {
    const words = el("input", { id: "sought", type: "search", name: "text", maxlength: 1000, value: this.query.get("text") ?? "" });
    const whose = el(
      "select",
      { id: "whose", name: "scope" },
      el("option", { value: "" }, "everybody"),
      ...scopes.map((of) => el("option", { value: of.scope }, of.whose)),
    );
    whose.value = this.query.get("scope") ?? "";
    const pinned = el("input", { id: "pinned", type: "checkbox", checked: this.query.has("pinned") });
    const ask = (event) => {
      event?.preventDefault();
      const query = new URLSearchParams();
      if (words.value.trim()) query.set("text", words.value.trim());
      if (whose.value) query.set("scope", whose.value);
      if (pinned.checked && !words.value.trim()) query.set("pinned", "");
      const home = kind === "facts" ? "/memory/facts" : "/memory";
      this.go(query.size ? `${home}?${query}` : home);
    };
    whose.addEventListener("change", () => ask());
    pinned.addEventListener("change", () => ask());
    return el(
      "form",
      { class: "search", role: "search", onsubmit: ask },
      el("div", { class: "wide" }, el("label", { for: "sought" }, "Search in what is remembered"), words),
      el("div", {}, el("label", { for: "whose" }, "Of whom"), whose),
      el("button", {}, "Search"),
      el("label", { class: "check", for: "pinned" }, pinned, " only what is pinned"),
    );
  }

  async found(text, scope) {
    const query = new URLSearchParams({ text, ...(scope && { scope }) });
    const { how, said, facts } = await get(`/api/memory/search?${query}`);
    const list = (found, isFact) =>
      found.length ? el("ol", { class: "entries" }, ...found.map((one) => this.entry(one.item, { before: one.before, more: this.scores(one, isFact) }))) : el("p", {}, "Nothing fits.");
    return [
      el("p", { role: "status" }, `${said.length} said, ${factsOf(facts.length)}; looked for ${how}.`),
      el("h2", {}, "What was said, the best first"),
      list(said, false),
      el("h2", {}, "Facts, the best first"),
      list(facts, true),
    ];
  }

  scores({ score, rank, legs, signals }, isFact) {
    const short = isFact ? `place ${rank} by its words; weighs ${score.toFixed(2)}` : `place ${rank} by all together; score ${score.toFixed(2)}`;
    if (!legs.length) return el("p", { class: "hint" }, short);
    const row = (leg) => el("tr", {}, el("th", { scope: "row" }, leg.way), el("td", { class: "number" }, leg.rank ?? "–"), el("td", { class: "number" }, leg.score.toFixed(2)));
    const fused = el("tr", {}, el("th", { scope: "row" }, "all together"), el("td", { class: "number" }, rank), el("td", { class: "number" }, score.toFixed(2)));
    const head = el("tr", {}, ...["Leg", "Place", "Score"].map((name) => el("th", { scope: "col" }, name)));
    return el("details", {}, el("summary", {}, short), el("table", { class: "legs" }, el("caption", {}, "What each way of looking says"), el("thead", {}, head), el("tbody", {}, ...legs.map(row), fused)), this.signals(signals));
  }

  signals(all) {
    return all.length ? el("p", { class: "hint" }, `Signals: ${all.map(({ name, part }) => `${name} ${part.toFixed(2)}`).join(", ")}`) : null;
  }

  /** Something remembered: its words, whose they are, where they come from, and what an owner can do with it. */
  entry(item, { before, more, plain } = {}) {
    const isFact = item.id.startsWith("f");
    const pin = el("span", { class: "badge", hidden: !item.pinned }, "pinned");
    const li = el(
      "li",
      { class: "entry", "data-id": item.id },
      el(
        "p",
        { class: "who" },
        plain ? item.id : el("a", { href: `/memory/${item.id}` }, item.id),
        ` ${item.who}, `,
        moment(item.at),
        item.until ? [" until ", moment(item.until)] : null,
        ` · of ${item.whose}`,
        item.origin === "import" ? " · brought in from elsewhere" : null,
        " ",
        pin,
        item.disputed ? el("span", { class: "badge bad" }, "contradicted") : null,
      ),
      before ? el("p", { class: "hint plain" }, before) : null,
      el("p", { class: "plain" }, isFact ? [el("strong", {}, item.key), ": "] : null, item.text),
      isFact ? this.source(item.source) : this.place(item.source),
      more,
    );
    if (this.isOwner) li.append(this.actions(item, pin, li));
    return li;
  }

  place(source) {
    return source && el("p", { class: "hint" }, `in ${source.conversation}, `, el("a", { href: `/runs/${source.run}` }, `run ${source.run}`));
  }

  source(source) {
    if (!source) return el("p", { class: "hint" }, "No message of this house is its source.");
    const name = source.memory ? el("a", { href: `/memory/${source.memory}` }, source.memory) : "the history";
    return el(
      "blockquote",
      {},
      el("p", { class: "plain" }, source.text || "(nothing is left of it)"),
      el("p", { class: "hint" }, `said by ${source.who}, `, moment(source.at), ` in ${source.conversation}: `, name, ", ", el("a", { href: `/runs/${source.run}` }, `run ${source.run}`)),
    );
  }

  actions(item, pin, li) {
    const toggle = el("button", { type: "button", class: "quiet" }, item.pinned ? "Unpin" : "Pin");
    toggle.addEventListener("click", async () => {
      const pinned = !item.pinned;
      const done = pinned ? `${item.id} is pinned: it is kept at hand, and never fades.` : `${item.id} is no longer pinned.`;
      if (!(await this.change(() => put(`/api/memory/items/${item.id}/pin`, { pinned }), done))) return;
      item.pinned = pinned;
      pin.hidden = !pinned;
      toggle.textContent = pinned ? "Unpin" : "Pin";
    });
    const gone = ({ items, later }) => `Forgotten for good: ${items.join(", ")}.${later ? " A run still works with it; its record goes when it is over." : ""}`;
    const forget = () =>
      this.change(
        () => del(`/api/memory/items/${item.id}`),
        (result) => {
          for (const id of result.items) this.body.querySelector(`[data-id="${CSS.escape(id)}"]`)?.replaceChildren(el("p", { class: "hint" }, `${id} is forgotten.`));
          if (!result.items.includes(item.id)) li.remove();
          return gone(result);
        },
      );
    return el("div", { class: "buttons" }, toggle, sure("Forget", `Forget ${item.id} for good?`, forget));
  }

  async whole(id) {
    const { item, rest_on_it: facts, values, recalled, last_recalled: last } = await get(`/api/memory/items/${id}`);
    const list = (title, items) => (items.length ? [el("h2", {}, title), el("ul", { class: "entries" }, ...items.map((one) => this.entry(one)))] : []);
    const often = recalled ? [`It was recalled for ${recalled} answer${recalled === 1 ? "" : "s"}; the last: `, el("a", { href: `/memory/answers/${last}` }, `run ${last}`), "."] : ["It was never recalled."];
    return [
      el("h2", {}, id.startsWith("f") ? `Fact ${id}` : `Said: ${id}`),
      el("ul", { class: "entries" }, this.entry(item, { plain: true })),
      el("p", {}, item.category ? `About: ${item.category}. ` : null, item.importance === undefined ? null : `It mattered ${item.importance.toFixed(2)} of 1 when it was said. `, ...often),
      ...list("Facts that rest on it; they are forgotten with it", facts),
      ...list("What else was, or is, held for true there", values),
    ];
  }

  // People.

  async people(open) {
    const users = await this.paged("/api/memory/users", (page) => page.users.map((user) => this.user(user)), "Nobody has talked with Hob yet.", "after");
    const people = await this.paged("/api/memory/people", (page) => page.people.map((person) => this.person(person, open)), "Hob was told of nobody yet.");
    return [el("h2", {}, "Those who talk with Hob"), users, el("h2", {}, "Those of whom Hob was told"), people];
  }

  user(user) {
    const names = user.identities.map(({ kind, value }) => `${kind}:${value}`).join(", ");
    return el(
      "li",
      { class: "entry" },
      el("h3", {}, user.name, " ", el("span", { class: "badge" }, user.role)),
      el("p", { class: "hint" }, "known since ", moment(user.since), names ? ` as ${names}` : null),
      el(
        "p",
        {},
        "Of them alone: ",
        el("a", { href: `/memory?scope=${user.scope}` }, `${user.said} said`),
        ", ",
        el("a", { href: `/memory/facts?scope=${user.scope}` }, factsOf(user.facts)),
        `, ${peopleOf(user.people)}`,
      ),
    );
  }

  person(person, open) {
    const names = person.identities.map(({ kind, value }) => (kind === "name" ? value : `${kind}: ${value}`)).join(", ");
    const about = [person.relation, person.birthday && `born ${person.birthday}`, person.user && `talks with Hob as ${person.user}`, names && `also ${names}`];
    const place = el("div", {});
    const facts = el("details", { open: open === String(person.id) }, el("summary", {}, factsOf(person.facts)), place);
    const load = async () => {
      if (!facts.open || place.children.length) return;
      try {
        const page = await get(`/api/memory/people/${person.id}/facts`);
        place.append(page.facts.length ? el("ul", { class: "entries" }, ...page.facts.map((one) => this.entry(one))) : el("p", {}, "Nothing more is known."));
      } catch (error) {
        notice(error.message);
      }
    };
    facts.addEventListener("toggle", load);
    const li = el("li", { class: "entry" }, el("h3", {}, person.name), el("p", { class: "hint" }, `of ${person.whose}, since `, moment(person.since)), el("p", {}, about.filter(Boolean).join(" · ")), facts);
    if (this.isOwner) {
      const forget = async () => {
        if (await this.change(() => del(`/api/memory/people/${person.id}`), `${person.name} is forgotten for good, with all facts about them.`)) li.remove();
      };
      li.append(el("div", { class: "buttons" }, sure("Forget", `Forget ${person.name} and all facts about them for good?`, forget)));
    }
    return li;
  }

  // Why.

  async answers() {
    const row = ({ run, text, at, conversation, recalled }) =>
      el("li", { class: "entry" }, el("p", { class: "who" }, moment(at), ` · ${conversation} · ${recalled} recalled`), el("p", { class: "plain" }, text), el("p", {}, el("a", { href: `/memory/answers/${run}` }, `Why? (run ${run})`)));
    return [el("h2", {}, "Answers, the newest first"), await this.paged("/api/memory/answers", (page) => page.answers.map(row), "Hob has not answered anything yet.")];
  }

  async why(run) {
    const why = await get(`/api/memory/why/${run}`);
    const because = ({ leg, score, signals }) => {
      const told = `because ${LEGS[leg] ?? leg}; score ${score.toFixed(2)}`;
      return signals.length ? el("details", {}, el("summary", {}, told), this.signals(signals)) : el("p", { class: "hint" }, told);
    };
    const bare = (one) => (one.answered ? [el("p", { class: "who" }, "Hob · ", moment(one.answered.at)), el("p", { class: "plain" }, one.answered.text)] : [el("p", { class: "hint" }, "Forgotten since.")]);
    const reason = (one) => (one.item ? this.entry(one.item, { more: because(one) }) : el("li", { class: "entry" }, ...bare(one), because(one)));
    return [
      el("h2", {}, `What run ${run} had before it`),
      el("blockquote", {}, el("p", { class: "plain" }, why.asked), el("p", { class: "hint" }, moment(why.at), ` in ${why.conversation}, `, el("a", { href: `/runs/${run}` }, `run ${run}`))),
      el("p", { class: "plain answer" }, why.answer || "(nothing was said, or it is forgotten)"),
      el("p", {}, why.recalled.length ? `${why.recalled.length} recalled${why.how ? `; looked for ${why.how}` : ""}, in the order in which the model saw it:` : "Nothing was recalled for it."),
      el("ol", { class: "entries" }, ...why.recalled.map(reason)),
    ];
  }

  // Export and forget everything.

  async scopes() {
    const { scopes } = await get("/api/memory");
    const row = (of) => {
      const forget = async () => {
        const told = ({ said, facts, people }) => `Being forgotten for good: ${said} said, ${factsOf(facts)}, ${peopleOf(people)}.`;
        if (await this.change(() => post(`/api/memory/scopes/${of.scope}/forget`, { sure: of.scope }), told)) this.fill(() => this.scopes());
      };
      const number = (count) => el("td", { class: "number" }, count);
      return el(
        "tr",
        {},
        el("th", { scope: "row" }, el("a", { href: `/memory?scope=${of.scope}` }, of.whose)),
        number(of.said),
        number(of.facts),
        number(of.people),
        this.isOwner ? el("td", {}, sure("Forget all", `Forget everything of ${of.whose} for good?`, forget, of.whose)) : null,
      );
    };
    const heads = ["Of whom", "Said", "Facts", "People", ...(this.isOwner ? ["Forget"] : [])];
    const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...scopes.map(row)));
    const along = [
      el("h2", {}, "Take it along"),
      el("p", {}, "Everything that is remembered, a JSON object in each line; `hob memory import` takes it in elsewhere."),
      el("p", {}, el("a", { class: "button", href: "/api/memory/export", download: true }, "Export")),
    ];
    return [
      ...(this.isOwner ? along : []),
      el("h2", {}, "Forget everything"),
      scopes.length ? el("div", { class: "wide-table" }, table) : el("p", {}, "Nothing is remembered."),
    ];
  }
}

/** A button that asks once more before it does something that cannot be undone. `typed` has to be written out. */
function sure(name, question, act, typed) {
  const place = el("span", { class: "sure" });
  const begin = el("button", { type: "button", class: "quiet" }, name);
  const back = () => (place.replaceChildren(begin), begin.focus());
  const ask = () => {
    const field = typed && el("input", { "aria-label": `To confirm, write ${typed}`, placeholder: typed, autocomplete: "off" });
    const yes = el("button", { class: "danger", disabled: Boolean(typed) }, "Yes, forget");
    field?.addEventListener("input", () => (yes.disabled = field.value.trim() !== typed));
    const done = async (event) => {
      event.preventDefault();
      yes.disabled = true;
      await act();
      if (place.isConnected) back();
    };
    place.replaceChildren(el("form", { onsubmit: done }, el("span", {}, question), field, yes, el("button", { type: "button", class: "quiet", onclick: back }, "No")));
    (field ?? yes).focus();
  };
  begin.addEventListener("click", ask);
  place.append(begin);
  return place;
}
