// Which view is shown for which address.
import { get, post } from "./api.js";
import { el, notice } from "./dom.js";
import { chatView } from "./chat.js";
import { memoryView } from "./memory.js";
import { operationsView } from "./operations.js";
import { serve } from "./push.js";
import { runsView } from "./runs.js";

/** The views, in the order of the navigation: `match` takes the address's path, `show` fills the place and gives a way to end. */
const views = [
  { name: "Chat", home: "/", match: /^\/(?:chat\/([A-Za-z0-9_-]+))?$/, show: chatView },
  { name: "Runs", home: "/runs", match: /^\/runs(?:\/(\d+))?$/, show: runsView },
  { name: "Memory", home: "/memory", match: /^\/memory(?:\/(facts|people|answers|forget|[mf]\d+)(?:\/(\d+))?)?$/, show: memoryView },
  { name: "Operations", home: "/operations", match: /^\/operations(?:\/([a-z]+))?$/, show: operationsView },
];

let end;
let shown;

function route() {
  const path = location.pathname;
  shown = path + location.search;
  const main = document.getElementById("main");
  const found = views.map((view) => ({ view, parts: view.match.exec(path) })).find(({ parts }) => parts);
  end?.();
  end = undefined;
  main.replaceChildren();
  main.removeAttribute("class");
  for (const link of document.querySelectorAll("#nav a")) {
    const isHere = found && link.getAttribute("href") === found.view.home;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!found) {
    main.append(el("h1", {}, "There is nothing here"), el("p", {}, el("a", { href: "/" }, "To the chat")));
    return;
  }
  document.title = `${found.view.name} – Hob`;
  end = found.view.show(main, found.parts, context);
}

/** Goes to another view without loading the page anew. */
export function go(path, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  route();
}

const context = { go, visit: null };

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || link.target || link.origin !== location.origin || link.hash || link.hasAttribute("download")) return;
  if (!views.some((view) => view.match.test(link.pathname))) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
// A place within the view is no other view.
window.addEventListener("popstate", () => location.pathname + location.search === shown || route());
document.getElementById("logout").addEventListener("click", async () => {
  try {
    await post("/logout");
    location.assign("/login");
  } catch (error) {
    notice(error.message);
  }
});

context.visit = await get("/api/visit");
document.body.dataset.role = context.visit.role;
document
  .getElementById("nav")
  .append(...views.map((view) => el("a", { href: view.home }, view.name)));
route();
serve();
