// The forge: what is typed is looked at, kept in this browser, tried and written. Without it the form still works.

import { collect, fill, fillSide, mode, setMode, show, showEffects, sideOf } from "./forge_draft.js";
import { choose, fileOf, follow, listenToFiles, noticeOwn, showFiles } from "./forge_files.js";
import { addRow, list, listen, makeElement, prepare, rowsOf } from "./forge_rows.js";
import { breakageOf, diffOf, showBreakage, showProblems, showTrial, showVerdict, showWords } from "./forge_view.js";

const find = (selector) => document.querySelector(selector);
const root = find("[data-forge]");
const form = document.getElementById("forge");
const csrf = find('meta[name="csrf"]').content;
const edits = find('input[name="edits"]')?.value;
const mayOrder = root.dataset.mayOrder === "yes";
const KEY = `keisei-forge:${root.dataset.project}:${edits || "new"}`;
const WAIT_MS = 150;

// A schema in its other form; why not is an answer, too.
async function turned(path, body) {
  const told = await ask(path, body);
  if (told.draft === null) throw new Error(told.why);
  return told.draft;
}
async function ask(path, body, signal) {
  const answer = await fetch(`/api/v1/forge/${path}`, {
    method: "POST", signal, body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
  });
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  throw new Error([told.detail || `The console answers ${answer.status}.`, told.hint].filter(Boolean).join(" "));
}
const trouble = (words) => { find("[data-trouble]").textContent = words; };
const away = (error) => (error instanceof TypeError ? "The console does not answer. Your draft is kept in this browser." : error.message);

// --- the draft is kept ------------------------------------------------------------------------------------------------
let begun = "";
function saved() {
  try { return JSON.parse(localStorage.getItem(KEY)); } catch { return null; }
}
// A draft that an order has brought here stands in no other place.
const isKept = (draft) => root.dataset.unwritten === "yes" && draft.verb !== undefined;
function save(draft) {
  const isPristine = JSON.stringify(draft) === begun && !isKept(draft);
  try {
    if (isPristine) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify({ at: new Date().toISOString(), draft }));
  } catch { /* a private window, or a full one */ }
}
function forget() { try { localStorage.removeItem(KEY); } catch { /* likewise */ } }

function bringBack(kept) {
  fill(kept.draft);
  noticeOwn();
  for (const each of form.querySelectorAll("input")) each.dataset.touched = "";
}
function restore() {
  const kept = saved();
  if (!kept?.draft || JSON.stringify(kept.draft) === begun) return;
  const note = find("[data-restored]"), words = find("[data-restored-words]"), initial = JSON.parse(begun);
  const when = new Date(kept.at).toLocaleString();
  note.hidden = false;
  if (root.dataset.fresh === "yes") {
    const back = makeElement("button", "Bring it back", "small");
    back.type = "button";
    words.textContent = `Another draft of yours is kept here, of ${when}.`;
    words.after(" ", back);
    back.addEventListener("click", () => { bringBack(kept); note.hidden = true; soon(0); });
  } else {
    try { bringBack(kept); } catch { fill(initial); forget(); note.hidden = true; return; }
    words.textContent = `Your draft of ${when} is here again; it was not written yet.`;
  }
  find("[data-throw-away]").addEventListener("click", () => {
    if (root.dataset.fresh !== "yes") { fill(initial); noticeOwn(); }
    forget();
    note.hidden = true;
    find("#verb").focus();
    soon(0);
  });
}

// --- every keystroke is looked at -------------------------------------------------------------------------------------
let due = null, asking = null, last = null, fresh = Promise.resolve();
function soon(wait = WAIT_MS) {
  clearTimeout(due);
  last = null;
  review?.setAttribute("disabled", "");
  due = setTimeout(() => { fresh = look(true); }, wait);
}
async function look(isTyped = false) {
  clearTimeout(due);
  asking?.abort();
  asking = new AbortController();
  const mine = asking, { draft, places } = collect();
  if (isTyped || (isKept(draft) && saved() === null)) save(draft);
  try {
    const told = (await ask("look", { draft }, mine.signal)).look;
    if (mine !== asking) return;
    last = { look: told, draft };
    trouble("");
    showProblems(told, places);
    showVerdict(told, edits, places);
    showBreakage(told);
    showFiles(told);
    showWords(told);
    showUsual();
    if (review) review.disabled = !told.ready;
  } catch (error) {
    if (error.name !== "AbortError" && mine === asking) trouble(away(error));
  }
}

