// What a reader asks of a page of rows when the service refuses it or is gone, and where the focus is when
// rows go. Run by tests/browser/run --site URL.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch, until } from './harness.mjs';
import { SITE_URL, call, newcomer } from './people.mjs';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const LIST = /\/data\/entries(\?|$)/;
const filled = async (person, count) => {
  const rows = `/v1/apps/${person.app.id}/collections/entries`;
  const { items } = await call('GET', rows, { key: person.key });
  for (const { key } of items) await call('DELETE', `${rows}/${key}`, { key: person.key });
  for (let n = 10; n < 10 + count; n += 1) {
    await call('POST', rows, { key: person.key, body: { key: `k${n}`, data: { name: `n${n}`, message: 'x' } } });
  }
  await person.page.goto(`${SITE_URL}/apps/${person.app.id}/data/entries`);
  return rows;
};
const focusIsInSight = (page, id) => until(page, (wanted) => {
  const { top, bottom } = document.activeElement.getBoundingClientRect();
  return document.activeElement.id === wanted && top >= 0 && bottom <= innerHeight;
}, id);

test('what is asked of rows and does not come is said at the form, whatever the reason', async () => {
  const person = await newcomer(browser, 'asked@example.org');
  const { context, page } = person;
  await filled(person, 27);
  const said = page.getByRole('alert');
  const problem = '<main><h1>This app is in the trash</h1><p>Bring it back.</p></main>';
  let answer;
  await page.route(LIST, (route) => (answer === null ? route.abort() : route.fulfill({ contentType: 'text/html', ...answer })));
  const asks = [
    [page.getByRole('button', { name: 'Apply' }), { status: 410, body: problem }, 'This app is in the trash. Bring it back. The rows below'],
    [page.getByRole('link', { name: 'Next page' }), null, 'The connection is lost.'],
    [page.getByRole('link', { name: 'name', exact: true }), { status: 404, body: '' }, 'Load the page anew.'],
    [page.getByRole('link', { name: 'Next page' }), { status: 429, body: '{}' }, 'Wait a moment'],
    [page.getByRole('button', { name: 'Apply' }), { status: 503, body: '' }, 'The service could not do that.'],
  ];
  for (const [control, what, words] of asks) {
    answer = what;
    await control.click();
    await said.getByText(words).waitFor();
    await focusIsInSight(page, 'notice');
    assert.equal(await page.locator('#rows[aria-busy]').count(), 0);
    assert.equal(await page.locator('#rows tbody tr').count(), 25);
  }
  await page.unroute(LIST);
  await page.getByLabel('Field', { exact: true }).fill('name');
  await page.getByLabel('Value').fill('n12');
  await page.getByRole('button', { name: 'Apply' }).click();
  await until(page, () => document.querySelectorAll('#rows tbody tr').length === 1);
  assert.equal(await said.count(), 0);
  await context.close();
});

test('rows that are on their way look and sound like it', async () => {
  const person = await newcomer(browser, 'slow@example.org');
  const { context, page, check } = person;
  await filled(person, 1);
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route(LIST, async (route) => { await held; return route.continue(); });
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.locator('#rows[aria-busy=true]').waitFor();
  assert.equal(await page.locator('#said').textContent(), 'Loading …');
  await until(page, () => Number(getComputedStyle(document.getElementById('rows')).opacity) < 1);
  release();
  await page.locator('#rows:not([aria-busy])').waitFor();
  check();
  await context.close();
});

