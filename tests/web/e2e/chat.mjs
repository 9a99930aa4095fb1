// Talking with Hob: streaming, a tool that asks, stop, the queue, two tabs, files.
import { beside, beside_tab, chat, check, heard, login, open, run, said, same, say } from "./lib.mjs";

const page = await open();
let tab;

await run({
  "a link logs in, and leaves no key in the address": async () => {
    await login(page);
    check(!page.url().includes("#"), page.url());
    same(await page.title(), "Chat – Hob", "the title");
  },
  "an answer is seen while it is written, and once": async () => {
    await chat(page, "first");
    await say(page, "hold story");
    await page.locator(".growing", { hasText: "Once" }).waitFor();
    await beside("open story");
    await heard(page, "Once upon a time.");
    same(await page.locator(".growing").count(), 0, "what still grows");
    same(await said(page), ["you: hold story", "hob: Once upon a time."], "what was said");
  },
  "a tool asks, and a button answers": async () => {
    await say(page, "pay Bob");
    const question = page.locator(".message.hob", { hasText: "May I do this?" });
    await question.getByRole("button").first().click();
    await heard(page, "Done: paid Bob");
    same(await page.locator(".buttons").count(), 0, "buttons that are left");
    same(await beside("lines paid"), "Bob", "what was paid");
  },
  "what is at work is stopped": async () => {
    await say(page, "hold stopped");
    await page.locator(".growing").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await heard(page, "top");
    await page.waitForFunction(() => [...document.querySelectorAll(".composer button")].find((button) => button.textContent === "Stop")?.disabled);
    same(await page.locator(".growing").count(), 0, "what still grows");
    await beside("open stopped");
  },
  "what waits is edited and taken back": async () => {
    await say(page, "hold line");
    await page.locator(".growing").waitFor();
    await say(page, "second");
    await page.locator(".queue li", { hasText: "second" }).waitFor();
    await say(page, "third");
    await page.locator(".queue li", { hasText: "third" }).getByRole("button", { name: "Take back" }).click();
    await page.locator(".queue li", { hasText: "third" }).waitFor({ state: "detached" });
    await page.locator(".queue li", { hasText: "second" }).getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("New words").fill("second, better");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".queue .words", { hasText: "second, better" }).waitFor();
    await beside("open line");
    await heard(page, "You said second, better");
    same(await page.locator(".queue li").count(), 0, "what waits");
  },
  "two tabs are in step": async () => {
    tab = await beside_tab(page);
    await chat(tab, "first");
    await heard(tab, "You said second, better");
    await say(tab, "from the second");
    await heard(page, "You said from the second");
    await say(page, "from the first");
    await heard(tab, "You said from the first");
    same((await said(tab)).slice(-4), (await said(page)).slice(-4), "what the tabs show");
    await page.locator(".message.person", { hasText: "from the second" }).waitFor();
    await tab.close();
  },
  "a file is attached, and saved again under its name": async () => {
    await chat(page, "files");
    await page.setInputFiles("input[type=file]", { name: "shopping list.txt", mimeType: "text/plain", buffer: Buffer.from("milk") });
    await say(page, "look");
    await heard(page, "You said");
    await page.reload();
    const saved = page.waitForEvent("download");
    await page.getByRole("link", { name: "shopping list.txt", exact: true }).click();
    same((await saved).suggestedFilename(), "shopping list.txt", "its name");
  },
  "logging out ends it": async () => {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(/\/login$/);
    await page.goto(`${process.env.E2E_ROOT}/chat/first`);
    await page.waitForURL(/\/login$/);
  },
});
