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
export const rendered = (html) => el("div", { class: "rendered" }, parts(html));

/** The same, as its blocks: links lead elsewhere, tables and code scroll by themselves, code can be copied. */
export function parts(html) {
  const element = document.createElement("template");
  element.innerHTML = html;
  for (const link of element.content.querySelectorAll("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  for (const table of element.content.querySelectorAll("table")) {
    const scroll = el("div", { class: "wide-table", tabindex: "0", role: "region", "aria-label": "Table" });
    table.replaceWith(scroll);
    scroll.append(table);
  }
  for (const code of element.content.querySelectorAll("pre")) {
    const block = el("div", { class: "code" });
    code.tabIndex = 0;
    code.replaceWith(block);
    block.append(code, el("button", { type: "button", class: "quiet copy", onclick: (event) => copy(event.currentTarget, code) }, "Copy"));
  }
  return [...element.content.childNodes];
}

/** Puts code where it can be pasted from; without TLS only the older way is there. */
async function copy(button, code) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(code.textContent);
    else {
      getSelection().selectAllChildren(code);
      if (!document.execCommand("copy")) throw new Error("refused");
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  } catch {
    notice("This browser does not let it be copied: mark it and copy it by hand.");
  }
}

let asked = 0;
/** Asks in a window of its own; whether the answer is yes. */
export function ask(title, inside, yes, kind = "") {
  const id = `asked-${(asked += 1)}`;
  // What cannot be taken back is not what Enter does.
  const cancel = el("button", { type: "button", class: "quiet", autofocus: kind === "danger" }, "Cancel");
  const form = el("form", { method: "dialog" }, el("h2", { id }, title), inside, el("div", { class: "buttons" }, el("button", { value: "yes", class: kind }, yes), cancel));
  const dialog = el("dialog", { "aria-labelledby": id }, form);
  cancel.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    }),
  );
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

/** A conversation's name; of one that the page has made up, as much as tells it from others. */
export const shortened = (session) => session.replace(/^(web:[0-9a-f]{8})[0-9a-f]{24}$/, "$1…");

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
