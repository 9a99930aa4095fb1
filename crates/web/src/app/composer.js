// The place to write: it grows with the words, takes files from wherever they come, and sends on Enter.
import { el, size } from "./dom.js";

/** So many lines are seen at once; what is longer is scrolled. */
const LINES_MAX = 8;
/** So many files go with a message. */
const FILES_MAX = 10;

/** The form; `say` takes words and files. What is dropped anywhere on `place` is attached. */
export function composer(say, more) {
  const words = el("textarea", { id: "words", rows: 1, "aria-label": "Message", placeholder: "Write to Hob; /help lists commands", enterkeyhint: "send" });
  const files = el("input", { type: "file", multiple: true, class: "hidden", tabindex: "-1", "aria-hidden": "true" });
  const chosen = el("ul", { class: "chosen", "aria-label": "Files" });
  let attached = [];
  const leaveOut = (index) => {
    attached.splice(index, 1);
    showFiles();
    words.focus();
  };
  const showFiles = () =>
    chosen.replaceChildren(
      ...attached.map((file, index) => el("li", {}, `${file.name} (${size(file.size)}) `, el("button", { type: "button", class: "quiet icon", "aria-label": `Leave out ${file.name}`, onclick: () => leaveOut(index) }, "✕"))),
    );
  const attach = (some) => {
    attached = [...attached, ...some].slice(0, FILES_MAX);
    showFiles();
  };
  files.addEventListener("change", () => (attach(files.files), (files.value = "")));
  const fit = () => {
    const style = getComputedStyle(words);
    const around = words.offsetHeight - words.clientHeight;
    const padding = parseFloat(style.paddingTop) + parseFloat(style.paddingBottom);
    const most = LINES_MAX * parseFloat(style.lineHeight) + padding;
    words.style.height = "auto";
    if (words.value) words.style.height = `${Math.min(words.scrollHeight, most) + around}px`;
  };
  const send = (event) => {
    event?.preventDefault();
    const text = words.value.trim();
    if (!text && !attached.length) return;
    say(text, attached);
    words.value = "";
    attached = [];
    showFiles();
    fit();
    words.focus();
  };
  words.addEventListener("input", fit);
  words.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
  });
  words.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    attach(event.clipboardData.files);
  });
  const form = el(
    "form",
    { class: "composer", onsubmit: send },
    chosen,
    words,
    el("button", { type: "button", class: "quiet", title: "Attach files; they can be dropped or pasted here as well", onclick: () => files.click() }, "Attach"),
    files,
    more,
    el("button", { class: "send" }, "Send"),
  );
  /** Files that are dropped on it are attached. */
  const droppable = (place) => {
    const over = (on) => (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      form.classList.toggle("over", on);
    };
    place.addEventListener("dragover", over(true));
    place.addEventListener("dragleave", over(false));
    place.addEventListener("drop", (event) => {
      over(false)(event);
      attach(event.dataTransfer.files);
    });
  };
  return { form, droppable };
}