function showUsual() {
  for (const side of document.querySelectorAll("[data-side]")) {
    const isUsual = mode(side) === "rows" && rowsOf(list(side)).length === 0 && side.dataset.said === undefined;
    const file = fileOf(side.dataset.side), words = side.querySelector("[data-usual]");
    const names = file ? Object.keys(JSON.parse(file.content).properties || {}) : [];
    words.hidden = !isUsual;
    words.textContent = names.length ? `As long as there is no row, the usual one is taken: ${names.join(", ")}.` : "As long as there is no row, the usual one is taken.";
    side.querySelector("[data-take]").hidden = !isUsual || names.length === 0;
  }
  const name = find("#package").value.trim(), known = [...document.querySelectorAll("#packages option")].find((each) => each.value === name);
  const box = find("[data-package-words]");
  box.dataset.usual ??= box.textContent;
  box.textContent = !name || edits ? box.dataset.usual : known
    ? known.dataset.problem || `Is there: ${known.dataset.language}, ${known.dataset.backend}; has ${known.dataset.verbs || "no atom yet"}.`
    : "A new package is made with it.";
  showEffects();
}

// --- schemas in another form ------------------------------------------------------------------------------------------
const atomName = () => `${find("#package").value.trim() || "package"}::${find("#verb").value.trim() || "verb"}`;
const ways = new WeakMap();

async function turn(side, from, to) {
  const name = side.dataset.side, fault = side.querySelector("[data-turn-fault]"), base = { side: name, atom: atomName() };
  fault.textContent = "";
  const told = sideOf(side, undefined, from);
  const isEmpty = Object.keys(told).length === 0;
  const file = fileOf(name);
  try {
    if (to === "rows" && from === "example" && !isEmpty) fillSide(side, await turned("infer", { ...base, example: told.example }));
    else if (to === "rows" && from === "raw" && !isEmpty) fillSide(side, await turned("schema", { ...base, draft: told, form: "rows" }));
    else if (to === "raw") fillSide(side, isEmpty ? { raw: file?.content || "{}" } : await turned("schema", { ...base, draft: told, form: "raw" }));
    else if (to === "example") {
      const area = side.querySelector("[data-example]");
      const examples = file ? JSON.parse(file.content).examples : null;
      if (!area.value.trim() && examples?.length) area.value = JSON.stringify(examples[0], null, 2);
    }
  } catch (error) {
    fault.textContent = away(error);
    setMode(side, from);
  }
  if (mode(side) !== to && !fault.textContent) {
    fault.textContent = "Rows cannot say it; it stays JSON Schema.";
  }
  ways.set(side, mode(side));
  show(side);
  soon(0);
}

async function begin(side) {
  const file = fileOf(side.dataset.side);
  if (!file) return;
  try {
    fillSide(side, await turned("schema", { side: side.dataset.side, atom: atomName(), draft: { raw: file.content }, form: "rows" }));
    side.querySelector("[data-field]")?.focus();
  } catch (error) { side.querySelector("[data-turn-fault]").textContent = away(error); }
  soon(0);
}

function suggestedEffects() {
  const page = fileOf("page")?.content || "", part = /^side_effects:\n((?: {2}- .*\n)*)/m.exec(page), all = list(find('[data-list="effects"]'));
  if (!part || rowsOf(all).length) return;
  for (const line of part[1].split("\n").filter(Boolean)) {
    try { addRow(all, JSON.parse(line.slice(4))); } catch { /* written in another way */ }
  }
}

// --- trying and writing -----------------------------------------------------------------------------------------------
const review = find("[data-review]");
const dialog = find("[data-dialog]");

async function tryOut(button) {
  const text = find("[data-value]").value.trim(), { draft } = collect();
  let value = null;
  try { value = text ? JSON.parse(text) : null; } catch (error) { trouble(`Your own input is not JSON yet: ${error.message}`); find("[data-value]").focus(); return; }
  const buttons = document.querySelectorAll("[data-try]");
  buttons.forEach((each) => { each.disabled = true; });
  find("[data-tried]").replaceChildren(makeElement("p", "Trying …", "quiet"));
  try {
    showTrial((await ask("try", { draft, value })).tried);
    trouble("");
  } catch (error) { find("[data-tried]").replaceChildren(makeElement("p", away(error), "fault")); }
  buttons.forEach((each) => { each.disabled = false; });
  button.focus({ preventScroll: true });
  find("[data-tried]").scrollIntoView({ block: "nearest" });
}

