// Rows of the forge's form: added, removed, moved by keys and by dragging, collected in the order they stand in.

const NUMBERS = ["minimum", "maximum", "min_length", "max_length"];
export const makeElement = (tag, words, kind) => {
  const made = document.createElement(tag);
  if (words !== undefined) made.textContent = words;
  if (kind) made.className = kind;
  return made;
};
export const list = (holder) => holder.querySelector("[data-rows]");
export const rowsOf = (ol) => [...ol.children].filter((each) => each.matches("[data-row]"));
const own = (row, selector) => [...row.querySelectorAll(selector)].filter((each) => each.closest("[data-row]") === row);
const field = (row, name) => own(row, `[data-field="${name}"]`)[0];
const changed = (from) => from.dispatchEvent(new CustomEvent("forge:changed", { bubbles: true }));

function kindOf(ol) {
  const holder = ol.closest("[data-list]");
  return holder ? holder.dataset.list : "rows";
}

export function addRow(ol, data, after) {
  const template = document.querySelector(`template[data-template="${kindOf(ol)}"]`);
  const row = template.content.firstElementChild.cloneNode(true);
  for (const each of row.querySelectorAll("[name]")) each.removeAttribute("name");
  ol.insertBefore(row, after ? after.nextElementSibling : null);
  dress(row);
  if (data) fillRow(row, data);
  suit(row);
  return row;
}

export function fillRows(ol, all) {
  ol.replaceChildren();
  for (const each of all) addRow(ol, each);
}

// The form works without this file; with it, what only stands there for that is taken away.
export function prepare(form) {
  for (const each of form.querySelectorAll("[data-spare]")) each.remove();
  for (const row of form.querySelectorAll("[data-row]")) { dress(row); suit(row); }
  for (const each of form.querySelectorAll("[data-add]")) each.hidden = false;
}

function dress(row) {
  for (const each of row.querySelectorAll("[data-grip], [data-tools], [data-add]")) each.hidden = false;
}

// What a type does not have is not shown, and not collected.
export function suit(row) {
  const type = field(row, "type");
  if (!type) return;
  for (const each of own(row, "[data-for]")) each.hidden = !each.dataset.for.split(" ").includes(type.value);
  const inner = own(row, "[data-inner]")[0];
  if (inner) inner.hidden = type.value !== "object" && !(type.value === "array" && field(row, "items").value === "object");
}

const isShown = (control) => !control.closest("[data-for]")?.hidden;

function fillRow(row, data) {
  for (const control of own(row, "[data-field]")) {
    const value = data[control.dataset.field];
    if (control.type === "checkbox") control.checked = value === undefined ? control.dataset.field === "required" : value;
    else if (control.dataset.field === "choices") control.value = (value || []).join("\n");
    else if (value !== undefined && value !== null) control.value = typeof value === "string" ? value : JSON.stringify(value);
  }
  const inner = own(row, "[data-inner]")[0];
  if (inner && data.fields) fillRows(list(inner), data.fields);
  if (data.fields?.length === 0) row.dataset.said = "";
  const limits = own(row, "[data-limits]")[0];
  if (limits && (data.nullable || data.choices?.length || ["items", ...NUMBERS].some((name) => data[name] !== undefined && data[name] !== null))) limits.open = true;
}

// The row as the draft has it; null for one in which nothing was said yet. `place` is told where each field stands.
export function collectRow(row, path, place) {
  const told = {};
  for (const control of own(row, "[data-field]")) {
    const name = control.dataset.field;
    place(`${path}.${name}`, control);
    if (!isShown(control)) continue;
    if (control.type === "checkbox") told[name] = control.checked;
    else if (name === "choices") { const all = control.value.split("\n").filter(Boolean); if (all.length) told[name] = all; }
    else if (NUMBERS.includes(name)) { if (control.value !== "" && Number.isFinite(Number(control.value))) told[name] = Number(control.value); }
    else if (control.value !== "") told[name] = control.value;
  }
  place(path, row);
  const inner = own(row, "[data-inner]")[0];
  if (inner && !inner.hidden) {
    const fields = collectRows(list(inner), `${path}.fields`, place);
    if (fields.length || row.dataset.said !== undefined) told.fields = fields;
  }
  const isBlank = !["name", "description", "example", "code", "domain", "fields"].some((name) => told[name] !== undefined);
  return isBlank ? null : told;
}

export function collectRows(ol, path, place) {
  const all = [];
  for (const row of rowsOf(ol)) {
    const told = collectRow(row, `${path}[${all.length}]`, place);
    if (told) all.push(told);
  }
  return all;
}

// --- moving ---------------------------------------------------------------------------------------------------------
function move(row, step) {
  const other = step < 0 ? row.previousElementSibling : row.nextElementSibling;
  if (!other) return;
  const active = document.activeElement;
  if (step < 0) other.before(row); else other.after(row);
  if (row.contains(active)) active.focus();
  changed(row);
}

function remove(row) {
  const ol = row.parentElement;
  const near = row.nextElementSibling || row.previousElementSibling;
  row.remove();
  ol.closest("[data-row], [data-side]")?.setAttribute("data-said", "");
  const next = near?.querySelector("[data-field]") || ol.parentElement.querySelector(":scope > [data-add], :scope > .actions > [data-add]");
  next?.focus();
  changed(ol);
}

export function listen(form) {
  form.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const row = event.target.closest("[data-row]");
    if (!button) return;
    if (button.matches("[data-up]")) { move(row, -1); button.focus(); }
    else if (button.matches("[data-down]")) { move(row, 1); button.focus(); }
    else if (button.matches("[data-remove]")) remove(row);
    else if (button.matches("[data-add]")) {
      const made = addRow(list(button.closest("[data-inner], [data-panel], [data-list]")));
      made.querySelector("[data-field]").focus();
      changed(made);
    }
  });
  form.addEventListener("change", (event) => {
    if (event.target.matches('[data-field="type"], [data-field="items"]')) suit(event.target.closest("[data-row]"));
  });
  form.addEventListener("keydown", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row) return;
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      move(row, event.key === "ArrowUp" ? -1 : 1);
    } else if (event.key === "Enter" && !event.ctrlKey && event.target.matches("input")) {
      event.preventDefault();
      addRow(row.parentElement, null, row).querySelector("[data-field]").focus();
    }
  });
  drag(form);
}

function drag(form) {
  let dragged = null;
  form.addEventListener("dragstart", (event) => {
    if (!event.target.closest?.("[data-grip]")) return;
    dragged = event.target.closest("[data-row]");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", "");
    event.dataTransfer.setDragImage(dragged, 10, 10);
    dragged.classList.add("dragged");
  });
  form.addEventListener("dragover", (event) => {
    const over = dragged && [...dragged.parentElement.children].find((each) => each.contains(event.target));
    if (!dragged || !dragged.parentElement.contains(event.target)) return;
    event.preventDefault();
    if (!over || over === dragged) return;
    const box = over.getBoundingClientRect();
    if (event.clientY < box.top + box.height / 2) over.before(dragged); else over.after(dragged);
  });
  form.addEventListener("drop", (event) => { if (dragged) event.preventDefault(); });
  form.addEventListener("dragend", () => {
    if (!dragged) return;
    dragged.classList.remove("dragged");
    changed(dragged);
    dragged = null;
  });
}
