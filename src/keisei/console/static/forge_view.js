// What the forge answers, on the page: everything is text, and nothing that has the focus is made anew.

import { makeElement } from "./forge_rows.js";

const find = (selector) => document.querySelector(selector);
const badge = (word, kind) => makeElement("span", word, `badge ${kind}`);
const TOPICS = { parallel: "Side by side", retry: "Again", cache: "Kept", reach: "Sandbox" };
const HOW = { held: "good", violated: "bad", compatible: "good", breaking: "bad" };
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// --- what is wrong ----------------------------------------------------------------------------------------------------
const isUntouched = (problem, places) => {
  const field = places.get(problem.field);
  return (problem.field === "package" || problem.field === "verb" || problem.field === "description") && field.value === "" && field.dataset.touched === undefined;
};

function slotOf(problem, places) {
  const named = find(`[data-fault="${CSS.escape(problem.field)}"]`);
  if (named) return [named, places.get(problem.field)];
  let path = problem.field;
  while (path) {
    const place = places.get(path);
    if (place) {
      const holder = place.closest("[data-row]") || place.closest("[data-side], [data-list]");
      const slot = holder && [...holder.querySelectorAll("[data-faults]")].find((each) => each.parentElement === holder);
      if (slot) return [slot, place];
    }
    const base = find(`[data-fault="${CSS.escape(path)}"]`);
    if (base) return [base, places.get(path)];
    const shorter = path.replace(/(\.[^.[\]]+|\[\d+\])$/, "");
    if (shorter === path) break;
    path = shorter;
  }
  return [null, null];
}

let serial = 0;
export function showProblems(look, places) {
  const told = new Map(), bad = new Set();
  const shown = look.problems.filter((each) => !isUntouched(each, places));
  const wrong = new Map();
  for (const problem of shown) {
    const [slot, field] = slotOf(problem, places);
    if (!slot) continue;
    told.set(slot, [...(told.get(slot) || []), `${problem.message}${problem.hint ? `; ${problem.hint}` : ""}`]);
    if (problem.severity === "error") bad.add(slot);
    if (field?.matches("input, select, textarea")) wrong.set(field, [slot, problem.severity]);
  }
  for (const slot of document.querySelectorAll("[data-fault], [data-faults]")) {
    const words = (told.get(slot) || []).join(" · ");
    if (slot.textContent !== words) slot.textContent = words;
    slot.classList.add("fault");
    slot.classList.toggle("warning", !bad.has(slot));
  }
  for (const field of document.querySelectorAll("[aria-invalid]")) if (!wrong.has(field)) { field.removeAttribute("aria-invalid"); field.removeAttribute("aria-describedby"); }
  for (const [field, [slot, severity]] of wrong) {
    if (!slot.id) slot.id = `fault-${(serial += 1)}`;
    field.setAttribute("aria-describedby", slot.id);
    if (severity === "error") field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
  }
  listed(look, shown, places);
}

function listed(look, shown, places) {
  const all = [];
  const line = (severity, word, place, each, go) => {
    const item = makeElement("li"), button = makeElement("button", place, "link");
    button.type = "button";
    button.addEventListener("click", go);
    item.append(badge(word, severity === "error" ? "bad" : "warn"), " ", button, " ", each.message);
    if (each.hint) item.append(" ", makeElement("span", each.hint, "quiet"));
    all.push(item);
  };
  for (const each of shown) line(each.severity, each.severity, each.field, each, () => {
    const [slot, field] = slotOf(each, places);
    (field?.matches("input, select, textarea") ? field : slot?.parentElement.querySelector("input, select, textarea"))?.focus();
  });
  for (const each of look.lint) line(each.severity, each.code, `${each.path}${each.line ? `:${each.line}` : ""}`, each, () => {
    document.dispatchEvent(new CustomEvent("forge:go", { detail: each }));
  });
  const held = document.activeElement?.closest("[data-problems]") !== null && document.activeElement;
  if (!held) find("[data-problems]").replaceChildren(...all);
}

export function showVerdict(look, edits, places) {
  const box = find("[data-verdict]");
  const isQuiet = look.problems.some((each) => isUntouched(each, places) && each.severity === "error");
  const errors = [...look.problems, ...look.lint].filter((each) => each.severity === "error").length;
  const files = plural(look.files.length, "file");
  const [word, kind, words] = look.ready
    ? ["ready", "good", `${files} would be written.`]
    : edits && look.files.length === 0 && errors === 0
      ? ["as it is", "quiet", "Nothing would change."]
      : isQuiet ? ["begin", "quiet", "Name a package and a verb; everything else has a default."] : ["not ready", "bad", `${plural(errors, "thing")} to put right.`];
  if (box.textContent !== `${word} ${words}`) box.replaceChildren(badge(word, kind), ` ${words}`);
}

