// Tells that something waits while the page is closed. It keeps nothing: what is shown comes from Hob each time.
const WORDS = { said: "Hob has written to you.", asks: "Hob asks you something." };

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

const windows = () => self.clients.matchAll({ type: "window", includeUncontrolled: true });

function said(event) {
  try {
    return event.data.json();
  } catch {
    return {};
  }
}

async function tell({ kind, chat }) {
  // Whoever looks at the page needs no notice.
  if ((await windows()).some((one) => one.visibilityState === "visible")) return;
  const place = /^[A-Za-z0-9_-]{1,64}$/.test(chat ?? "") ? `/chat/${chat}` : "/";
  await self.registration.showNotification("Hob", { body: WORDS[kind] ?? WORDS.said, tag: place, icon: "/app/icon-192.png", data: { place } });
}

async function open(place) {
  for (const one of await windows()) {
    if (new URL(one.url).pathname === place) return one.focus();
  }
  return self.clients.openWindow(place);
}

self.addEventListener("push", (event) => event.waitUntil(tell(said(event))));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.place ?? "/"));
});