test('rows are those that were asked for last, whichever answer comes first', async () => {
  const person = await newcomer(browser, 'crossed@example.org');
  const { context, page } = person;
  const rows = await filled(person, 3);
  const shown = (count) => until(page, (wanted) => document.querySelectorAll('#rows tbody tr').length === wanted, count);
  const apply = async (field, value) => {
    await page.getByLabel('Field', { exact: true }).fill(field);
    await page.getByLabel('Value').fill(value);
    await page.getByRole('button', { name: 'Apply' }).click();
  };
  // Keeps back what is asked for at such addresses, until it is let go or lost.
  const onward = async (route, held) => ((await held) === 'lost' ? route.abort() : route.continue());
  const hold = async (address, how = onward) => {
    const it = {};
    const held = new Promise((resolve) => { it.go = resolve; });
    it.asked = page.waitForRequest(address);
    it.ended = Promise.race(['requestfinished', 'requestfailed'].map((end) => page.waitForEvent(end, (request) => address.test(request.url()))));
    await page.route(address, (route) => how(route, held));
    return it;
  };
  await shown(3);

  // The reader asks for some, and they change before these come, but after they were looked up.
  await page.evaluate(() => {
    document.body.dataset.changes = 0;
    document.body.addEventListener('rows-changed', () => { document.body.dataset.changes -= -1; });
  });
  const changes = (count) => until(page, (wanted) => document.body.dataset.changes === `${wanted}`, count);
  let made;
  const isMade = new Promise((resolve) => { made = resolve; });
  const asked = await hold(/value=n12/, async (route, held) => {
    const response = await route.fetch();
    made();
    await held;
    return route.fulfill({ response });
  });
  await apply('name', 'n12');
  await isMade;
  await call('POST', rows, { key: person.key, body: { key: 'k20', data: { name: 'n12', message: 'x' } } });
  await changes(1);
  asked.go();
  await shown(2);

  // The reader asks for another order, and before it comes for others.
  const [sorted, others] = [await hold(/sort=name/), await hold(/value=n11/)];
  await page.getByRole('link', { name: 'name', exact: true }).click();
  await sorted.asked;
  await page.getByLabel('Sort by').fill('-name');
  await apply('name', 'n11');
  await others.asked;
  sorted.go();
  await sorted.ended;
  others.go();
  await page.getByRole('link', { name: 'k11', exact: true }).waitFor();

  // What the reader asks for does not come, and the rows changed meanwhile.
  const lost = await hold(/value=n10/);
  await apply('name', 'n10');
  await lost.asked;
  await call('DELETE', `${rows}/k11`, { key: person.key });
  await changes(2);
  lost.go('lost');
  await page.getByRole('alert').waitFor();
  await shown(0);
  await context.close();
});

test('a connection that is lost is said where the reader is', async () => {
  const person = await newcomer(browser, 'lost@example.org', { viewport: { width: 1000, height: 500 } });
  const { context, page } = person;
  let broken = true;
  await page.route('**/changes?*', (route) => (broken ? route.abort() : route.continue()));
  const rows = await filled(person, 25);
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.getByText('The connection is lost').waitFor();
  const seen = await page.locator('#live').evaluate((it) => {
    const { top, bottom } = it.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight && it.contains(document.elementFromPoint(innerWidth / 2, (top + bottom) / 2));
  });
  assert.ok(seen);
  broken = false;
  await page.evaluate(() => { dispatchEvent(new Event('online')); });
  await call('POST', rows, { key: person.key, body: { key: 'found', data: { name: 'n', message: 'x' } } });
  await until(page, () => document.getElementById('live').textContent === '');
  await context.close();
});

test('from a row that somebody deletes the focus goes on to the next, and what the page counts stays true', async () => {
  const person = await newcomer(browser, 'gone@example.org');
  const { context, page, check } = person;
  const rows = await filled(person, 3);
  const remove = async (name) => {
    await call('DELETE', `${rows}/${name}`, { key: person.key });
    await page.getByRole('link', { name, exact: true }).waitFor({ state: 'detached' });
  };
  const count = (n) => until(page, (text) => document.getElementById('count').textContent === text, `${n}`);
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.locator('#said').getByText('3 rows').waitFor({ state: 'attached' });
  await count(3);
  await page.getByRole('link', { name: 'k11', exact: true }).focus();
  await remove('k11');
  await until(page, () => /^row-k1[02]$/.test(document.activeElement.id));
  await count(2);
  assert.equal(await page.locator('#said').textContent(), '');
  const held = (await page.evaluate(() => document.activeElement.id)).slice('row-'.length);
  await remove(held);
  await until(page, () => document.activeElement.id === 'rows-table');
  await remove(held === 'k10' ? 'k12' : 'k10');
  await until(page, () => document.activeElement.id === 'rows');
  await count(0);
  check();
  await context.close();
});

