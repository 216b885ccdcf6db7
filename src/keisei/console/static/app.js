// What every page has beside its HTML: theme, keys, times that go on, and the page that follows what happens.
// Without it everything can still be read and ordered.

const main = document.getElementById("main");
const find = (selector) => document.querySelector(selector);

// --- light and dark -------------------------------------------------------------------------------------------------
const themeSwitch = find("[data-theme-switch]");
function switchTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("keisei-theme", document.documentElement.dataset.theme); } catch { /* a private window */ }
  document.dispatchEvent(new CustomEvent("keisei:theme"));
}
themeSwitch.hidden = false;
themeSwitch.addEventListener("click", switchTheme);

// --- a word at the edge -----------------------------------------------------------------------------------------------
let toastEnds;
export function toast(words) {
  find("[data-toast]").textContent = words;
  clearTimeout(toastEnds);
  toastEnds = setTimeout(() => { find("[data-toast]").textContent = ""; }, 5000);
}

// --- times that go on -------------------------------------------------------------------------------------------------
// The server's clock counts: this machine's may be hours beside it.
let ahead = 0;
function setClock(now) {
  const there = Date.parse(now);
  if (!Number.isNaN(there)) ahead = there - Date.now();
}
setClock(main.dataset.now);

// In the words of the server, in the two largest units.
function span(seconds) {
  const [minutes, hours, days] = [60, 3600, 86400].map((unit) => Math.floor(seconds / unit));
  if (!minutes) return `${Math.floor(seconds)} s`;
  if (!hours) return minutes < 10 ? `${minutes} min ${Math.floor(seconds) % 60} s` : `${minutes} min`;
  if (!days) return `${hours} h ${minutes % 60} min`;
  return days === 1 ? "1 day" : `${days.toLocaleString("en")} days`;
}
function tick() {
  for (const each of document.querySelectorAll("main time[datetime]")) {
    const past = (Date.now() + ahead - Date.parse(each.dateTime)) / 1000;
    if (Number.isNaN(past)) continue;
    each.textContent = Math.abs(past) < 1 ? "now" : past > 0 ? `${span(past)} ago` : `in ${span(-past)}`;
  }
}

// --- an order is sent once --------------------------------------------------------------------------------------------
const sent = new Set();
const isPost = (form) => form.getAttribute("method")?.toLowerCase() === "post"; // `form.method` may be a field of it
const buttons = (form) => form.querySelectorAll("button:not([type=button], [type=reset])");

// On the window, behind everybody who sends a form in another way; and later, because a button's own value is sent too.
addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || !isPost(form)) return;
  if (sent.has(form)) { event.preventDefault(); return; }
  sent.add(form);
  setTimeout(() => buttons(form).forEach((each) => { each.disabled = true; }), 0);
});
addEventListener("pageshow", () => { // all of them: a browser may keep what was disabled over a reload
  for (const form of [...document.forms].filter(isPost)) buttons(form).forEach((each) => { each.disabled = false; });
  sent.clear();
});

// --- the page follows what happens ------------------------------------------------------------------------------------
const topics = () => new Set((main.dataset.topics || "").split(/\s+/).filter(Boolean));
const live = find("[data-live]");
const OLD_MS = 5000; // a page that was made so long ago may have missed something before it began to follow
const SLOWEST_MS = 30000;
let made = 0; // when this page was asked for, by the clock of the page
let due = null; // the page will be asked for
let asking = false; // the page is being asked for
let missed = false; // something has changed that is not shown yet
let failed = 0; // how often in a row it could not be had
let away = false; // nobody tells what changes

const isBusy = () => sent.size > 0 || document.querySelector("details.careful[open], main form :focus, dialog[open]") !== null;

function sign() {
  const word = away || failed ? "away" : missed && isBusy() ? "waits" : "live";
  live.classList.toggle("away", word !== "live");
  live.textContent = word;
  live.title = word === "waits" ? "There is news; this page shows it when you leave the field" : "This page follows what happens";
}

