// What strangers write to have the page do something: in messages, replies, names, files and what tools print.
import { same } from "./lib.mjs";

/** Each sets `pwned` if it is anything but words. */
export const corpus = [
  "<script>window.pwned = 1</script>",
  "<img src=x onerror=window.pwned=1>",
  "<svg/onload=window.pwned=1>",
  "<svg><script>window.pwned=1</script></svg>",
  "<iframe srcdoc=\"<script>parent.pwned=1</script>\"></iframe>",
  "\"><script>window.pwned=1</script>",
  "'-(window.pwned=1)-'",
  "</textarea><script>window.pwned=1</script>",
  "</title></style><img src=x onerror=window.pwned=1>",
  "<a href=\"javascript:window.pwned=1\" autofocus onfocus=window.pwned=1>here</a>",
  "<details open ontoggle=window.pwned=1>x</details>",
  "<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=1>",
  "<form action=javascript:window.pwned=1><button>x</button></form>",
  "<base href=//evil.example/><link rel=stylesheet href=//evil.example/x.css>",
  "[here](javascript:window.pwned=1)",
  "![x](x\"onerror=\"window.pwned=1)",
  "[x](data:text/html,<script>window.pwned=1</script>)",
  "<javascript:window.pwned=1>",
  "`<img src=x onerror=window.pwned=1>`",
  "&lt;script&gt;window.pwned=1&lt;/script&gt;",
  "{{constructor.constructor('window.pwned=1')()}}",
  "${window.pwned=1}",
];

/** No script of theirs ran, and nothing of theirs is an element. */
export async function untouched(page) {
  // Whatever is to be touched is touched.
  await page.evaluate(() => document.querySelectorAll("main *").forEach((one) => one.dispatchEvent(new Event("mouseover", { bubbles: true }))));
  const found = await page.evaluate(() => {
    const attributes = (one) => [...one.attributes].filter(({ name, value }) => name.startsWith("on") || /^\s*(javascript|data):/i.test(value));
    const own = (one) => ["script", "iframe", "object", "embed", "base", "math", "style", "form:not(.composer, .queue form, #login, main form[data-own])"].some((tag) => one.matches(tag));
    const all = [...document.querySelectorAll("main *")];
    return [
      window.pwned === undefined ? null : "a script ran",
      ...all.filter((one) => own(one) && one.closest(".message, .chats, .queue, td")).map((one) => `an element: ${one.outerHTML.slice(0, 80)}`),
      ...all.flatMap((one) => attributes(one).map(({ name, value }) => `an attribute: ${name}=${value.slice(0, 80)}`)),
    ].filter(Boolean);
  });
  same(found, [], "what strangers could do");
}
