// Every view, in both themes: without barriers, within a phone's width, and as its picture in docs/images.
import { statSync } from "node:fs";
import { axe, beside, chat, check, heard, login, open, root, run, same, say } from "./lib.mjs";
import { corpus, untouched } from "./strangers.mjs";

/** A view a line: its name, where it is, and what is there once it is drawn. */
const VIEWS = [
  { name: "login", path: "/login", ready: "#key", out: true },
  { name: "chat", path: "/chat/tour", ready: ".message.hob:last-child" },
  { name: "chat-asks", path: "/chat/asks", ready: ".buttons" },
  { name: "runs", path: "/runs", ready: "main table tbody tr" },
  { name: "run", path: "/runs/2", ready: "main .story li" },
  { name: "memory", path: "/memory", ready: ".memory-body .entry" },
  { name: "memory-facts", path: "/memory/facts", ready: ".memory-body:not([aria-busy=true])" },
  { name: "memory-people", path: "/memory/people", ready: ".memory-body:not([aria-busy=true])" },
  { name: "memory-answers", path: "/memory/answers", ready: ".memory-body:not([aria-busy=true])" },
  { name: "memory-forget", path: "/memory/forget", ready: ".memory-body:not([aria-busy=true])" },
  { name: "operations", path: "/operations", ready: "main dl dt" },
  { name: "operations-queue", path: "/operations/work", ready: "main h2" },
  { name: "operations-schedules", path: "/operations/schedules", ready: "main form" },
  { name: "operations-abilities", path: "/operations/abilities", ready: "main h2" },
  { name: "operations-config", path: "/operations/config", ready: "main > div > *" },
  { name: "operations-costs", path: "/operations/costs", ready: "main figure img" },
  { name: "operations-log", path: "/operations/log", ready: "main .lines p" },
];
/** The widths of a phone, a tablet and a desk; of these views there are pictures at each. */
const WIDTHS = [360, 768, 1280];
const PICTURED = /^(chat|run)$/;
/** The largest picture. */
const BYTES_MAX = 160 * 1024;
/** What is pressed is so wide and high at least, in CSS pixels; words within a sentence are not. */
const TOUCH_MIN = 44;

const page = await open();
let state;

async function show(view, options) {
  const tab = await open({ ...options, state: view.out ? undefined : state });
  await tab.goto(root + view.path);
  await tab.locator(view.ready).first().waitFor();
  return tab;
}

/** Loads it anew in a window that is so wide. */
async function loaded(view, tab, width) {
  await tab.setViewportSize({ width, height: 720 });
  await tab.reload();
  await tab.locator(view.ready).first().waitFor();
}

async function picture(tab, name) {
  const path = `${process.env.E2E_SHOTS}/page-${name}.png`;
  await tab.screenshot({ path, animations: "disabled", scale: "css" });
  check(statSync(path).size <= BYTES_MAX, `${path} has ${statSync(path).size} bytes`);
}

const steps = {
  "there is something to be seen": async () => {
    await login(page);
    await chat(page, "tour");
    await say(page, "What is for dinner this week?");
    await heard(page, "Lentil soup");
    await chat(page, "asks");
    await say(page, "pay Bob");
    await page.locator(".buttons").waitFor();
    for (const stranger of corpus) await beside(`stranger ${JSON.stringify(stranger)}`);
    state = await page.context().storageState();
  },
};
if (process.env.E2E_VIEWS?.includes("chat")) {
  steps["a phone that follows the link can write at once"] = async () => {
    const phone = await open({ width: 360, height: 640, touch: true });
    await login(phone);
    await phone.locator("#words").waitFor();
    check(await phone.evaluate(() => document.querySelector("#words").getBoundingClientRect().bottom <= innerHeight), "the field is in sight");
    if (process.env.E2E_SHOTS) await picture(phone, "phone");
    await phone.context().close();
  };
}

/** In both themes: whoever hears the page or uses no pointer is not kept out. */
async function without_barriers(tab, name) {
  for (const theme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme: theme });
    const { violations } = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    same(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`), [], `barriers, ${theme}`);
    if (process.env.E2E_SHOTS) await picture(tab, `${name}-${theme}`);
  }
}

/** A thumb hits what it means. */
async function large_enough(tab) {
  const small = await tab.$$eval(
    "button, summary, select, textarea, #nav a, .brand, .chats a, .message .run, input:not([type=checkbox], [type=range])",
    (all, least) =>
      all
        .filter((one) => one.checkVisibility() && !one.matches(".hidden, .skip"))
        .map((one) => [one.outerHTML.slice(0, 60), one.getBoundingClientRect()])
        .filter(([, { width, height }]) => width < least - 0.5 || height < least - 0.5)
        .map(([what, { width, height }]) => `${what}: ${Math.round(width)} × ${Math.round(height)}`),
    TOUCH_MIN,
  );
  same(small, [], "what is too small");
}

/** A phone of this width is wide enough. */
async function within_reach(tab, width) {
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
  check(wide <= width, `it is ${wide} wide at ${width}`);
  const cut = await tab.$$eval("button, a, input, textarea", (all) =>
    all.filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1 && !one.closest("#nav, .rendered, .skip, .wide-table")).map((one) => one.outerHTML.slice(0, 80)),
  );
  same(cut, [], `what is out of reach at ${width}`);
}

const wanted = new RegExp(process.env.E2E_VIEWS ?? "");
// A tab, and each time that it is loaded, costs a second of a processor: what can be looked at in one is.
for (const view of VIEWS.filter(({ name }) => wanted.test(name))) {
  const widths = PICTURED.test(view.name) ? WIDTHS : [];
  steps[`${view.name}, at a desk: nobody is kept out, and what strangers wrote is words`] = async () => {
    const tab = await show(view, { script: axe });
    await without_barriers(tab, view.name);
    for (const width of widths.filter((width) => width >= 1000)) {
      await tab.setViewportSize({ width, height: 720 });
      await without_barriers(tab, `${view.name}-${width}`);
    }
    await untouched(tab);
    for (const width of [360, 390]) {
      await loaded(view, tab, width);
      await within_reach(tab, width);
    }
    await tab.context().close();
  };
  steps[`${view.name}, on a touchscreen: nobody is kept out, and a thumb hits what it means`] = async () => {
    const tab = await show(view, { width: 360, height: 720, touch: true, script: axe });
    await large_enough(tab);
    for (const width of widths.filter((width) => width < 1000)) {
      await loaded(view, tab, width);
      await without_barriers(tab, `${view.name}-${width}`);
    }
    await tab.context().close();
  };
}
steps["the keyboard is enough"] = async () => {
  await chat(page, "tour");
  await page.locator("body").press("Tab");
  same(await page.evaluate(() => document.activeElement.textContent), "Skip to content", "what comes first");
  await page.keyboard.press("Enter");
  same(await page.evaluate(() => document.activeElement.id || location.hash), "main", "where that leads");
};
await run(steps);
