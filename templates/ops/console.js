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
  if (what === "level") {
    row.setAttribute("aria-level", text);
    row.hidden = text === "0";
  } else if (what === "expanded") {
    if (text) row.setAttribute("aria-expanded", text);
    else row.removeAttribute("aria-expanded");
  } else if (what === "href") {
    const link = row.querySelector("a");
    if (text) link.setAttribute("href", text);
    else link.removeAttribute("href");
  }
}

const source = new EventSource(main.dataset.live);
source.onopen = () => { state.textContent = "live"; };
source.onerror = () => { state.textContent = "not live; trying again"; };
source.onmessage = (event) => {
  for (const [name, text] of Object.entries(JSON.parse(event.data))) put(name, text);
};

for (const grid of document.querySelectorAll("[role=treegrid]")) {
  const shown = () => [...grid.querySelectorAll("tbody tr")].filter((row) => !row.hidden);
  const first = shown()[0];
  if (first) first.tabIndex = 0;
  const go = (row) => {
    if (!row) return;
    for (const other of grid.querySelectorAll("tbody tr[tabindex='0']")) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  };
  grid.addEventListener("keydown", (event) => {
    const row = event.target.closest("tbody tr");
    if (!row) return;
    const list = shown();
    const at = list.indexOf(row);
    const link = row.querySelector("a[href]");
    const open = row.getAttribute("aria-expanded");
    switch (event.key) {
      case "ArrowDown": go(list[at + 1]); break;
      case "ArrowUp": go(list[at - 1]); break;
      case "Home": go(list[0]); break;
      case "End": go(list[list.length - 1]); break;
      case "ArrowRight": if (open === "false" && link) link.click(); else return; break;
      case "ArrowLeft": if (open === "true" && link) link.click(); else return; break;
      case "Enter": if (link && event.target === row) link.click(); else return; break;
      default: return;
    }
    event.preventDefault();
  });
}

for (const form of document.querySelectorAll("form[data-app]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("output");
    const { action, reason } = Object.fromEntries(new FormData(form));
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
    } catch {
      output.textContent = "the server did not answer";
    }
  });
}
