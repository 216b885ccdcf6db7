// The files that a draft makes, one tab each: what differs from the saved file or from a moment ago is marked.

import { makeElement } from "./forge_rows.js";

const find = (selector) => document.querySelector(selector);
const FRONT = /^---\n[\s\S]*?\n---\n/;
const edits = document.querySelector('input[name="edits"]') !== null;
const before = new Map();
const marks = new Map();
let files = [], lint = [], tabs = [], chosen = "page", isPinned = false;
const owning = { code: document.getElementById("code").value !== "", body: document.getElementById("body").value !== "" };
const first = { code: document.getElementById("code").value, body: document.getElementById("body").value };

function nameOf(path) {
  const file = path.slice(path.indexOf("/") + 1);
  if (file.endsWith("-input.json")) return ["input", "Input"];
  if (file.endsWith("-output.json")) return ["output", "Output"];
  if (file.startsWith("tests/") || file.includes("/tests/")) return ["test", "Test"];
  if (/(^|\/)atoms\/[^/]+\.md$/.test(file)) return ["page", "Page"];
  if (/(^|\/)atoms\/(?!mod\.rs$)[^/]+\.(py|rs)$/.test(file)) return ["function", "Function"];
  return [file, file.split("/").pop()];
}
const ORDER = ["page", "input", "output", "function", "test"];
const rank = (key) => (ORDER.indexOf(key) + 1 || ORDER.length + 1);

// The lines that are not as they were: those that the diff adds, or those between what is the same at both ends.
function changedLines(file, old) {
  const lines = new Set();
  if (file.was !== null && file.diff.startsWith("---")) {
    let at = 0;
    for (const line of file.diff.split("\n").slice(2)) {
      const hunk = /^@@ -\S+ \+(\d+)/.exec(line);
      if (hunk) at = Number(hunk[1]);
      else if (line.startsWith("+")) lines.add(at++);
      else if (line.startsWith(" ")) at += 1;
    }
    return lines;
  }
  if (old === undefined) return lines;
  const was = old.split("\n"), now = file.content.split("\n");
  let top = 0, end = 0;
  while (top < now.length && top < was.length && now[top] === was[top]) top += 1;
  while (end < now.length - top && end < was.length - top && now[now.length - 1 - end] === was[was.length - 1 - end]) end += 1;
  for (let line = top; line < now.length - end; line += 1) lines.add(line + 1);
  return lines;
}

export function showFiles(look) {
  for (const file of look.files) {
    const old = before.get(file.path);
    if (old !== file.content) marks.set(file.path, changedLines(file, old));
    before.set(file.path, file.content);
  }
  files = look.files.map((file) => { const [key, word] = nameOf(file.path); return { ...file, key, word }; });
  for (const [key, word, own] of [["page", "Page", "body"], ["function", "Function", "code"]]) {
    if (owning[own] && !files.some((file) => file.key === key)) files.push({ key, word, path: "", content: "" });
  }
  files.sort((one, other) => rank(one.key) - rank(other.key));
  lint = look.lint;
  drawTabs();
  drawFile();
}

function drawTabs() {
  const bar = find("[data-tabs]");
  bar.hidden = files.length === 0;
  find("[data-no-files]").hidden = files.length > 0;
  if (!files.some((file) => file.key === chosen)) chosen = files[0]?.key || "page";
  const wanted = files.map((file) => file.key).join("\n");
  if (tabs.map((tab) => tab.dataset.key).join("\n") !== wanted) {
    const had = bar.contains(document.activeElement);
    tabs = files.map((file) => {
      const tab = makeElement("button");
      tab.type = "button";
      tab.setAttribute("role", "tab");
      tab.dataset.key = file.key;
      tab.id = `tab-${files.indexOf(file)}`;
      tab.setAttribute("aria-controls", "file-panel");
      return tab;
    });
    bar.replaceChildren(...tabs);
    if (had) tabs.find((tab) => tab.dataset.key === chosen)?.focus();
  }
  tabs.forEach((tab, index) => {
    const file = files[index], wrong = lint.filter((each) => each.path === file.path && each.severity === "error").length;
    const isChosen = file.key === chosen;
    tab.textContent = wrong ? `${file.word} (${wrong} wrong)` : file.word;
    tab.classList.toggle("bad", wrong > 0);
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
  });
}

