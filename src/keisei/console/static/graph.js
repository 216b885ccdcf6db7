// The graph, to walk in. The server has drawn it already: this reads that drawing, and shows it as one that moves.
// Every step is a page of its own, with its own address; without this the links of the drawing do the same.

const find = (selector) => document.querySelector(selector);
const [box, still, ask, word] = ["box", "still", "ask", "word"].map((name) => find(`[data-graph-${name}]`));
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const SHAPES = { atom: "ellipse", capability: "hexagon", role: "pentagon", skill: "star", workflow: "rectangle", "task-type": "diamond", rule: "triangle" };
const DASHES = { body: [6, 3], lineage: [9, 3, 2, 3], domain: [1, 4], supplies: [5, 4], together: [2, 3] };

// --- what the server drew ---------------------------------------------------------------------------------------------
function read(svg) {
  const nodes = [...svg.querySelectorAll("a[data-id]")].map(({ dataset, classList }) => ({
    group: "nodes",
    data: {
      id: `n:${dataset.id}`, name: dataset.id, kind: dataset.kind, title: dataset.title, page: dataset.page || null,
      label: dataset.label, radius: Number(dataset.radius), hub: dataset.hub ? 1 : 0,
      labelX: Number(dataset.labelX), labelY: Number(dataset.labelY), turn: Number(dataset.labelTurn),
      start: classList.contains("start") ? 1 : 0,
    },
    position: { x: Number(dataset.x), y: Number(dataset.y) },
  }));
  const edges = [...svg.querySelectorAll("path[data-source]")].map(({ dataset }) => ({
    group: "edges",
    data: {
      id: `e:${JSON.stringify([dataset.source, dataset.target, dataset.kind])}`, kind: dataset.kind,
      source: `n:${dataset.source}`, target: `n:${dataset.target}`, direction: dataset.direction,
    },
  }));
  return { nodes, edges };
}

// --- how it looks -----------------------------------------------------------------------------------------------------
function look() {
  const sheet = getComputedStyle(document.documentElement);
  const colour = (name) => sheet.getPropertyValue(name).trim();
  return [
    { selector: "node", style: {
      shape: (node) => SHAPES[node.data("kind")], "background-color": (node) => colour(`--kind-${node.data("kind")}`),
      width: (node) => 2 * node.data("radius"), height: (node) => 2 * node.data("radius"),
      "border-width": 1.2, "border-color": colour("--text"),
      label: "data(label)", color: colour("--text"), "font-family": colour("--mono"), "font-size": 11.5,
      "text-halign": "center", "text-valign": "center", "text-margin-x": "data(labelX)", "text-margin-y": "data(labelY)",
      "text-rotation": (node) => `${node.data("turn")}deg`,
      "text-outline-color": colour("--card"), "text-outline-width": 2, "min-zoomed-font-size": 4,
      "overlay-opacity": 0, "transition-property": "opacity", "transition-duration": calm.matches ? 0 : 120,
    } },
    { selector: "node[?start]", style: { "border-width": 4, "border-color": colour("--accent"), "font-weight": "bold", "z-index": 5 } },
    { selector: "edge", style: {
      "curve-style": "bezier", "control-point-step-size": 22, width: (edge) => (edge.data("kind") === "uses" ? 2 : 1.3), opacity: 0.8,
      "line-color": (edge) => colour(`--edge-${edge.data("kind")}`),
      "target-arrow-color": (edge) => colour(`--edge-${edge.data("kind")}`),
      "source-arrow-color": (edge) => colour(`--edge-${edge.data("kind")}`),
      "line-style": (edge) => (DASHES[edge.data("kind")] ? "dashed" : "solid"),
      "line-dash-pattern": (edge) => DASHES[edge.data("kind")] || [1, 0],
      "target-arrow-shape": (edge) => (edge.data("direction") === "none" ? "none" : "triangle"),
      "source-arrow-shape": (edge) => (edge.data("direction") === "both" ? "triangle" : "none"),
      "arrow-scale": 0.7, "overlay-opacity": 0,
    } },
    { selector: ".unfit", style: { opacity: 0.2 } },
    { selector: "node.fit", style: { "border-width": 4, "border-color": colour("--warn") } },
    { selector: ".dim", style: { opacity: 0.12 } },
    { selector: "node.cursor", style: { "border-width": 5, "border-color": colour("--focus"), "z-index": 9 } },
  ];
}

