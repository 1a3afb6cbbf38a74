// What the site's pages gain by script; each of them works without it. Loaded with `defer`, allowed
// by the policy as a file of the site: there is no inline script and no eval.
(() => {
  'use strict';

  // Times stand in UTC; here they become the reader's own.
  const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  const localTimes = (root) => {
    for (const time of root.querySelectorAll('time[datetime]')) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.valueOf()) || time.title) continue;
      time.title = time.textContent;
      time.textContent = clock.format(at);
    }
  };

  // Buttons that copy what stands beside them.
  const copyButtons = (root) => {
    if (!navigator.clipboard) return;
    for (const button of root.querySelectorAll('button[data-copy]')) {
      const source = document.getElementById(button.dataset.copy);
      if (!source || !button.hidden) continue;
      button.hidden = false;
      button.addEventListener('click', async () => {
        await navigator.clipboard.writeText(source.value ?? source.textContent);
        button.textContent = 'Copied';
      });
    }
  };

  // A chart of a table's columns. The table stays: it is what a chart says, in words.
  const plots = (root) => {
    if (typeof uPlot !== 'function') return;
    for (const place of root.querySelectorAll('[data-plot]')) {
      const table = document.getElementById(place.dataset.plot)?.querySelector('table');
      if (!table || !place.hidden) continue;
      const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
      const rows = [...table.tBodies[0].rows].reverse();
      if (rows.length < 2) continue;
      const columns = place.dataset.columns.split(',').map(Number);
      const number = (cell) => Number(cell.textContent.replaceAll(',', ''));
      const day = (cell) => Date.parse(cell.querySelector('time')?.dateTime ?? cell.textContent) / 1000;
      const data = [rows.map((row) => day(row.cells[0])),
        ...columns.map((column) => rows.map((row) => number(row.cells[column])))];
      place.hidden = false;
      place.setAttribute('role', 'img');
      place.setAttribute('aria-label', `Chart of ${columns.map((c) => heads[c]).join(', ')}; the table below has the numbers`);
      const draw = () => {
        const style = getComputedStyle(document.documentElement);
        const ink = (name) => style.getPropertyValue(name).trim();
        const strokes = [ink('--accent'), ink('--warn'), ink('--soft')];
        const axis = { stroke: ink('--soft'), grid: { stroke: ink('--line'), width: 1 }, ticks: { show: false }, font: '12px system-ui' };
        place.replaceChildren();
        return new uPlot({
          width: place.clientWidth - 16,
          height: 220,
          tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
          cursor: { drag: { x: false, y: false } },
          scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
          axes: [axis, { ...axis, size: 56 }],
          series: [{ value: (_, at) => (at == null ? '' : new Date(at * 1000).toISOString().slice(0, 10)) },
            ...columns.map((column, index) => ({ label: heads[column], stroke: strokes[index % 3], width: 2, dash: [[], [6, 4], [2, 3]][index % 3], points: { show: false } }))],
        }, data, place);
      };
      let chart = draw();
      new ResizeObserver(() => {
        if (Math.abs(place.clientWidth - 16 - chart.width) > 1) chart.setSize({ width: place.clientWidth - 16, height: 220 });
      }).observe(place);
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { chart = draw(); });
    }
  };

  const enhance = (root) => { localTimes(root); copyButtons(root); plots(root); };
  enhance(document);
  document.addEventListener('htmx:load', (event) => enhance(event.detail.elt));
})();
