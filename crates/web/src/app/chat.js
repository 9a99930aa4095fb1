// Talking with Hob: what was said, the reply that is being written, what waits its turn, and a place to write.
import { ApiError, del, get, isForNow, persist, post, put } from "./api.js";
import { ChatList } from "./chats.js";
import { composer } from "./composer.js";
import { el, moment, newId, notice, parts, rendered, size } from "./dom.js";

const STATES = {
  queued: "waits its turn",
  running: "Hob is at it",
  waiting: "Hob waits for you",
  failed: "failed",
  cancelled: "stopped",
  withdrawn: "taken back",
  joined: "joined the reply before",
  refused: "not taken",
};

/** Shows the view; gives what ends it. */
export function chatView(main, [, named], { go, visit }) {
  const isOwner = visit.role === "owner";
  const chat = named ?? localStorage.getItem("chat") ?? newId();
  if (!named) return void queueMicrotask(() => go(`/chat/${chat}`, { replace: true }));
  localStorage.setItem("chat", chat);
  main.className = "chat";
  const chats = new ChatList(chat, { go, isOwner });
  const conversation = new Conversation(chat, isOwner, chats.changed);
  main.append(chats.element, conversation.element);
  conversation.begin();
  return () => {
    conversation.end();
    chats.end();
  };
}

const RASTERS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** A file to save; a picture is shown as well, and a voice can be heard. */
function enclosed({ id, name, mime, bytes }) {
  const href = `/api/files/${id}`;
  const words = el("span", {}, el("a", { href, download: name }, name), ` (${size(bytes)})`);
  const picture = RASTERS.includes(mime) ? el("img", { src: href, alt: "", loading: "lazy" }) : null;
  const voice = mime === "audio/opus" ? el("audio", { src: href, controls: true, preload: "none" }) : null;
  return el("p", { class: "enclosed" }, picture, voice, words);
}

