// The draft: what the form holds, and the form filled from one. Where each field stands is remembered for what is wrong.

import { collectRows, fillRows, list, rowsOf } from "./forge_rows.js";

const byId = (id) => document.getElementById(id);
const WORDS = ["package", "verb", "description", "language", "backend", "stability"];
const FLAGS = { yes: true, no: false };
const flagWord = (value) => (value === true ? "yes" : value === false ? "no" : "");

export const mode = (side) => side.querySelector("[data-mode]:checked").value;
export const setMode = (side, name) => { side.querySelector(`[data-mode][value="${name}"]`).checked = true; show(side); };
const whole = (side, name) => side.querySelector(`[data-whole="${name}"]`);

export function show(side) {
  for (const each of side.querySelectorAll(":scope > [data-panel]")) each.hidden = each.dataset.panel !== mode(side);
}

// One schema as the draft has it, in the way that is chosen or in one that is named.
export function sideOf(side, place = () => {}, way = mode(side)) {
  const name = side.dataset.side;
  if (way === "raw" || way === "example") {
    const area = side.querySelector(`[data-${way}]`);
    place(`${name}.${way}`, area);
    return area.value.trim() ? { [way]: area.value } : {};
  }
  const rows = collectRows(list(side), `${name}.rows`, place);
  if (rows.length === 0 && side.dataset.said === undefined) return {};
  const told = { rows };
  for (const word of ["title", "description"]) if (whole(side, word).value) told[word] = whole(side, word).value;
  const closed = FLAGS[whole(side, "closed").value];
  if (closed !== undefined) told.closed = closed;
  const examples = whole(side, "examples").value.trim();
  if (examples) {
    let found = examples;
    try { found = JSON.parse(examples); } catch { /* lint says that it fits nothing */ }
    told.examples = Array.isArray(found) ? found : [found];
  }
  return told;
}

export function fillSide(side, told) {
  const text = (value) => (value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2));
  const has = (name) => told[name] !== undefined && told[name] !== null;
  fillRows(list(side), told.rows || []);
  if (has("rows")) side.dataset.said = ""; else delete side.dataset.said;
  for (const word of ["title", "description"]) whole(side, word).value = told[word] || "";
  whole(side, "closed").value = flagWord(told.closed);
  whole(side, "examples").value = told.examples?.length ? JSON.stringify(told.examples) : "";
  if (has("raw")) side.querySelector("[data-raw]").value = text(told.raw);
  if (has("example")) side.querySelector("[data-example]").value = text(told.example);
  setMode(side, has("raw") ? "raw" : has("rows") ? "rows" : has("example") ? "example" : "rows");
}

const sides = () => [...document.querySelectorAll("[data-side]")];
const listNamed = (name) => list(document.querySelector(`[data-list="${name}"]`));
const ownsEffects = () => document.querySelector('[data-effects-mode][value="own"]').checked;

export function showEffects() {
  const box = document.querySelector('[data-list="effects"]');
  box.querySelector("[data-panel]").hidden = !ownsEffects();
  box.querySelector("[data-no-effects]").hidden = !ownsEffects() || rowsOf(list(box)).length > 0;
}

// The draft, and where every field of it stands.
export function collect() {
  const places = new Map();
  const place = (path, element) => places.set(path, element);
  const draft = { kind: document.querySelector('[name="kind"]:checked').value };
  for (const name of WORDS) {
    place(name, byId(name));
    if (byId(name).value.trim()) draft[name] = byId(name).value.trim();
  }
  for (const name of ["code", "body"]) {
    place(name, byId(name));
    if (byId(name).value.trim()) draft[name] = byId(name).value;
  }
  place("timeout_ms", byId("timeout_ms"));
  const time = Number(byId("timeout_ms").value);
  draft.timeout_ms = Number.isInteger(time) ? time : 0;
  place("keywords", byId("keywords"));
  const keywords = byId("keywords").value.split(",").map((each) => each.trim()).filter(Boolean);
  if (keywords.length) draft.keywords = keywords;
  const twice = FLAGS[byId("idempotent").value];
  if (twice !== undefined) draft.idempotent = twice;
  for (const side of sides()) {
    place(side.dataset.side, side);
    draft[side.dataset.side] = sideOf(side, place);
  }
  const errors = collectRows(listNamed("errors"), "errors", place);
  if (errors.length) draft.errors = errors;
  if (ownsEffects()) draft.effects = collectRows(listNamed("effects"), "effects", place);
  const edits = document.querySelector('input[name="edits"]');
  if (edits) draft.edits = edits.value;
  return { draft, places };
}

export function fill(draft) {
  for (const name of WORDS) byId(name).value = draft[name] || (name === "stability" ? "experimental" : "");
  for (const name of ["code", "body"]) byId(name).value = draft[name] || "";
  byId("timeout_ms").value = draft.timeout_ms ?? 30000;
  byId("keywords").value = (draft.keywords || []).join(", ");
  byId("idempotent").value = flagWord(draft.idempotent);
  document.querySelector(`[name="kind"][value="${CSS.escape(draft.kind || "command")}"]`).checked = true;
  for (const side of sides()) fillSide(side, draft[side.dataset.side] || {});
  fillRows(listNamed("errors"), draft.errors || []);
  fillRows(listNamed("effects"), draft.effects || []);
  document.querySelector(`[data-effects-mode][value="${draft.effects ? "own" : "suggested"}"]`).checked = true;
  showEffects();
}
