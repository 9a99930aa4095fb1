// Being told that something waits while the page is closed (Web Push), where the browser can do that and its owner wants it.
import { del, get, put } from "./api.js";
import { el, notice } from "./dom.js";

const CAN = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** What the page can be installed with, and is told by. */
export function serve() {
  // Only where the address is this machine's, or TLS is between.
  if ("serviceWorker" in navigator && isSecureContext) navigator.serviceWorker.register("/sw.js").catch(() => {});
}

async function listen() {
  const { key } = await get("/api/push");
  if ((await Notification.requestPermission()) !== "granted") throw new Error("This browser does not let Hob tell you: its settings for this page say so.");
  const worker = await navigator.serviceWorker.ready;
  await (await worker.pushManager.getSubscription())?.unsubscribe();
  const made = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
  await put("/api/push", { endpoint: made.endpoint, p256dh: text(made.getKey("p256dh")), auth: text(made.getKey("auth")) });
}

async function leave() {
  await del("/api/push");
  const worker = await navigator.serviceWorker.ready;
  await (await worker.pushManager.getSubscription())?.unsubscribe();
}

/** A switch for it; nothing where the browser cannot do it. */
export function pushSwitch() {
  if (!CAN || !isSecureContext) return null;
  const button = el("button", { type: "button", class: "quiet push", role: "switch", "aria-checked": "false", disabled: true }, "Tell me when this page is closed");
  const show = (on) => button.setAttribute("aria-checked", String(on));
  const look = async () => {
    try {
      show((await get("/api/push")).told);
      button.disabled = false;
    } catch {
      button.hidden = true;
    }
  };
  button.addEventListener("click", async () => {
    button.disabled = true;
    const on = button.getAttribute("aria-checked") !== "true";
    try {
      await (on ? listen() : leave());
      show(on);
    } catch (error) {
      notice(error.message);
    }
    button.disabled = false;
  });
  look();
  return button;
}
