// Money, time and numbers in words; texts of which there may be more.
import { el, notice, size } from "./dom.js";

/** Money out of billionths of a dollar: cents, and as many digits more as it takes to show two. */
export function money(nanos, unpriced = false) {
  if (nanos === null || nanos === undefined || (unpriced && nanos === 0)) return "price unknown";
  const dollars = nanos / 1e9;
  const digits = dollars === 0 ? 2 : Math.min(9, Math.max(2, 1 - Math.floor(Math.log10(Math.abs(dollars)))));
  return `$${dollars.toFixed(digits)}`;
}

/** A stretch of time in the unit that suits it. */
export function stretch(millis) {
  if (millis < 1000) return `${millis} ms`;
  if (millis < 60000) return `${(millis / 1000).toFixed(1)} s`;
  if (millis < 3600000) return `${Math.floor(millis / 60000)} min ${Math.floor((millis % 60000) / 1000)} s`;
  return `${Math.floor(millis / 3600000)} h ${Math.floor((millis % 3600000) / 60000)} min`;
}

/** 1,050,000 */
export const grouped = (number) => number.toLocaleString("en");

/** `1 cycle`, `2 cycles`. */
export const countOf = (count, what) => `${grouped(count)} ${what}${count === 1 ? "" : "s"}`;

/** Tokens in words. */
export function tokens({ read, cached, written }) {
  const fromCache = cached ? ` (${grouped(cached)} from cache)` : "";
  return `${grouped(read)} tokens read${fromCache}, ${grouped(written)} written`;
}

/** A list of names and values; what has no value is left out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" }, shown.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** The state of a run as a word that stands out. */
export function badge({ state, end }) {
  const more = end && end !== state && state !== "completed" ? `: ${end.replaceAll("_", " ")}` : "";
  return el("span", { class: `badge ${state}` }, state + more);
}

const SHORT = 140;

/**
 * A text of somebody's: short ones as they are, longer ones to be opened. `whole` fetches what is cut off; `key` is by what
 * it is known again when it is drawn anew.
 */
export function piece({ text, bytes, cut }, { label, key, whole, open = false }) {
  if (!cut && text.length <= SHORT && !text.trim().includes("\n")) {
    return el("p", { class: "piece" }, label ? el("span", { class: "label" }, `${label} `) : null, el("span", { class: "plain" }, text || "(nothing)"));
  }
  const words = el("pre", { tabindex: "0", "aria-label": label ?? "Text" }, text);
  const first = text.trim().split("\n", 1)[0].slice(0, 90);
  const more = cut && whole ? el("button", { type: "button", class: "quiet" }, `All of it (${size(bytes)})`) : null;
  more?.addEventListener("click", async () => {
    more.disabled = true;
    try {
      words.textContent = await whole();
      more.remove();
    } catch (error) {
      more.disabled = false;
      notice(error.message);
    }
  });
  return el(
    "details",
    { class: "piece", "data-key": key, open },
    el("summary", {}, label ? el("span", { class: "label" }, label) : null, ` ${first} … `, el("span", { class: "hint" }, size(bytes))),
    words,
    cut ? el("p", { class: "hint" }, more ?? "cut off here") : null,
  );
}

/** Which of the details in a place are open, by their keys; and opens them in what took its place. */
export function openKeys(place) {
  return new Set([...place.querySelectorAll("details[data-key][open]")].map((details) => details.dataset.key));
}
export function reopen(place, keys) {
  for (const details of place.querySelectorAll("details[data-key]")) details.open = keys.has(details.dataset.key);
}

/** Waits; goes on only where somebody looks at the page. */
export async function pause(millis, isOver) {
  await new Promise((resolve) => setTimeout(resolve, millis));
  while (document.hidden && !isOver()) {
    await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }
}
