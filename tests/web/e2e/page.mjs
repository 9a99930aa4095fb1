// Being on the page: words as they are written, the place to write, conversations, a phone, notices.
import { beside, chat, check, heard, login, open, root, run, same, say } from "./lib.mjs";

const page = await open();
let state;

/** Has files arrive at an element as a drop or a paste of somebody's would. */
const arrive = (tab, selector, kind) =>
  tab.locator(selector).evaluate((element, kind) => {
    const data = new DataTransfer();
    data.items.add(new File(["milk"], `${kind}.txt`, { type: "text/plain" }));
    const init = { bubbles: true, cancelable: true };
    element.dispatchEvent(kind === "paste" ? new ClipboardEvent("paste", { ...init, clipboardData: data }) : new DragEvent("drop", { ...init, dataTransfer: data }));
  }, kind);

/** A phone of this house. */
const phone = () => open({ state, width: 360, height: 720, touch: true });

await run({
  "a link logs in": async () => {
    await login(page);
    state = await page.context().storageState();
  },
  "Markdown is seen as it is written, and what is whole stays": async () => {
    await chat(page, "grows");
    await say(page, "blocks story");
    await page.locator(".growing h2", { hasText: "Story" }).waitFor();
    await page.locator(".growing li", { hasText: "first" }).waitFor();
    same(await page.locator(".growing").innerText().then((text) => /[#*`]/.test(text)), false, "signs of Markdown that are seen");
    await page.evaluate(() => (globalThis.whole = document.querySelector(".growing h2")));
    const before = await page.locator(".growing h2").boundingBox();
    await beside("open story");
    await page.locator(".growing strong", { hasText: "end" }).waitFor();
    check(await page.evaluate(() => globalThis.whole.isConnected), "a whole block was made anew");
    same((await page.locator(".growing h2").boundingBox()).x, before.x, "where the heading stands");
    const growing = await page.locator(".growing .rendered").boundingBox();
    const blocks = await page.$eval(".growing .rendered", (one) => one.innerText);
    await beside("open end");
    await heard(page, "end");
    const there = page.locator(".message.hob").last().locator(".rendered");
    same(await there.evaluate((one) => one.innerText), blocks, "what is there in the end");
    const { width, height } = await there.boundingBox();
    same([width, height], [growing.width, growing.height], "its size");
  },
  "code is copied": async () => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: root });
    await page.getByRole("button", { name: "Copy" }).last().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    same(await page.evaluate(() => navigator.clipboard.readText()), "let x = 1;", "what was copied");
  },
  "the field grows to eight lines, Enter sends, Shift-Enter breaks": async () => {
    await chat(page, "field");
    const field = page.locator("#words");
    const height = async () => (await field.boundingBox()).height;
    const one = await height();
    await field.press("a");
    for (let line = 1; line < 8; line += 1) await field.press("Shift+Enter");
    const eight = await height();
    const lines = await field.evaluate((element) => element.value.split("\n").length);
    same(lines, 8, "lines");
    check(eight > one * 4, `eight lines are ${eight} high, one is ${one}`);
    check(await field.evaluate((element) => element.scrollHeight <= element.clientHeight + 1), "eight lines are scrolled");
    await field.press("Shift+Enter");
    same(await height(), eight, "the height of nine lines");
    await field.fill("first");
    await field.press("Shift+Enter");
    await field.pressSequentially("second");
    await field.press("Enter");
    await heard(page, "You said");
    same(await page.locator(".message.person .plain").innerText(), "first\nsecond", "what was sent");
    same(await height(), one, "the height afterwards");
    await say(page, Array.from({ length: 40 }, (_, line) => `line ${line}`).join("\n"));
    await heard(page, "You said line 39");
    for (let line = 1; line < 8; line += 1) await field.press("Shift+Enter");
    await page.waitForFunction(() => {
      const log = document.querySelector(".scroll");
      return log.scrollHeight > log.clientHeight && log.scrollHeight - log.scrollTop - log.clientHeight < 2;
    });
    await field.fill("");
  },
  "a new conversation says what can be done, and waits for words": async () => {
    await chat(page, "empty");
    await page.getByText("What is to be done, or kept in mind?").waitFor();
    await page.waitForFunction(() => document.activeElement.id === "words");
    await page.keyboard.type("hello");
    await page.keyboard.press("Enter");
    await heard(page, "You said hello");
    same(await page.getByText("What is to be done, or kept in mind?").isVisible(), false, "whether it is still said");
    await page.goto(`${root}/runs`);
    same(await page.locator("main table").innerText().then((text) => /web:[0-9a-f]{32}/.test(text)), false, "made-up names in full");
    await chat(page, "field");
  },
  "what is dropped or pasted is attached": async () => {
    await arrive(page, "#words", "paste");
    await arrive(page, ".scroll", "drop");
    same(await page.locator(".chosen li").allInnerTexts().then((all) => all.map((one) => one.split(" ")[0])), ["paste.txt", "drop.txt"], "what is attached");
    await page.getByRole("button", { name: "Leave out paste.txt" }).click();
    await say(page, "look");
    await page.getByRole("link", { name: "drop.txt", exact: true }).waitFor();
    same(await page.locator(".enclosed a").count(), 1, "files that were sent");
  },
  "another view does not stop what is at work": async () => {
    await chat(page, "leaves");
    await say(page, "hold leaves");
    await page.locator(".growing").waitFor();
    await page.getByRole("link", { name: "Runs" }).click();
    await page.locator("main table").waitFor();
    await beside("open leaves");
    await page.goBack();
    await heard(page, "Once upon a time.");
    same(await page.locator(".message.person").count(), 1, "messages of the person's");
  },
  "a conversation is found, named and deleted, by keyboard": async () => {
    await chat(page, "grows");
    const list = page.getByRole("navigation", { name: "Conversations" });
    const summary = page.locator(".chats summary");
    if (!(await list.isVisible())) await summary.press("Enter");
    await page.getByLabel("Find a conversation").fill("first");
    await list.getByRole("link", { name: "first" }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".chats li").length === 2);
    await page.getByLabel("Find a conversation").fill("nothing has these words");
    await page.getByText("There is none with these words.").waitFor();
    await page.getByLabel("Find a conversation").fill("");
    await list.getByRole("button", { name: "Rename blocks story" }).press("Enter");
    await page.getByLabel("Its name").fill("A story");
    await page.keyboard.press("Enter");
    await list.getByRole("link", { name: "A story" }).waitFor();
    await list.getByRole("button", { name: "Delete A story" }).press("Enter");
    await page.keyboard.press("Enter");
    await list.getByRole("link", { name: "A story" }).waitFor();
    await list.getByRole("button", { name: "Delete A story" }).press("Enter");
    await page.getByRole("button", { name: "Delete for good" }).press("Enter");
    await list.getByRole("link", { name: "A story" }).waitFor({ state: "detached" });
    check(!page.url().endsWith("/grows"), "the deleted conversation is still shown");
  },
  "a run is told in short": async () => {
    await chat(page, "deeds");
    await say(page, "pay Bob");
    await page.locator(".buttons button").first().click();
    await heard(page, "Done: paid Bob");
    await page.locator(".message.hob .run").last().evaluate((link) => link.getAttribute("href"));
    await page.locator('.message .run[href^="/runs/"]').last().click();
    await page.locator(".story li").first().waitFor();
    same(await page.locator(".story li").allInnerTexts(), ["asked you", "used pay"], "what it did");
  },
  "a phone has the views at its lower edge, and room for a thumb": async () => {
    const tab = await phone();
    await chat(tab, "deeds");
    const bar = await tab.locator("#nav").boundingBox();
    check(bar.y + bar.height >= 719 && bar.width === 360, `the bar is at ${JSON.stringify(bar)}`);
    for (const name of ["Runs", "Memory", "Operations", "Chat"]) {
      await tab.getByRole("link", { name, exact: true }).tap();
      await tab.waitForFunction((name) => document.querySelector("#nav [aria-current]")?.textContent === name, name);
    }
    await tab.locator(".chats summary").tap();
    await tab.getByRole("button", { name: "New conversation" }).waitFor();
    await tab.getByRole("link", { name: /pay Bob/ }).tap();
    await tab.locator(".conversation").waitFor();
    same(await tab.locator(".chats").evaluate((list) => list.open), false, "whether the list still covers it");
    await tab.context().close();
  },
  "a wide table and long code scroll by themselves": async () => {
    const tab = await phone();
    await chat(tab, "wide");
    await say(tab, "wide table");
    await heard(tab, "Column 9");
    const scrolls = (selector) => tab.locator(selector).last().evaluate((one) => one.scrollWidth > one.clientWidth);
    same([await scrolls(".wide-table"), await scrolls(".code pre")], [true, true], "what scrolls");
    same(await tab.evaluate(() => document.documentElement.scrollWidth), 360, "the page's width");
    await tab.context().close();
  },
  "it can be installed, and a push is told where nobody looks": async () => {
    const context = page.context();
    await context.grantPermissions(["notifications"], { origin: root });
    const manifest = await (await page.request.get(`${root}/app/manifest.json`)).json();
    same([manifest.display, manifest.icons.some(({ sizes }) => sizes === "512x512")], ["standalone", true], "the manifest");
    for (const { src } of manifest.icons) same((await page.request.get(root + src)).status(), 200, src);
    const cdp = await context.newCDPSession(page);
    const { installabilityErrors } = await cdp.send("Page.getInstallabilityErrors");
    same(installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito"), [], "what keeps it from being installed");
    const found = new Promise((resolve) => cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => registrations[0] && resolve(registrations[0].registrationId)));
    await cdp.send("ServiceWorker.enable");
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    const registrationId = await found;
    const push = (data) => cdp.send("ServiceWorker.deliverPushMessage", { origin: root, registrationId, data: JSON.stringify(data) });
    const told = () => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(({ title, body, tag }) => [title, body, tag]));
    // Somebody looks: nothing is shown.
    await push({ kind: "said", chat: "seen" });
    const other = await context.newPage();
    await other.goto("about:blank");
    await page.goto("about:blank");
    await push({ kind: "asks", chat: "deeds" });
    await page.goto(`${root}/runs`);
    await page.waitForFunction(async () => (await (await navigator.serviceWorker.ready).getNotifications()).length > 0);
    same(await told(), [["Hob", "Hob asks you something.", "/chat/deeds"]], "what is told");
    await other.close();
  },
});
