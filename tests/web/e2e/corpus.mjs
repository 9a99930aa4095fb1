// What strangers write stays words: in every place of the chat where something of theirs is shown.
import { beside, chat, check, heard, login, open, root, run, same, say } from "./lib.mjs";
import { corpus, untouched } from "./strangers.mjs";

const page = await open();
const last = (who) => page.locator(`.message.${who}:not(.growing)`).last();

await run({
  "in messages, as they were written": async () => {
    await login(page);
    await chat(page, "messages");
    for (const words of corpus) {
      await say(page, words);
      await heard(page, "You said");
      const own = page.locator(".message.person .plain", { hasText: words }).last();
      await own.waitFor();
      same(await own.textContent(), words, "a message");
      await page.locator(".message.person").last().locator(".state", { hasText: /^$/ }).waitFor({ state: "attached" });
    }
    await untouched(page);
    await page.reload();
    await heard(page, "You said");
    same(await page.$$eval(".message.person .plain", (all) => all.map((one) => one.textContent)), corpus, "all of them");
    await untouched(page);
  },
  "in what the model says": async () => {
    await chat(page, "replies");
    for (const words of corpus) {
      await say(page, `echo ${words}`);
      await heard(page, "Here:");
      await page.waitForFunction((count) => document.querySelectorAll(".message.hob:not(.growing)").length === count, corpus.indexOf(words) + 1);
      const shown = await last("hob").locator(".rendered").innerText();
      // Raw HTML is shown as it was written; of Markdown, what it says.
      if (words.startsWith("<") && !words.startsWith("<javascript")) check(shown.includes(words), `${words} is shown as ${shown}`);
      await untouched(page);
    }
  },
  "in names of files, and in what is in them": async () => {
    await chat(page, "names");
    for (const [index, words] of corpus.entries()) {
      const name = `${words.replaceAll("/", "∕")}.html`;
      await page.setInputFiles("input[type=file]", { name, mimeType: "text/html", buffer: Buffer.from(words) });
      await say(page, `file ${index}`);
      await heard(page, `You said file ${index}`);
    }
    await page.reload();
    await page.locator(".enclosed a").last().waitFor();
    const names = await page.$$eval(".enclosed a", (all) => all.map((one) => one.textContent));
    same(names.length, corpus.length, "how many files");
    // Browsers write quotation marks in a form's file names as %22.
    same(names, corpus.map((words) => `${words.replaceAll("/", "∕").replaceAll('"', "%22")}.html`), "their names");
    await untouched(page);
    for (const href of await page.$$eval(".enclosed a", (all) => all.map((one) => one.getAttribute("href")))) {
      const headers = (await page.request.get(root + href)).headers();
      check(headers["content-disposition"].startsWith("attachment;"), headers["content-disposition"]);
      same([headers["x-content-type-options"], headers["content-type"]], ["nosniff", "application/octet-stream"], "a file");
    }
  },
  "in what tools are asked to do, and in what they print": async () => {
    await chat(page, "tools");
    for (const words of corpus.slice(0, 6)) {
      await say(page, `pay ${words}`);
      const question = page.locator(".message.hob", { hasText: "May I do this?" }).last();
      await question.locator(".buttons").waitFor();
      await untouched(page);
      await question.getByRole("button").first().click();
      await heard(page, "Done:");
      await page.locator(".buttons").waitFor({ state: "detached" });
      await untouched(page);
    }
  },
  "in the titles of conversations": async () => {
    for (const [index, words] of corpus.slice(0, 8).entries()) {
      await chat(page, `title-${index}`);
      await say(page, words);
      await heard(page, "You said");
    }
    await page.reload();
    await page.locator(".chats .title").first().waitFor();
    const titles = await page.$$eval(".chats .title", (all) => all.map((one) => one.textContent));
    for (const words of corpus.slice(0, 8)) check(titles.includes(words.slice(0, 80)), `no title ${words}: ${JSON.stringify(titles)}`);
    await untouched(page);
  },
  "while it is written": async () => {
    await chat(page, "growing");
    await say(page, "hold evil");
    await page.locator(".growing").waitFor();
    await untouched(page);
    await beside("open evil");
    await heard(page, "onerror");
    await untouched(page);
  },
});
