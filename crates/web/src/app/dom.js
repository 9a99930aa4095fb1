// Elements, made of data: text is always text. The one place that takes HTML is `rendered`, for what Hob's own renderer made.

/** An element with attributes, listeners (`on…`) and children; null and false are left out. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked") element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** HTML from Hob's renderer, which escapes everything that people and models wrote. Scripts would not run anyway (CSP). */
export function rendered(html) {
  const element = el("div", { class: "rendered" });
  element.innerHTML = html;
  for (const link of element.querySelectorAll("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  return element;
}

/** A moment, short: the time today, else the day as well. */
export function moment(milliseconds) {
  const at = new Date(milliseconds);
  const isToday = at.toDateString() === new Date().toDateString();
  const shown = isToday
    ? at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  return el("time", { datetime: at.toISOString(), title: at.toLocaleString() }, shown);
}

/** A number of bytes for people. */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  if (bytes < 1024 ** 3) return `${(bytes / 1024 ** 2).toFixed(1)} MB`;
  return `${(bytes / 1024 ** 3).toFixed(1)} GB`;
}

let gone;
/** Tells something for a moment. */
export function notice(text) {
  const place = document.getElementById("notice");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(gone);
  gone = setTimeout(() => place.classList.remove("shown"), 5000);
}

/** An id that nobody else makes. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