// Ask for this very page again and morph what differs: focus, scroll and open parts stay as they are.
export async function renew() {
  if (asking) { missed = true; return; }
  asking = true;
  missed = false;
  const began = performance.now();
  let outcome;
  try { outcome = await renewed(); } catch { outcome = "failed"; }
  asking = false;
  failed = outcome === "failed" ? failed + 1 : 0;
  if (outcome === "done") made = began;
  else missed = true;
  sign();
  if (missed && outcome !== "busy") soon();
}
// Whether it is done, has to wait, was of a page that was left, or could not be had. What is no more, or no longer ours to see, fails too: a page that
// says nothing of it would be taken for true.
async function renewed() {
  const address = location.href;
  const answer = await fetch(address, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(15000) });
  if (!answer.ok) return "failed";
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("main");
  if (!fresh) return "failed";
  if (isBusy()) return "busy";
  if (location.href !== address) return "left";
  setClock(fresh.dataset.now);
  main.dataset.topics = fresh.dataset.topics;
  if (!document.dispatchEvent(new CustomEvent("keisei:renewing", { cancelable: true, detail: page }))) return "done";
  for (const each of main.querySelectorAll("details[id]")) {
    const same = fresh.querySelector(`#${CSS.escape(each.id)}`);
    if (same) same.open = each.open;
  }
  await htmx.swap({ target: main, text: fresh.innerHTML, swap: "innerMorph" });
  document.dispatchEvent(new CustomEvent("keisei:renewed"));
  return "done";
}
// Something has changed. It is shown as soon as somebody sees it and nobody types: whoever leaves a field asks again.
function soon() {
  missed = true;
  if (due !== null || asking) return;
  const wait = failed ? Math.min(1000 * 2 ** failed, SLOWEST_MS) : Math.max(150, 1000 - (performance.now() - made));
  due = setTimeout(() => {
    due = null;
    if (document.hidden || isBusy()) sign(); else renew();
  }, wait);
}
const again = () => { if (missed) soon(); };
document.addEventListener("focusout", again);
document.addEventListener("toggle", again, true); // neither of these two rises to the document
document.addEventListener("close", again, true);
addEventListener("pageshow", again);
setInterval(() => { tick(); again(); }, 10000);

// A browser has six lines to one server and a stream keeps one: a page that nobody sees gives its line back.
let source = null;
let seen = "";
let coming = null;
let refused = 0;
function follow() {
  clearTimeout(coming);
  source?.close();
  source = null;
  if (topics().size === 0 || document.hidden) return;
  source = new EventSource(`/api/v1/stream${seen ? `?after=${seen}` : ""}`);
  live.hidden = false;
  source.addEventListener("open", () => {
    away = false;
    refused = 0;
    sign();
    if (!seen && performance.now() - made > OLD_MS) soon();
  });
  source.addEventListener("error", ({ target }) => {
    away = true;
    sign();
    // A browser comes again by itself where a line broke, and never where the server said no.
    if (target.readyState === EventSource.CLOSED) coming = setTimeout(follow, Math.min(2000 * 2 ** refused++, SLOWEST_MS));
  });
  source.addEventListener("changed", (message) => {
    const mine = topics();
    seen = message.lastEventId;
    if (JSON.parse(message.data).topics.some((topic) => topic === "*" || mine.has(topic))) soon();
  });
}
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => { if (event.persisted) follow(); });
document.addEventListener("visibilitychange", () => {
  follow();
  if (!document.hidden) { tick(); again(); }
});
follow();

// --- keys -------------------------------------------------------------------------------------------------------------
const rows = () => [...main.querySelectorAll("tbody tr")].filter((row) => row.querySelector("a[href]"));
let chosen = -1;
function choose(step) {
  const all = rows();
  if (all.length === 0) return;
  all.forEach((row) => row.classList.remove("chosen"));
  chosen = Math.min(Math.max(chosen + step, 0), all.length - 1);
  all[chosen].classList.add("chosen");
  all[chosen].scrollIntoView({ block: "nearest" });
}
document.addEventListener("keisei:renewed", () => rows()[chosen]?.classList.add("chosen"));
const places = Object.fromEntries([...document.querySelectorAll("nav.side a[data-key]")].map((each) => [each.dataset.key, each]));
const help = find("[data-help-dialog]");
function showHelp() {
  if (help.childElementCount === 0) {
    const title = document.createElement("h2");
    title.textContent = "Keyboard";
    const list = document.createElement("dl");
    list.className = "facts";
    const line = (keys, words) => {
      const box = document.createElement("div"), name = document.createElement("dt"), value = document.createElement("dd");
      for (const key of keys) { const cap = document.createElement("kbd"); cap.textContent = key; name.append(cap, " "); }
      value.textContent = words;
      box.append(name, value);
      list.append(box);
    };
    line(["/"], "search");
    line(["j", "k"], "next, previous row");
    line(["Enter"], "open the row");
    line(["t"], "light or dark");
    line(["Esc"], "close, or leave a field");
    for (const [key, place] of Object.entries(places)) line(["g", key], place.textContent);
    help.append(title, list);
  }
  help.showModal();
}
const helpButton = find("[data-help]");
helpButton.hidden = false;
helpButton.addEventListener("click", showHelp);
help.addEventListener("click", (event) => { if (event.target === help) help.close(); });

let going = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const typing = event.target.closest("input, textarea, select, [contenteditable], .cy");
  if (event.key === "Escape" && typing) { event.target.blur(); return; }
  if (typing) return;
  if (Date.now() - going < 1500 && places[event.key]) { going = 0; location.href = places[event.key].href; return; }
  const act = {
    "/": () => find("[data-search]").focus(),
    "?": showHelp,
    g: () => { going = Date.now(); },
    t: switchTheme,
    j: () => choose(1),
    k: () => choose(-1),
    Enter: () => { if (!event.target.closest("a, button, summary")) rows()[chosen]?.querySelector("a[href]").click(); },
  }[event.key];
  if (!act) return;
  if (event.key !== "Enter") event.preventDefault();
  act();
});