// --- what follows -----------------------------------------------------------------------------------------------------
export function showWords(look) {
  find("[data-follows]").hidden = look.words.length === 0;
  find("[data-words]").replaceChildren(...look.words.map((each) => {
    const box = makeElement("div");
    box.append(makeElement("dt", TOPICS[each.topic]), makeElement("dd", each.text));
    return box;
  }));
  find("[data-neighbours]").hidden = look.neighbours.length === 0;
  find("[data-neighbours-count]").textContent = plural(look.neighbours.length, "atom");
  find("[data-neighbours-list]").replaceChildren(...look.neighbours.map((atom) => {
    const item = makeElement("li"), link = makeElement("a", atom);
    link.href = `/atoms/${encodeURIComponent(atom)}`;
    item.append(link);
    return item;
  }));
}

export function breakageOf(broken) {
  const box = makeElement("div"), head = makeElement("p"), changes = makeElement("ul", undefined, "plain");
  const words = { compatible: "Nobody who uses it as it is notices.", undecided: "Whether somebody notices cannot be decided.", breaking: "Somebody who uses it as it is notices." };
  head.append(badge(broken.answer, HOW[broken.answer] || "warn"), ` ${words[broken.answer]}`);
  for (const each of broken.changes) {
    const item = makeElement("li", each.message);
    if (each.hint) item.append(" ", makeElement("span", each.hint, "quiet"));
    changes.append(item);
  }
  box.append(head, changes);
  return box;
}

export function showBreakage(look) {
  find("[data-breakage]").hidden = !look.breakage || (look.breakage.answer === "compatible" && look.files.length === 0);
  if (look.breakage) find("[data-breakage-words]").replaceChildren(breakageOf(look.breakage));
}

// --- differences ------------------------------------------------------------------------------------------------------
export function diffOf(file) {
  const box = makeElement("details", undefined, "change"), head = makeElement("summary"), text = makeElement("pre", undefined, "patch");
  box.open = true;
  head.append(makeElement("code", file.path), " ", badge(file.was === null ? "new" : "changed", file.was === null ? "good" : "busy"));
  text.tabIndex = 0;
  text.setAttribute("role", "region");
  text.setAttribute("aria-label", `Changes of ${file.path}`);
  for (const line of file.diff.replace(/\n$/, "").split("\n")) {
    if (line.startsWith("--- ") || line.startsWith("+++ ")) continue;
    text.append(makeElement("span", `${line}\n`, { "+": "plus", "-": "minus", "@": "at" }[line[0]] || "same"));
  }
  box.append(head, text);
  return box;
}

// --- a trial ----------------------------------------------------------------------------------------------------------
export function showTrial(tried) {
  const all = [], head = makeElement("p");
  head.append(badge(tried.ok ? "works" : "does not work", tried.ok ? "good" : "bad"));
  if (tried.examples.length) head.append(" confinement held: ", makeElement("strong", tried.isolation));
  all.push(head);
  for (const each of tried.problems) all.push(makeElement("p", `${each.field}: ${each.message}`, "fault"));
  for (const each of tried.lint) all.push(makeElement("p", `${each.path}${each.line ? `:${each.line}` : ""}: ${each.message}`, "fault"));
  for (const each of tried.examples) all.push(...example(each));
  find("[data-tried]").replaceChildren(...all);
}

function example(each) {
  const title = makeElement("h3"), pair = makeElement("div", undefined, "pair"), all = [title];
  title.append(badge(each.outcome, each.outcome === "ok" || each.outcome === "declared" ? "good" : "bad"), ` ${each.example} `, makeElement("small", `${Math.round(each.duration_ms)} ms`, "quiet"));
  if (each.code) {
    const failure = makeElement("p");
    failure.append(makeElement("strong", each.code), ` ${each.message || ""}`);
    all.push(failure);
  }
  for (const [word, value] of [["in", each.input], ["out", each.output]]) {
    const box = makeElement("div"), text = makeElement("pre", value === null ? "nothing" : JSON.stringify(value, null, 2), "text");
    text.tabIndex = 0;
    text.setAttribute("role", "region");
    text.setAttribute("aria-label", `What went ${word}`);
    box.append(makeElement("p", word, "small quiet"), text);
    pair.append(box);
  }
  all.push(pair);
  if (each.said) all.push(makeElement("p", "It said", "small quiet"), makeElement("pre", each.said, "text"));
  return all;
}
