// Keeps an open page current, moves through its grids by keyboard, and sends its actions. The page
// is whole without this file.
"use strict";
const main = document.getElementById("main");
const state = document.getElementById("state");
const cells = new Map();
for (const element of document.querySelectorAll("[data-k]")) cells.set(element.dataset.k, element);
const rows = new Map();
for (const element of document.querySelectorAll("[data-row]")) rows.set(element.dataset.row, element);

function put(name, text) {
  const element = cells.get(name);
  if (element) {
    if (element.dataset.a) element.setAttribute(element.dataset.a, text);
    else if (element.textContent !== text) element.textContent = text;
    return;
  }
  const dot = name.lastIndexOf(".");
  const row = rows.get(name.slice(0, dot));
  if (!row) return;
  const what = name.slice(dot + 1);
  if (what === "key") row.dataset.key = text;
  else if (what === "level") {
    row.hidden = text === "0";
    if (row.hidden) row.removeAttribute("aria-level");
    else row.setAttribute("aria-level", text);
  } else if (what === "expanded") {
    if (text) row.setAttribute("aria-expanded", text);
    else row.removeAttribute("aria-expanded");
  } else if (what === "href") {
    const link = row.querySelector("a");
    if (text) link.setAttribute("href", text);
    else link.removeAttribute("href");
  }
}

let source;
// How long it is waited before the stream is asked for anew.
const AGAIN_MS = 5000;

// Only a page that somebody sees is kept current; shown again, it gets everything anew.
function follow() {
  if (document.hidden) {
    source?.close();
    source = undefined;
    return;
  }
  if (source) return;
  source = new EventSource(main.dataset.live);
  source.onopen = () => { state.textContent = "live"; };
  source.onerror = ({ target }) => {
    state.textContent = "not live; trying again";
    // After an answer that is no stream, a proxy's or that of a busy server, a browser gives up.
    if (target !== source || target.readyState !== EventSource.CLOSED) return;
    source = undefined;
    setTimeout(follow, AGAIN_MS);
  };
  source.onmessage = show;
}

function show(event) {
  const row = document.activeElement.closest("tr[data-key]");
  const key = row?.dataset.key;
  for (const [name, text] of Object.entries(JSON.parse(event.data))) put(name, text);
  for (const grid of grids) keepOneStop(grid);
  // Rows change places: whoever stands on one stays with what it is the row of.
  if (row && row.dataset.key !== key) {
    const grid = row.closest("table");
    go(find(grid, key) ?? (row.hidden ? shown(grid).at(-1) : row));
  }
}

const grids = document.querySelectorAll("[role=treegrid]");
const PAGE_ROWS = 10;
const OPENED = "rookery.opened";
// The row that was opened last, where the browser lets pages remember anything.
const opened = {
  keep(key) { try { sessionStorage.setItem(OPENED, key); } catch { /* then focus starts anew */ } },
  take() {
    try {
      const key = sessionStorage.getItem(OPENED);
      sessionStorage.removeItem(OPENED);
      return key;
    } catch { return null; }
  },
};
const shown = (grid) => [...grid.querySelectorAll("tbody tr")].filter((row) => !row.hidden);
const find = (grid, key) => (key ? shown(grid).find((row) => row.dataset.key === key) : undefined);
const levelOf = (row) => Number(row?.getAttribute("aria-level") ?? 0);

function go(row) {
  if (!row || row.hidden) return;
  for (const other of row.closest("table").querySelectorAll("tr[tabindex='0']")) other.tabIndex = -1;
  row.tabIndex = 0;
  row.focus();
}

// A grid is one stop of the Tab key, at the row that was visited last; without rows it is the region
// that scrolls.
function keepOneStop(grid) {
  const rows = shown(grid);
  grid.parentElement.tabIndex = rows.length ? -1 : 0;
  if (rows.length && !rows.some((row) => row.tabIndex === 0)) {
    for (const row of grid.querySelectorAll("tr[tabindex='0']")) row.tabIndex = -1;
    rows[0].tabIndex = 0;
  }
}

for (const grid of grids) {
  // Without this file each link is a stop of its own.
  for (const place of grid.querySelectorAll("tbody tr, tbody a")) place.tabIndex = -1;
  keepOneStop(grid);
  grid.addEventListener("click", (event) => {
    const row = event.target.closest("tr[aria-expanded]");
    if (row && event.target.closest("a[href]")) opened.keep(row.dataset.key);
  });
  grid.addEventListener("keydown", (event) => {
    const row = event.target.closest("tbody tr");
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const list = shown(grid);
    const at = list.indexOf(row);
    const link = row.querySelector("a[href]");
    const open = row.getAttribute("aria-expanded");
    const level = levelOf(row);
    const parent = list.slice(0, at).reverse().find((other) => levelOf(other) < level);
    switch (event.key) {
      case "ArrowDown": go(list[at + 1]); break;
      case "ArrowUp": go(list[at - 1]); break;
      case "PageDown": go(list[Math.min(at + PAGE_ROWS, list.length - 1)]); break;
      case "PageUp": go(list[Math.max(at - PAGE_ROWS, 0)]); break;
      case "Home": go(list[0]); break;
      case "End": go(list[list.length - 1]); break;
      case "ArrowRight":
        if (open === "false" && link) link.click();
        else if (levelOf(list[at + 1]) > level) go(list[at + 1]);
        else return;
        break;
      case "ArrowLeft":
        if (open === "true" && link) link.click();
        else if (parent) go(parent);
        else return;
        break;
      case "Enter": if (link && event.target === row) link.click(); else return; break;
      default: return;
    }
    event.preventDefault();
  });
}

document.addEventListener("visibilitychange", follow);
follow();

// Opening and closing a row is a page of its own; the keyboard goes on where it was.
const last = opened.take();
if (last) for (const grid of grids) go(find(grid, last));

for (const form of document.querySelectorAll("form[data-app]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    // A second click, while the first is on its way, is not a second action.
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    const output = form.querySelector("output");
    const { action, reason } = Object.fromEntries(new FormData(form));
    form.elements.reason.removeAttribute("aria-invalid");
    output.textContent = "…";
    try {
      const path = `/ops/api/apps/${encodeURIComponent(form.dataset.app)}/actions/${action}`;
      const answer = await fetch(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ reason }),
      });
      const body = await answer.json();
      output.textContent = answer.ok ? `done: ${body.state}` : body.error.message;
      if (answer.status === 400) {
        form.elements.reason.setAttribute("aria-invalid", "true");
        form.elements.reason.focus();
      }
    } catch {
      output.textContent = "the server did not answer";
    } finally {
      form.ariaBusy = null;
    }
  });
}
