// The conversations: found, named, deleted.
import { del, get, put } from "./api.js";
import { ask, el, moment, newId, notice } from "./dom.js";
import { pushSwitch } from "./push.js";

/** The list of conversations is looked at so often, in milliseconds. */
const LIST_EVERY = 30000;
/** So long nobody has typed: then is looked for what they typed. */
const TYPED_MS = 250;

/** The conversations, as they are now: what another tab writes is heard at once, what another browser writes within the minute. */
export class ChatList {
  constructor(current, { go, isOwner }) {
    this.current = current;
    this.go = go;
    this.isOwner = isOwner;
    this.items = new Map();
    this.words = "";
    this.list = el("ul");
    this.more = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.load() }, "More");
    this.none = el("p", { class: "hint", role: "status", hidden: true }, "There is none with these words.");
    const find = el("input", { type: "search", id: "find", "aria-label": "Find a conversation", placeholder: "Find", oninput: () => this.typed(find.value) });
    const fresh = el("button", { type: "button", onclick: () => go(`/chat/${newId()}`) }, "New conversation");
    const push = isOwner ? pushSwitch() : null;
    this.element = el(
      "details",
      { class: "chats", open: matchMedia("(min-width: 60rem)").matches },
      el("summary", {}, "Conversations"),
      el("nav", { "aria-label": "Conversations" }, fresh, find, this.none, this.list, this.more, push),
    );
    this.others = new BroadcastChannel("chats");
    this.others.addEventListener("message", this.refresh);
    document.addEventListener("visibilitychange", this.refresh);
    this.again = setInterval(this.refresh, LIST_EVERY);
    this.load();
  }

  end() {
    this.over = true;
    this.others.close();
    clearInterval(this.again);
    clearTimeout(this.typing);
    document.removeEventListener("visibilitychange", this.refresh);
  }

  /** Something was said here, or is not there any more. */
  changed = () => {
    this.others.postMessage(this.current);
    this.refresh();
  };

  path(before) {
    const query = new URLSearchParams();
    if (before) query.set("before", before);
    if (this.words) query.set("find", this.words);
    return `/api/chats?${query}`;
  }

  async load() {
    const { words } = this;
    try {
      const page = await get(this.path(this.next));
      if (this.over || words !== this.words) return;
      this.next = page.next;
      this.more.hidden = !page.next;
      this.list.append(...page.chats.map((chat) => this.item(chat)));
      this.none.hidden = !words || this.items.size > 0;
    } catch (error) {
      notice(error.message);
    }
  }

  typed(words) {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      this.words = words.trim();
      this.anew();
    }, TYPED_MS);
  }

  anew() {
    this.next = undefined;
    this.items.clear();
    this.list.replaceChildren();
    return this.load();
  }

  refresh = async () => {
    if (document.hidden || this.over) return;
    const { words } = this;
    try {
      const { chats, next } = await get(this.path());
      if (this.over || words !== this.words) return;
      const known = new Set(this.items.keys());
      const all = new Map(chats.map((chat) => [chat.id, this.item(chat)]));
      this.list.prepend(...[...all].filter(([id]) => !known.has(id)).map(([, item]) => item));
      // What all fits on one page is all there is: what is not there was deleted.
      if (!next) for (const id of known) if (!all.has(id)) this.drop(id);
    } catch {
      // The conversation itself tells that Hob cannot be reached.
    }
  };

  drop(id) {
    this.items.get(id)?.remove();
    this.items.delete(id);
  }

  item(chat) {
    const { id, title, at } = chat;
    const name = title || "New conversation";
    // What is there already stays where it is: somebody may be about to press it.
    const known = this.items.get(id);
    if (known?.contains(document.activeElement)) return known;
    const link = el("a", { href: `/chat/${id}`, "aria-current": id === this.current ? "page" : null }, el("span", { class: "title" }, name), at ? moment(at) : null);
    const parts = [link];
    if (this.isOwner) {
      parts.push(
        el("button", { type: "button", class: "quiet icon", title: "Rename", "aria-label": `Rename ${name}`, onclick: () => this.rename(chat) }, "✎"),
        el("button", { type: "button", class: "quiet icon", title: "Delete", "aria-label": `Delete ${name}`, onclick: () => this.remove(chat) }, "✕"),
      );
    }
    if (known) known.replaceChildren(...parts);
    else this.items.set(id, el("li", {}, parts));
    return this.items.get(id);
  }

  async rename({ id, title }) {
    const field = el("input", { id: "title", value: title, maxlength: "80" });
    const inside = [el("label", { for: "title" }, "Its name"), field, el("p", { class: "hint" }, "Without one it is called by how it began.")];
    if (!(await ask("Rename the conversation", inside, "Save"))) return;
    await this.order(() => put(`/api/chats/${id}`, { title: field.value }));
    document.activeElement?.blur();
    this.changed();
  }

  async remove({ id, title }) {
    const inside = [el("p", {}, `“${title || "New conversation"}” and what is remembered of it are deleted for good, on this machine. Nothing brings it back.`)];
    if (!(await ask("Delete the conversation?", inside, "Delete for good", "danger"))) return;
    const isGone = await this.order(() => del(`/api/chats/${id}`));
    if (!isGone) return;
    this.drop(id);
    this.changed();
    if (id === this.current) this.go(`/chat/${newId()}`);
  }

  async order(send) {
    try {
      await send();
      return true;
    } catch (error) {
      notice(error.message);
      return false;
    }
  }
}
