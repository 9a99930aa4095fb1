// A browser that opens Hob's page, and the test beside it that holds the model's answers and the daemon.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.E2E_TOOLS}/`);
const { chromium } = require("playwright-core");
export const axe = require.resolve("axe-core/axe.min.js");
export const root = process.env.E2E_ROOT;

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the test do something; gives what it answers. */
export async function beside(what) {
  console.log(`@ ${what}`);
  const { value, done } = await answers.next();
  if (done) throw new Error(`nobody answered ${what}`);
  return value;
}

export function check(holds, what) {
  if (!holds) throw new Error(what);
}

export function same(found, expected, what) {
  const [is, should] = [JSON.stringify(found), JSON.stringify(expected)];
  check(is === should, `${what}: ${is}, not ${should}`);
}

let browser;
const [problems, pages] = [[], []];

/** A tab of a browser of its own, in this theme; what goes wrong in it, or leaves this machine, fails the test. */
export async function open({ theme = "light", width = 1000, height = 700, state, script, touch = false, expected = [] } = {}) {
  browser ??= await chromium.launch({
    executablePath: process.env.E2E_CHROMIUM,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update"],
  });
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, storageState: state, reducedMotion: "reduce", hasTouch: touch, isMobile: touch });
  context.setDefaultTimeout(15000);
  // Put there by the browser itself: the page's own policy lets no script in.
  if (script) await context.addInitScript({ path: script });
  return watch(await context.newPage(), expected);
}

/** Another tab of the same browser. */
export const beside_tab = async (page) => watch(await page.context().newPage(), []);

function watch(page, expected) {
  pages.push(page);
  const note = (what) => expected.some((known) => known.test(what)) || problems.push(what);
  page.on("pageerror", (error) => note(`a script failed: ${error.message}`));
  page.on("console", (message) => message.type() === "error" && note(`the console says: ${message.text()}`));
  page.on("dialog", (dialog) => (note(`a dialog opened: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(root)) note(`it asked ${request.url()}`);
  });
  return page;
}

/** Logs in by the link that `hob web` prints. */
export async function login(page) {
  await page.goto(await beside("link"));
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL(/\/chat\//);
}

/** Opens a conversation, until it listens. */
export async function chat(page, name) {
  const listens = page.waitForResponse((response) => response.url().includes("/events"));
  await page.goto(`${root}/chat/${name}`);
  await listens;
}

export async function say(page, text) {
  await page.fill("#words", text);
  await page.keyboard.press("Enter");
}

/** What is said in the conversation, by whom. */
export const said = (page) =>
  page.$$eval(".log .message:not(.growing)", (all) => all.map((one) => `${one.classList.contains("hob") ? "hob" : "you"}: ${one.querySelector(".plain, .rendered").innerText.trim()}`));

/** Waits until Hob has said this. */
export const heard = (page, text) => page.locator(".message.hob:not(.growing)", { hasText: text }).last().waitFor();

/** Runs the steps one after another; says which one failed. */
export async function run(steps) {
  let at = "the beginning";
  try {
    for (const [name, step] of Object.entries(steps)) {
      at = name;
      await step();
      same(problems, [], "what went wrong in the page");
      console.log(`${name}: yes`);
    }
  } catch (error) {
    console.log(`${at}: NO\n${error.stack}`);
    for (const page of pages.filter((page) => !page.isClosed())) {
      console.log(`--- ${page.url()}\n${await page.evaluate(() => document.body.innerText).catch(String)}`);
    }
    process.exitCode = 1;
  } finally {
    await browser?.close();
    process.stdin.destroy();
  }
}