const ownOf = (key) => ({ function: "code", page: "body" })[key];

function drawFile() {
  const file = files.find((each) => each.key === chosen);
  const panel = find("[data-file-panel]");
  panel.hidden = !file;
  const own = file && ownOf(file.key);
  for (const each of ["code", "body"]) find(`[data-own="${each}"]`).hidden = own !== each || !owning[each];
  if (!file) return;
  panel.setAttribute("aria-labelledby", tabs.find((tab) => tab.dataset.key === chosen)?.id || "files-title");
  const text = find("[data-file]");
  find("[data-file-path]").textContent = file.path;
  find("[data-file-words]").textContent = file.path === "" ? "unchanged" : file.was === null ? "new" : "changed";
  find("[data-own-edit]").hidden = !own || owning[own] || file.path === "";
  find("[data-own-drop]").hidden = !own || !owning[own];
  find("[data-own-drop]").textContent = edits ? "Back to what is saved" : "Take the made one";
  text.hidden = file.path === "" || (own === "code" && owning.code);
  if (text.hidden) return;
  const fresh = marks.get(file.path) || new Set();
  const wrong = new Map(lint.filter((each) => each.path === file.path && each.line).map((each) => [each.line, each]));
  const lines = file.content.replace(/\n$/, "").split("\n");
  text.replaceChildren(...lines.map((line, index) => {
    const made = makeElement("span", `${line}\n`);
    if (fresh.has(index + 1)) made.classList.add("fresh");
    if (wrong.has(index + 1)) { made.classList.add("wrong"); made.title = wrong.get(index + 1).message; }
    return made;
  }));
}

export function choose(key, byHand = false) {
  if (byHand) isPinned = true;
  chosen = key;
  drawTabs();
  drawFile();
}
export const follow = (key) => { if (!isPinned && files.some((file) => file.key === key)) choose(key); };
export const fileOf = (key) => files.find((file) => file.key === key && file.path);

// What a filled form says about who writes the function and the page.
export function noticeOwn() {
  for (const each of ["code", "body"]) owning[each] = document.getElementById(each).value !== "";
}

function changed(own) {
  const area = document.getElementById(own);
  area.dispatchEvent(new Event("input", { bubbles: true }));
  drawFile();
  return area;
}

export function listenToFiles() {
  const bar = find("[data-tabs]");
  find("[data-file-panel]").id = "file-panel";
  bar.addEventListener("click", (event) => { const tab = event.target.closest("[role=tab]"); if (tab) choose(tab.dataset.key, true); });
  bar.addEventListener("keydown", (event) => {
    const at = tabs.findIndex((tab) => tab.dataset.key === chosen);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    choose(tab.dataset.key, true);
    tab.focus();
  });
  find("[data-own-edit]").addEventListener("click", () => {
    const file = files.find((each) => each.key === chosen), own = ownOf(chosen);
    owning[own] = true;
    document.getElementById(own).value = own === "body" ? file.content.replace(FRONT, "") : file.content;
    changed(own).focus();
  });
  find("[data-own-drop]").addEventListener("click", () => {
    const own = ownOf(chosen);
    owning[own] = edits;
    document.getElementById(own).value = edits ? first[own] : "";
    changed(own);
    find("[data-own-edit]").focus();
  });
  document.addEventListener("forge:go", (event) => {
    choose(nameOf(event.detail.path)[0], true);
    find("[data-file]").children[(event.detail.line || 1) - 1]?.scrollIntoView({ block: "center" });
  });
}