// --- the picture ------------------------------------------------------------------------------------------------------
let cy = null;
let cursor = null;
let asking = null;
const named = (name) => cy.getElementById(`n:${name}`);
const start = () => cy.nodes("[?start]").first();
const PADDING = 24;
// A picture of three things is no poster; of one with hundreds the middle is shown, large enough to be read.
const LEAST = 0.7;
const MOST = 1.6;

function fit() {
  if (calm.matches) cy.fit(undefined, PADDING);
  else cy.animate({ fit: { eles: cy.elements(), padding: PADDING } }, { duration: 300 });
}

// How to show all of some nodes, or the middle of them where that would be too small.
function view(nodes) {
  const sides = nodes.map(({ position: { x, y }, data: { radius, label } }) => ({ x, y, wide: radius + label.length * 7.2, high: radius + 20 }));
  const [left, right] = [Math.min(...sides.map(({ x, wide }) => x - wide)), Math.max(...sides.map(({ x, wide }) => x + wide))];
  const [top, bottom] = [Math.min(...sides.map(({ y, high }) => y - high)), Math.max(...sides.map(({ y, high }) => y + high))];
  const whole = Math.min(MOST, (cy.width() - 2 * PADDING) / (right - left), (cy.height() - 2 * PADDING) / (bottom - top));
  const zoom = Math.max(LEAST, whole);
  const [x, y] = whole < LEAST ? [0, 0] : [(left + right) / 2, (top + bottom) / 2];
  return { zoom, pan: { x: cy.width() / 2 - zoom * x, y: cy.height() / 2 - zoom * y } };
}

function draw(elements, { stays = false } = {}) {
  const there = new Set([...elements.nodes, ...elements.edges].map((each) => each.data.id));
  const moves = calm.matches ? false : cy.nodes().nonempty();
  cy.stop();
  cy.batch(() => {
    cy.elements().filter((each) => !there.has(each.id())).remove();
    cy.elements().removeClass("dim cursor fit unfit");
    for (const each of elements.nodes) {
      const known = cy.getElementById(each.data.id);
      if (known.empty()) { cy.add(each); continue; }
      known.data(each.data);
      if (!moves) known.position(each.position);
      else known.stop().animate({ position: each.position }, { duration: 300 });
    }
    cy.edges().remove();
    cy.add(elements.edges);
  });
  cursor = null;
  if (stays) return;
  const seen = view(elements.nodes);
  if (moves) cy.animate(seen, { duration: 300 }); else cy.viewport(seen);
}

// --- walking ----------------------------------------------------------------------------------------------------------
// The page at an address takes this one's place, but for what somebody is typing.
async function go(address, { push = true } = {}) {
  asking?.abort();
  asking = new AbortController();
  let text;
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, signal: asking.signal });
    if (!answer.ok) throw new Error(answer.statusText);
    text = await answer.text();
  } catch (error) {
    if (error.name !== "AbortError") location.assign(address);
    return;
  }
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const svg = fresh.querySelector("[data-graph-still] > svg");
  if (!svg) { location.assign(address); return; }
  if (push) history.pushState({}, "", address);
  document.title = fresh.title;
  show(fresh, svg);
  say(start());
}

// Everything of a page but what somebody is typing. `stays`: it is the same page, so nobody is led away from where they look.
function show(fresh, svg, { stays = false } = {}) {
  const opened = find("#graph-all")?.open;
  find("#graph-around").replaceWith(fresh.getElementById("graph-around"));
  find("#graph-all").open = Boolean(opened);
  find(".foot").replaceChildren(...fresh.querySelector(".foot").childNodes);
  still.replaceChildren(svg);
  box.setAttribute("aria-label", fresh.querySelector("[data-graph-box]").getAttribute("aria-label"));
  copy(fresh.querySelector("[data-graph-ask]"));
  draw(read(svg), { stays });
  mark();
}

