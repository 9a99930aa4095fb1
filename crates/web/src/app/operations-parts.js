// What the parts of the operations are built of: sections, tables, lists that can be gone on with, buttons that do something.
import { get } from "./api.js";
import { el, moment, notice } from "./dom.js";

/** A span of time for people. */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds / 60) % 60)} min`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** So long ago, or a dash. */
export const ago = (seconds) => (seconds === null || seconds === undefined ? "–" : `${span(seconds)} ago`);

export { money } from "./amounts.js";

export const count = (number) => Number(number).toLocaleString("en");

/** A word that says how something is, with a colour beside the word. */
export const mood = (word, kind) => el("span", { class: `mood ${kind}` }, word);

/** Where a run can be seen. */
export const runLink = (run) => (run ? el("a", { href: `/runs/${run}` }, `run ${run}`) : "–");

/** A moment in milliseconds, or a dash. */
export const when = (milliseconds) => (milliseconds ? moment(milliseconds) : "–");

/** A table: heads, and rows of cells, of which the first names its row. */
export function table(label, heads, rows, empty) {
  if (!rows.length) return el("p", { class: "hint" }, empty);
  // The roles are said: on a phone rows stand as blocks, and would be no rows otherwise.
  const head = el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map((name) => el("th", { scope: "col", role: "columnheader" }, name))));
  const cell = (content, index) => el("td", { role: "cell", "data-label": heads[index + 1] }, content);
  const row = ([first, ...rest]) => el("tr", { role: "row" }, el("th", { scope: "row", role: "rowheader" }, first), rest.map(cell));
  const body = el("tbody", { role: "rowgroup" }, rows.map(row));
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, el("table", { role: "table" }, head, body));
}

/** A part of the view. */
export const section = (title, ...children) => el("section", {}, el("h2", {}, title), children);

/** Fills a place anew; who was at a button of it stays at that button. */
export function fill(place, ...children) {
  const key = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const scrolled = [...place.querySelectorAll(".wide")].map((wide) => wide.scrollLeft);
  place.replaceChildren(...children.flat().filter(Boolean));
  place.querySelectorAll(".wide").forEach((wide, index) => (wide.scrollLeft = scrolled[index] ?? 0));
  if (key) place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

/** A button that does something, and tells when it could not. `sure`: what is asked before. */
export function act(label, key, action, { sure, done } = {}) {
  const press = async (event) => {
    const button = event.currentTarget;
    if (sure && !confirm(sure)) return;
    button.disabled = true;
    try {
      await action();
      if (done) notice(done);
    } catch (error) {
      notice(error.message);
    } finally {
      button.disabled = false;
    }
  };
  return el("button", { type: "button", class: "quiet small", "data-key": key, onclick: press }, label);
}

/** Looks again and again, as long as the page is seen; gives what ends it. */
export function live(look, seconds) {
  let timer;
  let over = false;
  const again = async () => {
    if (over) return;
    if (!document.hidden) {
      try {
        await look();
      } catch (error) {
        if (!over) notice(error.message);
      }
    }
    if (!over) timer = setTimeout(again, seconds * 1000);
  };
  again();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}

/** A list of which more can be shown: `path` gives pages, `draw` makes of all rows what is seen. */
export class Listing {
  constructor({ path, name, mark = "after", draw }) {
    Object.assign(this, { path, name, mark, draw, pages: 1 });
    this.place = el("div", {});
    this.more = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.goOn() }, "More");
    this.element = el("div", {}, this.place, this.more);
  }

  goOn() {
    this.pages += 1;
    return this.load().catch((error) => notice(error.message));
  }

  async load() {
    const rows = [];
    let next;
    for (let page = 0; page < this.pages; page += 1) {
      const sign = this.path.includes("?") ? "&" : "?";
      const part = await get(next ? `${this.path}${sign}${this.mark}=${encodeURIComponent(next)}` : this.path);
      rows.push(...part[this.name]);
      next = part.next;
      if (!next) break;
    }
    this.more.hidden = !next;
    fill(this.place, this.draw(rows));
  }
}