async function openReview() {
  if (!mayOrder || dialog.open) return;
  if (last === null) { fresh = look(); await fresh; }
  if (!last?.look.ready) { find("[data-problems] button")?.focus(); return; }
  const { look: told, draft } = last, body = find("[data-dialog-body]"), foot = find("[data-dialog-foot]");
  const write = makeElement("button", `Write ${told.files.length} ${told.files.length === 1 ? "file" : "files"}`, "main");
  const cancel = makeElement("button", "Not yet"), fault = makeElement("p", "", "fault");
  const check = (words) => {
    const label = makeElement("label", undefined, "line"), box = makeElement("input");
    box.type = "checkbox";
    label.append(box, words);
    return [label, box];
  };
  const [knows, isKnown] = check("I know that this breaks whoever uses it"), [keeps, isKept] = check("Leave the files there even if they do not hold");
  const isBreaking = told.breakage?.answer === "breaking";
  write.type = cancel.type = "button";
  fault.setAttribute("role", "alert");
  body.replaceChildren(...(told.breakage && told.breakage.answer !== "compatible" ? [breakageOf(told.breakage)] : []), ...told.files.map(diffOf));
  foot.replaceChildren(...(isBreaking ? [knows] : []), keeps, cancel, write, fault);
  write.disabled = isBreaking;
  isKnown.addEventListener("change", () => { write.disabled = !isKnown.checked; });
  cancel.addEventListener("click", () => dialog.close());
  write.addEventListener("click", async () => {
    write.disabled = true;
    write.textContent = "Writing, and looking whether it holds …";
    try {
      const done = await ask("write", { draft, seen: told.digest, breaks: isKnown.checked, keep: isKept.checked, remember: true });
      if (done.written.status !== "undone") forget();
      location.assign(done.page);
    } catch (error) {
      fault.textContent = away(error);
      write.textContent = "Write";
      write.disabled = false;
    }
  });
  dialog.showModal();
  (isBreaking ? isKnown : write).focus();
}

// --- begin ------------------------------------------------------------------------------------------------------------
for (const each of document.querySelectorAll("[data-without]")) each.remove();
for (const each of document.querySelectorAll("[data-infer], [data-review], [data-try]")) each.hidden = false;
prepare(form);
listen(form);
listenToFiles();
for (const side of document.querySelectorAll("[data-side]")) { ways.set(side, mode(side)); show(side); }
showEffects();
begun = JSON.stringify(collect().draft);
restore();
for (const side of document.querySelectorAll("[data-side]")) ways.set(side, mode(side));

form.addEventListener("submit", (event) => { event.preventDefault(); soon(0); });
const typed = (event) => {
  if (event.target.matches("[data-value]")) return;
  event.target.dataset.touched = "";
  soon();
};
root.addEventListener("input", typed);
root.addEventListener("forge:changed", () => soon(0));
root.addEventListener("focusout", (event) => { if (event.target.matches("#package, #verb")) event.target.dataset.touched = ""; });
root.addEventListener("focusin", (event) => {
  const side = event.target.closest("[data-side]");
  if (side) follow(side.dataset.side);
  else if (form.contains(event.target)) follow("page");
});
root.addEventListener("change", (event) => {
  const side = event.target.closest("[data-side]");
  if (event.target.matches("[data-mode]")) turn(side, ways.get(side), event.target.value);
  if (event.target.matches("[data-effects-mode]")) { if (event.target.value === "own") suggestedEffects(); showEffects(); soon(0); }
});
root.addEventListener("click", (event) => {
  const button = event.target.closest("button"), side = event.target.closest("[data-side]");
  if (!button) return;
  if (button.matches("[data-infer]")) { setMode(side, "rows"); turn(side, "example", "rows"); }
  else if (button.matches("[data-take]")) begin(side);
  else if (button.matches("[data-try]")) { event.preventDefault(); tryOut(button); }
  else if (button.matches("[data-review]")) openReview();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !dialog.open) { event.preventDefault(); openReview(); }
});
choose(edits ? "function" : "page");
fresh = look();