function copy(form) {
  for (const each of form.querySelectorAll("input")) {
    const same = [...ask.elements].find((other) => other.name === each.name && (each.type !== "checkbox" || other.value === each.value));
    if (!same || same === document.activeElement && same.type === "search") continue;
    if (each.type === "checkbox") same.checked = each.checked; else same.value = each.value;
  }
  find("[data-graph-depth]").textContent = ask.elements.depth.value;
}

const WRITTEN = "related body uses lineage";
// The address that the form and a name say, without what goes without saying.
function address(name = ask.elements.id.value) {
  const said = new FormData(ask);
  const told = new URLSearchParams({ id: name });
  if (said.get("depth") !== "2") told.set("depth", said.get("depth"));
  if (said.getAll("edges").join(" ") !== WRITTEN) for (const each of said.getAll("edges")) told.append("edges", each);
  if (said.getAll("kinds").length < ask.querySelectorAll("[name=kinds]").length) for (const each of said.getAll("kinds")) told.append("kinds", each);
  if (said.get("hubs")) told.set("hubs", "1");
  if (said.get("q").trim()) told.set("q", said.get("q").trim());
  return `/graph?${told}`;
}
const walk = (node) => go(address(node.data("name")));
const open = (node) => { if (node.data("page")) location.assign(node.data("page")); else say(node, "It has no page of its own."); };

function say(node, more = "") {
  if (node.empty()) return;
  const near = node.neighborhood("node").length;
  word.textContent = `${node.data("name")}, ${node.data("kind")}, ${near} ${near === 1 ? "neighbour" : "neighbours"}. ${node.data("title") || ""} ${more}`;
}

// --- words ------------------------------------------------------------------------------------------------------------
const finding = find("[data-graph-find]");
const finds = find("[data-graph-finds]");
let due = null;

function mark() {
  const sought = finding?.value.trim().toLowerCase() || "";
  const fits = (node) => `${node.data("name")}\n${node.data("title")}`.toLowerCase().includes(sought);
  cy.batch(() => {
    cy.elements().removeClass("fit unfit");
    if (!sought) return;
    cy.nodes().forEach((node) => node.addClass(fits(node) ? "fit" : "unfit"));
    cy.edges().forEach((edge) => { if (edge.connectedNodes(".unfit").nonempty()) edge.addClass("unfit"); });
  });
  if (sought) word.textContent = `${cy.nodes(".fit").length} of ${cy.nodes().length} in sight fit`;
}

async function suggest() {
  const sought = finding.value.trim();
  if (!sought) { finds.hidden = true; return; }
  const answer = await fetch(`/api/v1/search?${new URLSearchParams({ q: sought, limit: "8" })}`).catch(() => null);
  if (!answer?.ok || finding.value.trim() !== sought || document.activeElement !== finding) return;
  const { authored } = await answer.json();
  const lines = authored.filter((hit) => hit.graph).map((hit) => {
    const line = document.createElement("li"), link = document.createElement("a"), id = document.createElement("span"), kind = document.createElement("span");
    link.href = hit.graph;
    link.dataset.graphWalk = hit.id;
    id.className = "id"; id.textContent = hit.id;
    kind.className = "small quiet"; kind.textContent = ` ${hit.kind}`;
    link.append(id, kind); line.append(link);
    return line;
  });
  finds.replaceChildren(...lines);
  finds.hidden = lines.length === 0;
}