test('a refusal of a field that the page has no more has the focus', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { context, page, key, app, check } = await newcomer(browser, `stale-${javaScriptEnabled}@example.org`, { javaScriptEnabled, viewport: { width: 800, height: 600 } });
    await page.goto(`${SITE_URL}/apps/${app.id}/sharing`);
    await call('POST', `/v1/apps/${app.id}/transfer`, { key, body: { email: 'one@example.org' } });
    const form = page.getByRole('region', { name: 'Hand the app over' });
    await form.getByLabel('E-mail address').fill('two@example.org');
    await form.getByRole('button', { name: 'Offer it' }).click();
    await form.getByRole('alert').waitFor();
    assert.equal(await page.locator('[aria-invalid]').count(), 0);
    await focusIsInSight(page, 'notice');
    check();
    await context.close();
  }
});

test('a phone shows no label of a member that a row has not', async () => {
  const person = await newcomer(browser, 'bare@example.org', { viewport: { width: 375, height: 700 } });
  const { context, page, key, app, check } = person;
  const mine = ['owner'];
  const manifest = { collections: { notes: { permissions: { read: mine, write: mine, update: mine, delete: mine } } } };
  await call('POST', `/v1/apps/${app.id}/versions`, { key, body: { html: '<h1>Notes</h1>', force: true, manifest } });
  for (const [name, data] of [['whole', { name: 'n', message: 'x' }], ['bare', { name: 'n' }]]) {
    await call('POST', `/v1/apps/${app.id}/collections/notes`, { key, body: { key: name, data } });
  }
  await page.goto(`${SITE_URL}/apps/${app.id}/data/notes`);
  const bare = page.locator('tr', { has: page.getByRole('link', { name: 'bare', exact: true }) });
  assert.ok(await bare.locator('td[data-label=name]').isVisible());
  assert.ok(await bare.locator('td[data-label=message]').isHidden());
  check();
  await context.close();
});

test('on paper nothing is cut off', async () => {
  const person = await newcomer(browser, 'paper@example.org', { viewport: { width: 760, height: 900 } });
  const { context, page, check } = person;
  await page.goto(`${SITE_URL}/apps/${person.app.id}/usage`);
  await page.emulateMedia({ media: 'print' });
  for (const box of await page.locator('.table').all()) {
    const cut = await box.evaluate((it) => getComputedStyle(it).overflow !== 'visible' || it.scrollHeight > it.clientHeight);
    assert.equal(cut, false);
  }
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  check();
  await context.close();
});

test('rows that nobody looks at hold no connection, and are live again when somebody does', async () => {
  const person = await newcomer(browser, 'away@example.org');
  const { context, page } = person;
  const isPoll = (request) => request.url().includes('/changes?');
  const polled = (event) => page.waitForEvent(event, { predicate: isPoll });
  const look = (hidden) => page.evaluate((away) => {
    Object.defineProperty(document, 'hidden', { value: away, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  const asked = polled('request');
  const rows = await filled(person, 3);
  await asked;
  const ended = polled('requestfailed');
  await look(true);
  await ended;
  await call('POST', rows, { key: person.key, body: { key: 'late', data: { name: 'n', message: 'x' } } });
  const again = polled('request');
  await look(false);
  await again;
  await page.getByRole('link', { name: 'late', exact: true }).waitFor();
  await until(page, () => document.getElementById('live').textContent === '');
  await context.close();
});

test('what was typed comes back with the row it was typed over, and over no newer one', async () => {
  const { context, page, key } = await newcomer(browser, 'back@example.org');
  const mine = ['owner'];
  const notes = { permissions: { read: mine, write: mine, update: mine, delete: mine } };
  const app = await call('POST', '/v1/apps', { key, body: { html: '<h1>Notes</h1>', manifest: { collections: { notes } } } });
  const rows = `/v1/apps/${app.id}/collections/notes`;
  await call('POST', rows, { key, body: { key: 'r1', data: { name: 'old' } } });
  const text = page.getByLabel('Content, as JSON');
  const typedAndLeft = async () => {
    await page.goto(`${SITE_URL}/apps/${app.id}/data/notes/rows/r1`);
    await text.fill('{"name": "typed"}');
    await page.goto(`${SITE_URL}/apps/${app.id}`);
  };
  await typedAndLeft();
  await page.goBack();
  assert.match(await text.inputValue(), /typed/);
  await typedAndLeft();
  await call('PATCH', `${rows}/r1`, { key, body: { data: { name: 'newer' } } });
  await page.goBack();
  assert.match(await text.inputValue(), /newer/);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  assert.equal((await call('GET', `${rows}/r1`, { key })).data.name, 'newer');
  await context.close();
});
