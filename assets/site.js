// What the site's pages gain by script; each of them works without it. Loaded with `defer`, allowed
// by the policy as a file of the site: there is no inline script and no eval.
(() => {
  'use strict';

  // Times stand in UTC; here they become the reader's own, and say whose zone that is. What stood there
  // is what they say when the pointer rests on them.
  const clock = new Intl.DateTimeFormat(document.documentElement.lang, { year: 'numeric', month: 'short', day: 'numeric',
    hour: 'numeric', minute: '2-digit', timeZoneName: 'short' });
  const localTimes = (root) => {
    for (const time of root.querySelectorAll('time[datetime]')) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.valueOf()) || time.title) continue;
      time.title = time.textContent;
      time.textContent = clock.format(at);
    }
  };

  // A line of choices scrolls; the one that is open is brought into sight. Not by `scrollIntoView`: some
  // browsers let the keyboard begin there, behind the way to the content.
  for (const current of document.querySelectorAll('.chips.line [aria-current]')) {
    const tabs = current.closest('.line');
    tabs.scrollLeft += current.getBoundingClientRect().x - tabs.getBoundingClientRect().x - (tabs.clientWidth - current.offsetWidth) / 2;
  }

  // What the last action did is said once: neither loading the page anew nor its address says it again.
  const address = new URL(location.href);
  if (address.searchParams.has('done')) {
    address.searchParams.delete('done');
    history.replaceState(history.state, '', address);
  }

  // What a button did, for those who do not see it: a region must be there before anything is said in it.
  const spoken = document.createElement('p');
  spoken.className = 'visually-hidden';
  spoken.setAttribute('role', 'status');
  document.body.append(spoken);

  // Buttons that copy what stands beside them.
  const copyButtons = (root) => {
    if (!navigator.clipboard) return;
    for (const button of root.querySelectorAll('button[data-copy]')) {
      const source = document.getElementById(button.dataset.copy);
      if (!source || !button.hidden) continue;
      button.hidden = false;
      button.addEventListener('click', async () => {
        try {
          await navigator.clipboard.writeText(source.value ?? source.textContent);
          button.textContent = 'Copied';
        } catch { // the browser may refuse; a selection is always possible
          getSelection().selectAllChildren(source);
          button.textContent = 'Press Ctrl+C';
        }
        spoken.textContent = '';
        spoken.textContent = button.textContent;
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
      const moment = (cell) => Date.parse(cell.querySelector('[data-at]').dataset.at) / 1000;
      const hourly = table.tHead.rows[0].cells[0].textContent === 'Hour';
      const words = new Intl.DateTimeFormat(document.documentElement.lang, { timeZone: 'UTC', month: 'short', day: 'numeric', ...(hourly && { hour: 'numeric' }) });
      const data = [rows.map((row) => moment(row.cells[0])),
        ...columns.map((column) => rows.map((row) => number(row.cells[column])))];
      place.hidden = false;
      place.setAttribute('role', 'img');
      place.setAttribute('aria-label', `Chart of ${columns.map((c) => heads[c]).join(', ')}; the table beside it has the numbers`);
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
          legend: { live: false, markers: { dash: (_, index) => ['solid', 'dashed', 'dotted'][(index - 1) % 3] } },
          axes: [{ ...axis, space: 90, values: (_, splits) => splits.map((at) => words.format(at * 1000)) },
            { ...axis, size: 56, incrs: [1, 2, 5].flatMap((n) => [...Array(9).keys()].map((zeros) => n * 10 ** zeros)).sort((a, b) => a - b) }],
          series: [{},
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

  // Push messages. The service forgets a subscription with the session that saved it, so a browser that has
  // one saves it again after a sign-in. Another account that signs in there did not ask for it.
  const store = async (method, body) => {
    const answer = await fetch('/v1/self/push-subscriptions', {
      method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error((await answer.json()).error.message);
  };
  const { account, session } = document.body.dataset;
  const remember = (made) => {
    for (const [name, value] of [['push-account', account], ['push-session', session]]) {
      if (made) localStorage.setItem(name, value);
      else localStorage.removeItem(name);
    }
  };
  const isOurs = () => localStorage.getItem('push-account') === account;
  const saveAgain = async () => {
    if (!isOurs() || localStorage.getItem('push-session') === session) return;
    const registration = await navigator.serviceWorker.getRegistration('/');
    const held = await registration?.pushManager.getSubscription();
    if (held) await store('POST', held);
    remember(held);
  };
  const savedAgain = navigator.serviceWorker ? saveAgain().catch(() => {}) : undefined;

  // The button asks the browser for a subscription and hands it to the service, or takes both back.
  // Nothing is shown where a browser has no push.
  const pushes = (root) => {
    const place = root.querySelector('[data-push]');
    if (!place || !navigator.serviceWorker || !globalThis.PushManager) return;
    const applicationServerKey = place.dataset.push;
    place.removeAttribute('data-push');
    const [button, said] = [place.querySelector('button'), place.querySelector('[role=status]')];
    const worker = navigator.serviceWorker.register('/push-worker.js').then(() => navigator.serviceWorker.ready);
    const show = (on) => { button.textContent = on ? 'Turn off' : 'Turn on'; };
    const tell = (on) => {
      show(on);
      said.textContent = on ? 'Notifications are on.' : 'Notifications are off.';
    };
    const turn = async () => {
      const { pushManager } = await worker;
      await savedAgain; // else it could save what is being taken back
      const held = await pushManager.getSubscription();
      if (held && isOurs()) {
        await store('DELETE', { endpoint: held.endpoint });
        await held.unsubscribe();
        remember(null);
        return tell(false);
      }
      const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
      try {
        await store('POST', made);
      } catch (refused) {
        await made.unsubscribe();
        throw refused;
      }
      remember(made);
      return tell(true);
    };
    button.addEventListener('click', () => {
      if (button.getAttribute('aria-disabled')) return;
      button.setAttribute('aria-disabled', 'true'); // `disabled` would take the focus away
      said.textContent = '';
      turn().catch((error) => {
        said.textContent = error.name === 'NotAllowedError'
          ? 'This browser does not allow it; its settings for this site do.' : `That did not work: ${error.message}`;
      }).finally(() => { button.removeAttribute('aria-disabled'); });
    });
    worker.then(({ pushManager }) => pushManager.getSubscription())
      .then((held) => { show(held && isOurs()); place.hidden = false; }, () => {});
  };

  // A second click while a form is on its way sends nothing: its answer would hide the first.
  const TWICE_MS = 5000;
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== 'post') return;
    if (event.timeStamp < Number(form.dataset.sentAt) + TWICE_MS) event.preventDefault();
    else form.dataset.sentAt = event.timeStamp;
  });
  // A page that comes back as it was left has nothing on its way; a first load may be told after a click.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) for (const form of document.forms) delete form.dataset.sentAt;
  });

  // What keeps rows live asks again when an answer did not come: each answer brings the next question.
  // The waits grow, and end when the network or the reader is back.
  const RETRY_MIN_MS = 1000;
  const RETRY_MAX_MS = 30000;
  const again = new Map();
  let failures = 0;
  let isOver = false; // what is said then stays: rows that come later do not take it back
  const askAgain = () => {
    for (const [id, timer] of again) {
      clearTimeout(timer);
      document.getElementById(id)?.dispatchEvent(new Event('retry'));
    }
    again.clear();
  };
  document.addEventListener('htmx:afterRequest', ({ detail: { requestConfig: { elt }, xhr, successful } }) => {
    const { id } = elt;
    if ((id !== 'live' && id !== 'rows') || isLeaving) return;
    if (id === 'rows' && busy(elt)) {
      missed = true;
      return;
    }
    const say = (words) => { document.getElementById('live')?.replaceChildren(words); };
    if (document.hidden && !xhr.status) {
      again.set(id);
      return;
    }
    if (successful) {
      failures = 0;
      if (!isOver) say('');
      return;
    }
    if (xhr.status >= 400 && xhr.status < 500 && xhr.status !== 408 && xhr.status !== 429) {
      isOver = true;
      say('This page is not live any more: load it anew.');
      return;
    }
    say('The connection is lost; trying again …');
    const wait = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** failures) * (0.5 + Math.random() / 2);
    const asked = Number(xhr.getResponseHeader('retry-after')) * 1000;
    failures += 1;
    clearTimeout(again.get(id));
    again.set(id, setTimeout(askAgain, Math.max(wait, asked)));
  });
  // Who sends a form leaves: the answer to a question that its action ends would lead elsewhere.
  let isLeaving = false;
  document.addEventListener('submit', ({ defaultPrevented, target }) => {
    if (defaultPrevented || target.method !== 'post' || !document.getElementById('live')) return;
    isLeaving = true;
    htmx.trigger('#live', 'htmx:abort');
  });
  addEventListener('pageshow', () => { isLeaving = false; });
  addEventListener('online', askAgain);
  // A page that nobody looks at holds no connection: over HTTP/1 a browser has six for a whole site.
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) askAgain();
    else if (document.getElementById('live')) htmx.trigger('#live', 'htmx:abort');
  });
  document.addEventListener('htmx:beforeRequest', (event) => {
    if (event.detail.elt.id !== 'live' || !document.hidden) return;
    event.preventDefault();
    again.set('live');
  });

  // A list that was refused says why above an empty table, as it does without script. One that is only
  // asked for again says so in its line of news.
  const asked = ({ target, requestConfig: { elt } }) => target.id === 'rows' && elt.id !== 'rows';
  document.addEventListener('htmx:beforeSwap', ({ detail }) => {
    if (asked(detail) && [400, 403].includes(detail.xhr.status)) {
      detail.shouldSwap = true;
      detail.isError = false;
    }
  });

  // What a reader asked for and waits for is seen and said to be on its way. The rows become what was asked
  // for last, whichever answer comes first, and are not asked for again before it is there. Where nothing
  // comes, they stay, and it is said at the form why, in the words of the page that came instead.
  let newest = null;
  let missed = false;
  const said = (words) => { document.getElementById('said').textContent = words; };
  const busy = (rows) => rows.hasAttribute('aria-busy');
  document.addEventListener('htmx:beforeRequest', (event) => {
    const { target, xhr } = event.detail;
    if (target.id !== 'rows') return;
    if (asked(event.detail)) {
      newest = xhr;
      missed = false;
      target.setAttribute('aria-busy', 'true');
      said('Loading …');
      htmx.trigger(target, 'htmx:abort');
    } else if (busy(target)) {
      missed = true;
      event.preventDefault();
    }
  });
  document.addEventListener('htmx:beforeSwap', ({ detail }) => {
    if (asked(detail) && detail.xhr !== newest) detail.shouldSwap = false;
  });
  const whyNot = ({ status, responseText }) => {
    const page = new DOMParser().parseFromString(responseText, 'text/html');
    const words = [...page.querySelectorAll('main h1, main h1 + p')].map((it) => it.textContent.trim().replace(/\.?$/, '.'));
    if (words.length) return words.join(' ');
    if (status === 0) return 'The connection is lost. Try again.';
    if (status === 429) return 'That was a lot at once. Wait a moment, then try again.';
    return status < 500 ? 'That did not work. Load the page anew.' : 'The service could not do that. Try again in a moment.';
  };
  document.addEventListener('htmx:afterRequest', ({ detail }) => {
    const { xhr, successful } = detail;
    if (!asked(detail) || xhr !== newest || xhr.getResponseHeader('hx-redirect')) return;
    const rows = document.getElementById('rows');
    rows.removeAttribute('aria-busy');
    // They changed while this answer was made, or after.
    if (missed) rows.dispatchEvent(new Event('retry'));
    if (successful) return;
    said('');
    const text = document.createElement('p');
    text.className = 'notice refused';
    text.setAttribute('role', 'alert');
    text.textContent = `${whyNot(xhr)} The rows below are still those from before.`;
    const notice = document.getElementById('notice');
    notice.replaceChildren(text);
    notice.focus();
  });

  // A table that is shown anew stays where it was scrolled to; focus stays by the ids of its links. From
  // a row that is there no more it goes on to the next one.
  let scrolled = 0;
  let onward = null;
  const table = () => document.getElementById('rows-table');
  document.addEventListener('htmx:beforeSwap', ({ detail: { target } }) => {
    scrolled = table()?.scrollLeft ?? 0;
    const links = [...document.querySelectorAll('#rows tbody a')];
    const at = links.indexOf(document.activeElement);
    const held = target.id === 'rows' && target.contains(document.activeElement);
    onward = held ? links.slice(at < 0 ? links.length : at).map(({ id }) => id) : null;
  });
  document.addEventListener('htmx:afterSwap', ({ detail }) => {
    if (table()) table().scrollLeft = scrolled;
    if (detail.target.id !== 'rows') return;
    const rows = document.getElementById('rows');
    const lost = document.activeElement === document.body;
    if (!asked(detail)) {
      said(''); // how many there were is no longer true
      const next = onward?.map((id) => document.getElementById(id)).find(Boolean);
      if (lost && onward) (next ?? table() ?? rows).focus({ preventScroll: true });
      return;
    }
    // What a reader asked for is said; and a way on that is there no more leaves the focus at the rows.
    said(rows.dataset.said);
    if (lost) (table() ?? rows).focus({ preventScroll: true });
    attend();
  });

  // A refusal that comes in place of a part of the page has the focus at its field, as one that comes
  // with a page has, whatever its address leads to; and itself where the page has no such field.
  const attend = () => {
    (document.querySelector('[aria-invalid=true]') ?? document.querySelector('#notice:has(> .refused)'))?.focus();
  };
  attend();
  document.addEventListener('htmx:oobAfterSwap', ({ target: { id } }) => { if (id !== 'count') attend(); });

  const enhance = (root) => { localTimes(root); copyButtons(root); plots(root); pushes(root); };
  enhance(document);
  document.addEventListener('htmx:load', (event) => enhance(event.detail.elt));
})();