function begin() {
  still.hidden = true;
  for (const each of [box, find("[data-graph-tools]"), find("[data-graph-keys]")]) each.hidden = false;
  find("[data-graph-submit]").hidden = true;
  find("[data-graph-legend]").open = !matchMedia("(max-width: 60rem)").matches;
  cy = cytoscape({ container: box, style: look(), elements: [], layout: { name: "preset" }, minZoom: 0.1, maxZoom: 4, autoungrabify: true, boxSelectionEnabled: false, selectionType: "single" });
  draw(read(still.querySelector("svg")));
  mark();

  cy.on("onetap", "node", ({ target }) => walk(target));
  cy.on("dbltap", "node", ({ target }) => open(target));
  cy.on("mouseover", "node", ({ target }) => {
    cy.elements().addClass("dim");
    target.closedNeighborhood().removeClass("dim");
    box.title = `${target.data("name")}\n${target.data("kind")}${target.data("title") ? `: ${target.data("title")}` : ""}`;
  });
  cy.on("mouseout", "node", () => { cy.elements().removeClass("dim"); box.removeAttribute("title"); });

  const repaint = () => cy.style(look()).update();
  document.addEventListener("keisei:theme", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  calm.addEventListener("change", repaint);
  document.addEventListener("keisei:renewing", (event) => { // this page morphs itself: the picture is none of the server's
    event.preventDefault();
    const svg = event.detail.querySelector("[data-graph-still] > svg");
    if (!svg) location.reload();
    else if (!svg.isEqualNode(still.querySelector("svg"))) show(event.detail, svg, { stays: true });
  });
  addEventListener("popstate", () => go(location.href, { push: false }));
  new ResizeObserver(() => cy.resize()).observe(box);

  for (const each of document.querySelectorAll("[data-graph-zoom]")) each.addEventListener("click", () => zoom(Number(each.dataset.graphZoom)));
  find("[data-graph-fit]").addEventListener("click", fit);
  ask.addEventListener("change", ({ target }) => { if (target !== finding) go(address()); });
  ask.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = cy.nodes(".fit").first();
    if (first.nonempty() && finding.value.trim()) { cy.animate({ center: { eles: first }, duration: calm.matches ? 0 : 200 }); point(first); box.focus(); finds.hidden = true; }
    else finds.querySelector("a")?.focus();
  });
  ask.elements.depth.addEventListener("input", ({ target }) => { find("[data-graph-depth]").textContent = target.value; });
  finding.addEventListener("input", () => {
    mark();
    history.replaceState(history.state, "", address());
    clearTimeout(due);
    due = setTimeout(suggest, 150);
  });
  finding.addEventListener("keydown", (event) => { if (event.key === "ArrowDown" && !finds.hidden) { event.preventDefault(); finds.querySelector("a").focus(); } });
  finding.closest(".find").addEventListener("focusout", ({ relatedTarget }) => { if (!relatedTarget?.closest?.(".find")) finds.hidden = true; });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-graph-walk]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    if (link.closest(".finds")) { finds.hidden = true; finding.value = ""; go(address(link.dataset.graphWalk)); } else go(link.href);
  });
  box.addEventListener("keydown", keys);
  box.addEventListener("focus", () => { if (box.matches(":focus-visible")) point(cursor?.inside() ? cursor : start()); });
  box.addEventListener("blur", () => cy.nodes().removeClass("cursor"));
}

// --- keys -------------------------------------------------------------------------------------------------------------
const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

function point(node) {
  if (node.empty()) return;
  cy.nodes().removeClass("cursor");
  cursor = node.addClass("cursor");
  say(node);
}

// The neighbour that lies most in a direction; where there is none, whatever else does.
function towards([x, y]) {
  const here = (cursor?.inside() ? cursor : start()), from = here.position();
  const best = (nodes) => nodes.map((node) => {
    const [dx, dy] = [node.position("x") - from.x, node.position("y") - from.y], far = Math.hypot(dx, dy) || 1;
    return { node, ahead: (dx * x + dy * y) / far, far };
  }).filter(({ ahead }) => ahead > 0.35).sort((one, other) => other.ahead / (other.far + 80) - one.ahead / (one.far + 80))[0]?.node;
  return best(here.neighborhood("node")) || best(cy.nodes().difference(here));
}

function zoom(by) { cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } }); }

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const here = cursor?.inside() ? cursor : start();
  const act = STEPS[event.key] ? () => { const next = towards(STEPS[event.key]); if (next) point(next); } : {
    Enter: () => open(here),
    " ": () => walk(here),
    Home: () => point(start()),
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(0.77), 0: fit,
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

if (box) begin();