class Conversation {
  constructor(chat, isOwner, changed) {
    this.changed = changed;
    this.path = `/api/chats/${chat}`;
    this.isOwner = isOwner;
    this.shown = new Map();
    // What stands for an entry that was replaced, by the id of that entry.
    this.instead = new Map();
    this.states = new Map();
    this.growing = null;
    this.log = el("ol", { class: "log" });
    this.first = el("p", { class: "hint first", hidden: true }, "What is to be done, or kept in mind? Files can be dropped here; /help lists what there is besides.");
    this.earlier = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.loadEarlier() }, "Earlier messages");
    this.queue = el("ol", { class: "queue", "aria-label": "What waits its turn" });
    this.step = el("p", { class: "step", role: "status", hidden: true });
    this.connection = el("p", { class: "connection", role: "status", hidden: true }, "Connection lost; trying again …");
    this.element = el(
      "section",
      { class: "conversation", "aria-label": "Conversation" },
      el("h1", { class: "hidden" }, "Chat"),
      el("div", { class: "scroll", role: "log", "aria-label": "What was said", tabindex: "0" }, this.earlier, this.first, this.log),
      this.step,
      this.queue,
      this.connection,
      isOwner ? this.composer() : el("p", { class: "hint" }, "Viewers only look."),
    );
    this.scroll = this.element.querySelector(".scroll");
    // What was last seen stays in sight when the place to write grows, or the window shrinks.
    this.wasAtEnd = true;
    this.scroll.addEventListener("scroll", () => (this.wasAtEnd = this.isAtEnd()));
    this.resized = new ResizeObserver(() => this.toEnd(this.wasAtEnd));
    this.resized.observe(this.scroll);
    this.droppable?.(this.element);
  }

  async begin() {
    document.addEventListener("visibilitychange", this.seen);
    await this.load();
    // Whoever begins a conversation writes; but no keyboard is brought up over the page.
    if (!this.over && !this.first.hidden && matchMedia("(pointer: fine)").matches) this.element.querySelector("#words").focus();
  }

  async load() {
    try {
      const timeline = await get(`${this.path}/messages`);
      if (this.over) return;
      this.connection.hidden = true;
      timeline.messages.forEach((message) => this.show(message));
      this.tell(timeline.open);
      this.older = timeline.older;
      this.earlier.hidden = !this.older;
      this.first.hidden = !this.isOwner || timeline.messages.length > 0;
      this.toEnd(true);
      this.mark = `${timeline.upto.said}-${timeline.upto.answered}`;
      this.listen();
    } catch (error) {
      if (!isForNow(error)) return void notice(error.message);
      this.connection.hidden = false;
      this.later(() => this.load());
    }
  }

  /** Once more in a while, unless this view is left before. */
  later(what) {
    clearTimeout(this.again);
    if (!this.over) this.again = setTimeout(what, 2000);
  }

  end() {
    this.over = true;
    this.resized.disconnect();
    this.events?.close();
    clearTimeout(this.again);
    document.removeEventListener("visibilitychange", this.seen);
  }

  /** A tab that nobody sees holds no connection: a browser has few of them for all its tabs. */
  seen = () => {
    if (!this.mark) return;
    clearTimeout(this.again);
    if (document.hidden) {
      this.events?.close();
      this.dropGrowing();
    } else this.listen();
  };

  listen() {
    if (this.over || document.hidden) return;
    this.events?.close();
    this.atStep(null);
    const events = new EventSource(`${this.path}/events?since=${this.mark}`);
    this.events = events;
    const heard = (name, take) =>
      events.addEventListener(name, (event) => {
        if (event.lastEventId) this.mark = event.lastEventId;
        const atEnd = this.isAtEnd();
        take(JSON.parse(event.data));
        this.toEnd(atEnd);
      });
    heard("message", (message) => this.show(message));
    heard("state", ({ open }) => this.tell(open));
    heard("growing", (more) => this.grow(more));
    heard("step", ({ text }) => this.atStep(text));
    heard("gap", () => this.reload());
    events.addEventListener("open", () => (this.connection.hidden = true));
    events.addEventListener("error", () => {
      this.connection.hidden = false;
      // What was growing begins anew with the next connection.
      this.dropGrowing();
      if (events.readyState !== EventSource.CLOSED) return;
      // The browser gives up when it is answered with an error: a restart of Hob is one.
      this.later(() => this.resume());
    });
  }

  /** Goes on where the connection broke; whoever is not logged in any more is sent to the login. */
  async resume() {
    try {
      await get("/api/visit");
      this.listen();
    } catch {
      this.later(() => this.resume());
    }
  }

  reload() {
    this.events?.close();
    this.shown.clear();
    this.instead.clear();
    this.log.replaceChildren();
    this.load();
  }

  async loadEarlier() {
    if (!this.older) return;
    try {
      const { messages, older } = await get(`${this.path}/messages?before=${this.older.said}-${this.older.answered}`);
      const before = this.scroll.scrollHeight;
      const first = this.log.firstChild;
      for (const message of messages) this.place(message, first);
      this.scroll.scrollTop += this.scroll.scrollHeight - before;
      this.older = older;
      this.earlier.hidden = !older;
    } catch (error) {
      notice(error.message);
    }
  }

  /** Puts an entry before another, or last; what replaces another takes its place, whichever of them comes first. */
  place(message, before = null) {
    if (this.shown.has(message.id)) return;
    const instead = this.instead.get(message.id);
    const entry = instead ?? this.entry(message);
    const replaced = message.replaces && this.shown.get(message.replaces);
    if (message.replaces) this.instead.set(message.replaces, entry);
    if (instead) this.shown.set(message.id, entry);
    if (replaced) replaced.replaceWith(entry);
    else this.log.insertBefore(entry, before);
  }

  show(message) {
    if (this.shown.has(message.id)) return;
    this.first.hidden = true;
    const pending = message.client_id && this.log.querySelector(`[data-pending="${CSS.escape(message.client_id)}"]`);
    pending?.remove();
    this.place(message);
    if (message.author === "hob" && this.growing && message.run === this.growing.run) this.dropGrowing();
    else if (this.growing) this.log.append(this.growing.element);
  }

  entry(message) {
    const isOwn = message.author === "person";
    const words = message.html !== undefined && message.html !== null ? rendered(message.html) : el("p", { class: "plain" }, message.text);
    const entry = el(
      "li",
      { class: `message ${message.author}`, "data-id": message.id },
      el("span", { class: "who" }, isOwn ? "You" : message.name, " ", moment(message.at), message.run ? el("a", { class: "run", href: `/runs/${message.run}` }, `run ${message.run}`) : null, message.run && !isOwn ? el("a", { class: "run", href: `/memory/answers/${message.run}` }, "why") : null),
      words,
      (message.files ?? []).map(enclosed),
      message.buttons?.length ? this.buttons(message.buttons) : null,
      isOwn ? el("span", { class: "state" }) : null,
    );
    this.shown.set(message.id, entry);
    if (isOwn) this.mood(message.id, message.state);
    return entry;
  }

  mood(id, state) {
    const place = this.shown.get(id)?.querySelector(".state");
    if (place) place.textContent = STATES[state] ?? "";
  }

  buttons(all) {
    const row = el("div", { class: "buttons", role: "group", "aria-label": "Answers" });
    for (const { label, token } of all) {
      const press = async () => {
        for (const button of row.children) button.disabled = true;
        const id = newId();
        try {
          await persist(() => post(`${this.path}/presses`, { id, token }), () => notice("Hob cannot be reached; trying again …"));
        } catch (error) {
          notice(error.message);
          for (const button of row.children) button.disabled = false;
        }
      };
      row.append(el("button", { type: "button", onclick: press, disabled: !this.isOwner }, label));
    }
    return row;
  }

  // What has an effect is waited for; a second press is not.
  halt() {
    this.say(this.stop.textContent === "Stop" ? "/stop" : "/stop now", []);
    this.stop.textContent = "Stop now";
  }

  tell(open) {
    const now = new Map(open.map((run) => [run.message, run.state]));
    for (const [id, state] of now) this.mood(id, state);
    // What was open and is not any more is over: how, the messages after it say.
    for (const id of this.states.keys()) if (!now.has(id)) this.mood(id, "completed");
    this.states = now;
    const busy = open.find((run) => run.state !== "queued");
    if (this.stop) this.stop.disabled = !busy;
    if (this.stop && !busy) this.stop.textContent = "Stop";
    this.element.classList.toggle("busy", open.some((run) => run.state === "running"));
    if (!busy) {
      this.dropGrowing();
      this.atStep(null);
    }
    this.queue.replaceChildren(...open.filter((run) => run.state === "queued").map((run) => this.queued(run)));
  }

  /** How far a call is that is at work. */
  atStep(text) {
    this.step.textContent = text ?? "";
    this.step.hidden = !text;
  }

  queued(run) {
    const actions = this.isOwner
      ? [
          el("button", { type: "button", class: "quiet", onclick: () => this.editQueued(run) }, "Edit"),
          el("button", { type: "button", class: "quiet", onclick: () => this.withdraw(run) }, "Take back"),
        ]
      : [];
    return el("li", { "data-run": run.run }, el("span", { class: "words" }, run.text), ...actions);
  }

  editQueued(run) {
    const field = el("textarea", { rows: 2, "aria-label": "New words", value: run.text });
    const done = async (event) => {
      event.preventDefault();
      try {
        await put(`${this.path}/messages/${run.client_id}`, { text: field.value });
        this.reword(run.message, field.value);
      } catch (error) {
        notice(error.message);
      }
    };
    const form = el("form", { onsubmit: done }, field, el("button", {}, "Save"));
    const place = [...this.queue.children].find((item) => item.dataset.run === String(run.run));
    place?.replaceChildren(form);
    field.focus();
  }

  reword(id, text) {
    const words = this.shown.get(id)?.querySelector(".plain");
    if (words) words.textContent = text;
  }

  async withdraw(run) {
    try {
      await del(`${this.path}/messages/${run.client_id}`);
      this.mood(run.message, "withdrawn");
    } catch (error) {
      notice(error.message);
    }
  }

  /** More of a reply: its whole blocks stay as they are, the open one takes its new form. */
  grow({ run, at, blocks, keep, open }) {
    if (!this.growing || this.growing.run !== run || at === 0) {
      this.dropGrowing();
      const words = el("div", { class: "rendered" });
      const element = el("li", { class: "message hob growing", "aria-busy": "true" }, el("span", { class: "who" }, "Hob …"), words);
      this.growing = { run, words, element, html: "", open: [] };
      this.log.append(element);
    }
    const growing = this.growing;
    growing.html = growing.html.slice(0, keep) + open;
    growing.open.forEach((node) => node.remove());
    growing.open = parts(growing.html);
    growing.words.append(...parts(blocks), ...growing.open);
  }

  dropGrowing() {
    this.growing?.element.remove();
    this.growing = null;
  }

  composer() {
    this.undo = el("button", { type: "button", class: "quiet", title: "Take back what was done last", onclick: () => this.say("/undo", []) }, "Undo");
    this.stop = el("button", { type: "button", class: "quiet", disabled: true, onclick: () => this.halt() }, "Stop");
    const { form, droppable } = composer((text, files) => this.say(text, files), [this.stop, this.undo]);
    this.droppable = droppable;
    return form;
  }

  async say(text, files) {
    const id = newId();
    const shown = el("li", { class: "message person pending", "data-pending": id }, el("span", { class: "who" }, "You"), el("p", { class: "plain" }, text || `${files.length} files`), el("span", { class: "state" }, "sending …"));
    this.first.hidden = true;
    this.log.append(shown);
    this.toEnd(true);
    const state = shown.querySelector(".state");
    const send = () => {
      const form = new FormData();
      form.append("id", id);
      form.append("text", text);
      for (const file of files) form.append("file", file, file.name);
      return post(`${this.path}/messages`, form);
    };
    const deliver = async () => {
      try {
        await persist(send, () => (state.textContent = "Hob cannot be reached; trying again …"));
        this.changed();
      } catch (error) {
        const why = error instanceof ApiError ? `not sent: ${error.message} ` : "not sent ";
        // It keeps its id: what Hob has already is not said twice.
        const again = () => {
          state.textContent = "sending …";
          deliver();
        };
        state.replaceChildren(why, el("button", { type: "button", class: "quiet", onclick: again }, "Send again"));
      }
    };
    await deliver();
  }

  isAtEnd() {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < 80;
  }

  toEnd(wanted) {
    if (wanted) this.scroll.scrollTop = this.scroll.scrollHeight;
  }
}
