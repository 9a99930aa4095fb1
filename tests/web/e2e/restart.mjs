// The daemon dies in the middle of an answer that is being written, and comes back.
import { beside, chat, check, heard, login, open, root, run, said, same, say } from "./lib.mjs";

// Nobody answers for a moment.
const page = await open({ expected: [/ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|net::ERR/] });

await run({
  "the page goes on where it was": async () => {
    await login(page);
    await chat(page, "kept");
    await say(page, "hello");
    await heard(page, "You said hello");
    await say(page, "hold dies");
    await page.locator(".growing", { hasText: "Once" }).waitFor();
    await beside("kill");
    await page.locator(".connection").waitFor();
    await say(page, "said meanwhile");
    await beside("start");
    await heard(page, "Once upon a time.");
    await heard(page, "You said said meanwhile");
    await page.locator(".connection").waitFor({ state: "hidden" });
  },
  "nothing is doubled or lost, here and on the next visit": async () => {
    const all = ["you: hello", "hob: You said hello", "you: hold dies", "hob: Once upon a time.", "you: said meanwhile", "hob: You said said meanwhile"];
    // What was said meanwhile may have come before the answer, and a note that it waits behind that.
    const kept = async () => (await said(page)).filter((line) => all.includes(line)).sort();
    same(await kept(), [...all].sort(), "what stands there");
    same(await page.locator(".growing, .pending").count(), 0, "what still grows or is on its way");
    const before = await said(page);
    await page.reload();
    await heard(page, "You said said meanwhile");
    same((await said(page)).length, before.length, "how much is shown after a reload");
    same(await kept(), [...all].sort(), "what stands there after a reload");
    check((await page.request.get(`${root}/api/visit`)).ok(), "the visit outlives the restart");
  },
});
