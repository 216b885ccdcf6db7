// The page of an attempt goes on by itself: output, tool calls and stage come as they happen. What comes is text, never HTML.

const MOST = 2000; // entries or pieces that stay on the page; the evidence files have all of it
const main = document.getElementById("main");
const find = (selector) => main.querySelector(selector);
let source = null;
let seen = null; // how far this page has come: the mark of the last message
let over = false; // nothing more comes

const make = (name, words, kind) => {
  const made = document.createElement(name);
  if (words) made.textContent = words;
  if (kind) made.className = kind;
  return made;
};
const size = (count) => (count < 1000 ? `${count} B` : count < 1e6 ? `${(count / 1e3).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`);

// Whoever has scrolled up to read stays there; whoever is at the end stays at the end.
const reading = new WeakSet();
main.addEventListener("scroll", ({ target: feed }) => {
  if (feed.scrollTop + feed.clientHeight >= feed.scrollHeight - 24) reading.delete(feed);
  else reading.add(feed);
}, { capture: true, passive: true });
function toEnd(feed) {
  if (!reading.has(feed)) feed.scrollTop = feed.scrollHeight;
}
function add(list, nodes) {
  if (!list) return;
  list.append(...nodes);
  while (list.childNodes.length > MOST) list.firstChild.remove();
  toEnd(list.closest(".feed"));
}

function gap(told) {
  return told.skipped ? [make("div", `… ${size(told.skipped)} are not shown here; the file has them …`, "entry of-gap")] : [];
}

function entry(said) {
  const made = make("div", "", `entry of-${said.kind}`);
  if (said.title) made.append(make("b", said.title));
  if (said.text) made.append(make("span", said.text));
  return made;
}

function output(told) {
  find("[data-silent]")?.remove();
  if (told.said) {
    add(find("[data-said]"), [...gap(told), ...told.said.map(entry)]);
    return;
  }
  const feed = find(`[data-out="${told.stream === "stderr" ? "stderr" : "stdout"}"]`);
  if (feed && told.stream === "stderr") feed.closest("details").open = true;
  add(feed, [...gap(told), document.createTextNode(told.text)]);
}

function fact(label, value) {
  const box = make("div");
  const told = make("dd");
  told.append(...value);
  box.append(make("dt", label), told);
  return box;
}

function capability(name) {
  const code = make("code", name);
  if (name.startsWith("role::") || name.startsWith("engine::")) return code;
  const link = make("a");
  link.href = `/capabilities/${encodeURIComponent(name)}`;
  link.append(code);
  return link;
}

function call(told) {
  const denied = told.decision === "deny";
  const made = make("li", "", `call ${denied ? "deny" : "allow"}`);
  const head = make("p");
  const time = make("time", "now");
  time.dateTime = told.at;
  time.title = told.at;
  const about = make("span", "", "quiet small");
  about.append(time, ` · judged in ${told.latency_ms.toFixed(1)} ms`);
  head.append(make("span", denied ? "refused" : "allowed", `status ${denied ? "deny" : "allow"}`), " ", make("b", told.tool), " ");
  if (told.moment === "after") head.append(make("span", "after the call", "badge quiet"), " ");
  if (told.moment === "atom") head.append(make("span", "atom", "badge quiet"), " ");
  if (told.agent) head.append(make("span", told.agent, "badge quiet"), " ");
  head.append(about);
  made.append(head);
  if (told.about) made.append(make("pre", told.about));
  if (denied) {
    const facts = make("dl");
    if (told.capability) {
      const by = [capability(told.capability)];
      if (told.broken) by.push(" ", make("span", "the gate broke; this is no violation", "badge warn"));
      facts.append(fact(told.broken ? "Broke" : "Refused by", by));
    }
    if (told.rule) facts.append(fact("The rule that matched", [make("code", told.rule)]));
    facts.append(fact("The agent was told", [told.reason ?? ""]));
    made.append(facts);
  } else if (told.broken) made.append(make("p", "Its gate broke and let it through.", "bad"));
  for (const note of told.notes) made.append(make("p", note, "small quiet"));
  return made;
}

function follow() {
  source?.close();
  const place = find("[data-attempt]");
  const sign = find("[data-following]");
  if (!place) return;
  main.querySelectorAll(".feed").forEach(toEnd);
  if ("ended" in place.dataset || over || document.hidden) return;
  const [stdout, stderr, gate] = seen?.split("-") ?? [place.dataset.stdout, place.dataset.stderr, place.dataset.gate];
  source = new EventSource(`${place.dataset.attempt}?${new URLSearchParams({ stdout, stderr, gate, readable: find("[data-said]") !== null })}`);
  source.addEventListener("open", () => { sign.hidden = false; sign.classList.remove("away"); });
  source.addEventListener("error", () => sign.classList.add("away"));
  source.addEventListener("output", (message) => {
    seen = message.lastEventId;
    output(JSON.parse(message.data));
  });
  source.addEventListener("gate", (message) => {
    seen = message.lastEventId;
    const told = JSON.parse(message.data).call;
    if (told.moment === "check") return;
    find("[data-none]")?.remove();
    add(find("[data-calls]"), [call(told)]);
  });
  source.addEventListener("state", (message) => {
    if (!JSON.parse(message.data).ended) return;
    over = true;
    source.close();
    sign.hidden = true;
  });
}

// The page was asked for anew: it holds everything up to the places it names, and the stream goes on from there.
document.addEventListener("keisei:renewed", () => { seen = null; over = false; follow(); });
document.addEventListener("visibilitychange", follow);
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => { if (event.persisted) follow(); });
follow();
