// What the house is made of: skills, servers, what people have allowed, and the config.
import { del, get, post, put } from "./api.js";
import { el, notice } from "./dom.js";
import { Listing, act, fill, live, mood, runLink, section, table, when } from "./operations-parts.js";

/** Skills, MCP servers and grants. */
export function abilities(place, { isOwner }) {
  const [skills, servers] = [el("div", {}), el("div", {})];
  const grants = new Listing({
    path: "/api/operations/grants",
    name: "grants",
    draw: (rows) =>
      table(
        "What people have allowed for good",
        ["Tool", "Whose calls", "Where", "Since", "Said in", ...(isOwner ? ["Action"] : [])],
        rows.map((grant) => [grant.tool, grant.user, grant.session, when(grant.since), runLink(grant.run), ...(isOwner ? [revoking(grant)] : [])]),
        "Nothing is allowed for good: every call that needs an approval is asked about.",
      ),
  });
  const revoking = (grant) => {
    const revoke = async () => {
      await del(`/api/operations/grants/${grant.id}`);
      await grants.load();
    };
    return act("Revoke", `grant${grant.id}`, revoke, { done: `${grant.tool} is asked about again.` });
  };
  const look = async () => {
    const [known, asked] = await Promise.all([get("/api/operations/skills"), get("/api/operations/servers"), grants.load()]);
    fill(
      skills,
      table(
        "Skills",
        ["Skill", "Standing", "When it is used"],
        known.skills.map((skill) => [skill.name, mood(skill.standing, skill.usable ? "good" : "warn"), el("span", { class: "words" }, skill.description)]),
        "There are no skills.",
      ),
      known.broken.map((broken) => el("p", {}, mood("unusable", "bad"), ` ${broken.place}: ${broken.why}`)),
    );
    const line = (text, index) => el("li", {}, text, classes(asked.names[index], isOwner));
    // Whoever is choosing goes on choosing.
    if (servers.contains(document.activeElement) || servers.querySelector("details[open]")) return;
    fill(servers, asked.servers.length ? el("ul", {}, asked.servers.map(line)) : el("p", { class: "hint" }, "There are no MCP servers."));
  };
  place.append(section("Grants", grants.element), section("Skills", skills), section("MCP servers", servers));
  return live(look, 15);
}

const CLASSES = { "": "ask each time", looks: "only looks", changes: "changes something", critical: "critical: ask each time", off: "not offered" };

/** What the tools of an MCP server do, as an owner says: once, instead of at each call. */
function classes(server, isOwner) {
  const path = `/api/operations/servers/${encodeURIComponent(server)}/tools`;
  const place = el("div", {});
  const choice = (tool) => {
    const options = Object.entries(CLASSES).map(([value, label]) => el("option", { value, selected: (tool.class ?? "") === value }, label));
    const select = el("select", { "aria-label": `What ${tool.name} does` }, options);
    select.addEventListener("change", () => put(path, { tools: { [tool.name]: select.value || null } }).then(draw).catch((error) => notice(error.message)));
    return select;
  };
  const draw = ({ tools }) =>
    fill(
      place,
      table(
        `Tools of ${server}`,
        ["Tool", "In its server's words", "Its hints", "You say"],
        tools.map((tool) => [
          tool.name,
          el("span", { class: "words" }, tool.about),
          tool.hinted ? CLASSES[tool.hinted] : "none",
          [isOwner ? choice(tool) : CLASSES[tool.class ?? ""], tool.was ? mood(`was "${CLASSES[tool.was]}", and has changed`, "warn") : null],
        ]),
        "It has no tools.",
      ),
    );
  const all = el("details", {}, el("summary", {}, "What its tools do"), place);
  all.addEventListener("toggle", () => all.open && get(path).then(draw).catch((error) => fill(place, el("p", { class: "hint" }, error.message))));
  return all;
}

/** The config: what runs, what stands in the file, and the way back. */
export function config(place, { isOwner }) {
  const [standing, good, shown] = [el("div", {}), el("div", {}), el("div", {})];
  const changes = (lines) => el("ul", { class: "changes" }, lines.map((line) => el("li", {}, el("code", {}, line))));
  const draw = (now) => {
    if (!now.file) return fill(standing, el("p", { class: "hint" }, "Hob was started without a config file."));
    const facts = [
      el("p", {}, "File: ", el("code", {}, now.file)),
      el("p", {}, "What runs was read: ", when(now.loaded_at), now.changes === null ? null : ` (${now.changes} changes since the start of Hob)`),
      now.refused && el("div", { class: "trouble" }, el("p", {}, mood("Refused", "bad"), " ", when(now.refused.at), ": Hob goes on as before."), el("pre", { tabindex: "0", role: "region", "aria-label": "Why" }, now.refused.why)),
      now.unreadable && el("p", {}, mood("The file cannot be used", "bad"), `: ${now.unreadable}`),
      now.waits.length ? el("p", {}, mood("Waits for a restart", "warn"), `: ${now.waits.join(", ")}`) : null,
      now.not_running.length
        ? [el("h3", {}, "In the file, and not running"), changes(now.not_running)]
        : now.unreadable || now.refused ? null : el("p", {}, mood("The file says what runs.", "good")),
    ];
    fill(standing, facts.flat().filter(Boolean));
    const kept = now.good.map((one) => [
      when(one.at),
      one.version,
      [one.runs ? mood("runs", "good") : null, one.on_disk ? " in the file" : null],
      one.would_change.length ? changes(one.would_change) : one.on_disk ? "nothing" : "comments or order",
      ...(isOwner ? [one.on_disk ? "–" : puttingBack(one)] : []),
    ]);
    fill(
      good,
      table("Configs with which a model answered", ["Kept", "Hob", "Is", "Putting it back changes", ...(isOwner ? ["Action"] : [])], kept, "None is kept yet: a model has to answer first."),
      now.broken.map((line) => el("p", {}, mood("unusable", "bad"), ` ${line}`)),
    );
  };
  const look = async () => draw(await get("/api/operations/config"));
  const puttingBack = (one) => {
    const back = async () => {
      draw(await post("/api/operations/config/rollback", { print: one.print }));
      await show();
    };
    return act("Put back", `back${one.print}`, back, { sure: "Put this config in the place of the file? The file is kept beside it.", done: "It is put back." });
  };
  const reload = async () => draw(await post("/api/operations/config/reload"));
  const show = async () => {
    const { text, good } = await get("/api/operations/config/text");
    fill(shown, good ? null : el("p", {}, mood("Hob could not begin with it", "bad")), el("pre", { tabindex: "0", role: "region", "aria-label": "What stands in the file" }, text));
  };
  const file = el("details", {}, el("summary", {}, "What stands in the file"), shown);
  file.addEventListener("toggle", () => file.open && show().catch((error) => notice(error.message)));
  place.append(
    section("What runs", standing, isOwner ? act("Read the file again", "reload", reload, { done: "The file was read." }) : "", file),
    section("Last good configs", good),
  );
  return live(look, 10);
}
