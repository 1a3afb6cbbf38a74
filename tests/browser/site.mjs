// The site in a real browser, from a fresh server on. Run by tests/browser/run --site URL.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch, until } from './harness.mjs';
import { SITE_URL, call, newcomer, signIn, visitor } from './people.mjs';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

test('a fresh server leads a human to a claimed agent and a running app in under a minute', async () => {
  const began = Date.now();
  const { context, page, check } = await visitor(browser);
  await signIn(page, 'first@example.org', '/');
  await page.getByText('From nothing to a running app').waitFor();
  // As some do with every button: the second click makes no second agent. The page's scripts have run
  // by then; that it is loaded whole may still be told in between.
  await page.waitForLoadState('domcontentloaded');
  await page.getByRole('button', { name: 'Deploy an example app' }).evaluate((button) => {
    button.click();
    dispatchEvent(new PageTransitionEvent('pageshow'));
    setTimeout(() => button.click(), 20);
  });
  const [app] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('button', { name: 'Open it' }).click(),
  ]);
  await app.getByText('Your first app is running. Sign here').waitFor();
  assert.ok(Date.now() - began < 60_000);
  assert.notEqual(new URL(app.url()).origin, SITE_URL, 'the app has an origin of its own');
  assert.ok(await page.locator('#agent-key').isVisible(), 'the key is still there to be copied');
  await page.goto(`${SITE_URL}/agents`);
  await page.getByText('First agent', { exact: true }).waitFor();
  assert.equal(await page.getByText('First agent', { exact: true }).count(), 1);
  check();
  await context.close();
});

test('without JavaScript there is no button that needs it', async () => {
  const { context, page } = await visitor(browser, { javaScriptEnabled: false });
  await signIn(page, 'plain@example.org');
  await page.locator('#prompt').waitFor();
  assert.equal(await page.locator('button[data-copy]:visible').count(), 0);
  await context.close();
});

test('the first steps notice an agent that comes by a claim code', async () => {
  const { context, page, check } = await visitor(browser);
  await signIn(page, 'claim@example.org');
  const agents = await context.newPage();
  await agents.goto(`${SITE_URL}/agents`);
  await agents.getByRole('button', { name: 'New claim code' }).click();
  const code = await agents.locator('#claim-code').textContent();
  const { key: { secret } } = await call('POST', '/v1/register', { body: { name: 'Walker' } });
  await call('POST', '/v1/agents/claim', { key: secret, body: { code } });
  // The page that waits says so without being touched.
  await page.locator('.steps li.done', { hasText: 'An agent is yours' }).waitFor();
  await call('POST', '/v1/apps', { key: secret, body: { html: '<h1>Hello</h1>' } });
  await page.getByRole('status').filter({ hasText: 'is running' }).waitFor();
  await agents.goto(`${SITE_URL}/agents`);
  await agents.getByText('Walker', { exact: true }).waitFor();
  check();
  await context.close();
});

test('a device is approved with the code that it shows', async () => {
  const { context, page, check } = await visitor(browser);
  await signIn(page, 'device@example.org');
  const flow = await call('POST', '/v1/device/code', { body: { name: 'Tablet' } });
  await page.goto(`${SITE_URL}/agents`);
  await page.getByLabel('Code', { exact: true }).fill(flow.user_code.toLowerCase());
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Connect “Tablet”?' }).waitFor();
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('heading', { name: '“Tablet” is approved' }).waitFor();
  const got = await call('POST', '/v1/device/token', { body: { device_code: flow.device_code } });
  assert.equal(got.status, 'approved');
  await page.goto(`${SITE_URL}/agents`);
  await page.getByText('Tablet', { exact: true }).waitFor();
  check();
  await context.close();
});

test('a row is edited while an agent changes it, and nothing is lost', async () => {
  const { context, page, key, check } = await newcomer(browser, 'edit@example.org');
  const mine = ['owner'];
  const notes = { permissions: { read: mine, write: mine, update: mine, delete: mine } };
  const app = await call('POST', '/v1/apps', { key, body: { html: '<h1>Notes</h1>', manifest: { collections: { notes } } } });
  const rows = `/v1/apps/${app.id}/collections/notes`;
  await page.goto(`${SITE_URL}/apps/${app.id}/data`);
  await page.getByText('None here yet.').waitFor();
  // What the agent writes appears in the open page.
  await call('POST', rows, { key, body: { key: 'r1', data: { name: 'Ada', message: 'One', n: 1 } } });
  await page.getByRole('link', { name: 'r1', exact: true }).click();

  const editor = page.getByLabel('Content, as JSON');
  await editor.fill('{"name": "Ada Lovelace", "message": "Mine", "n": 1}');
  await call('PATCH', `${rows}/r1`, { key, body: { data: { message: 'Theirs', n: 2 } } });
  await page.getByRole('button', { name: 'Save' }).click();
  const alert = page.getByRole('alert');
  await alert.getByText('Somebody changed this row while you edited it').waitFor();
  await alert.getByRole('cell', { name: 'Mine' }).waitFor();
  await alert.getByRole('cell', { name: 'Theirs' }).waitFor();
  const proposal = { message: 'Mine', n: 2, name: 'Ada Lovelace' };
  assert.deepEqual(JSON.parse(await editor.inputValue()), proposal);
  assert.equal((await call('GET', `${rows}/r1`, { key })).data.message, 'Theirs', 'nothing is written yet');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  assert.deepEqual((await call('GET', `${rows}/r1`, { key })).data, proposal);
  await page.getByRole('heading', { name: 'History' }).waitFor();
  assert.equal(await page.locator('.history > li').count(), 3);
  await page.locator('.history > li').first().getByText('Theirs → Mine').waitFor();
  check();
  await context.close();
});

test('a filter that is refused says so, and the rows come back with one that is not', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'filter@example.org');
  await call('POST', `/v1/apps/${app.id}/collections/entries`, { key, body: { key: 'r1', data: { name: 'Ada', message: 'M' } } });
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries`);
  await page.getByRole('link', { name: 'r1', exact: true }).waitFor();
  await page.getByLabel('Value').fill('Ada');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('alert').getByText('Choose a field.').waitFor();
  await page.getByRole('link', { name: 'r1', exact: true }).waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Value').inputValue(), 'Ada');
  await page.getByLabel('Field', { exact: true }).fill('name');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('link', { name: 'r1', exact: true }).waitFor();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  check();
  await context.close();
});

test('a form whose session ended is sent again after signing in, with what was typed', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'late@example.org');
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries/new`);
  await page.getByLabel('Key').fill('late');
  await page.getByLabel('Content, as JSON').fill('{\n  "name": "Ada",\n  "message": "<b>Long</b> & dear"\n}');
  const other = await context.newPage();
  await other.goto(SITE_URL);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByText('You are signed out').waitFor();
  await page.getByRole('button', { name: 'Create the row' }).click();
  await page.getByRole('alert').getByText('Nothing was saved.').waitFor();
  await signIn(other, 'late@example.org');
  await page.getByRole('button', { name: 'Send it again' }).click();
  await page.getByText('The row is created.').waitFor();
  const row = await call('GET', `/v1/apps/${app.id}/collections/entries/late`, { key });
  assert.deepEqual(row.data, { name: 'Ada', message: '<b>Long</b> & dear' });
  check();
  await context.close();
});

test('a page of rows is live again after a connection that failed', async () => {
  const { context, page, key, app } = await newcomer(browser, 'offline@example.org');
  const rows = `/v1/apps/${app.id}/collections/entries`;
  const write = (name) => call('POST', rows, { key, body: { key: name, data: { name, message: 'M' } } });
  const shown = (name) => page.getByRole('link', { name, exact: true }).waitFor();
  const said = page.getByText('The connection is lost');
  let broken = 2;
  await page.route('**/changes?*', (route) => (broken-- > 0 ? route.abort() : route.continue()));
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries`);
  await said.waitFor();
  await write('one');
  await shown('one');
  await said.waitFor({ state: 'detached' });
  // What changed is asked for until it comes, too.
  let refused = 1;
  await page.route(/\/data\/entries(\?|$)/, (route) => (refused-- > 0 ? route.fulfill({ status: 503 }) : route.continue()));
  await write('two');
  await shown('two');
  assert.ok(refused < 0);
  // Whoever may not see it any more is told so, once.
  let asked = 0;
  await page.route('**/changes?*', (route) => { asked += 1; return route.fulfill({ status: 404 }); });
  await write('three');
  await page.getByText('This page is not live any more').waitFor();
  await page.evaluate(() => { dispatchEvent(new Event('online')); });
  assert.equal(asked, 1);
  await context.close();
});

test('live rows leave focus and sideways scroll where they are', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'focus@example.org', { viewport: { width: 700, height: 800 } });
  const rows = `/v1/apps/${app.id}/collections/entries`;
  const long = { name: 'N'.repeat(60), message: 'Words and words and more words, on and on. '.repeat(5) };
  for (let n = 10; n < 37; n += 1) await call('POST', rows, { key, body: { key: `row-${n}`, data: long } });
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries`);
  const table = page.getByRole('region', { name: 'Rows of entries' });
  const held = ['New row', 'Trash', 'name', 'row-25', 'Next page']
    .map((name) => page.getByRole('link', { name, exact: true }));
  for (const [step, one] of [...held, table].entries()) {
    await one.focus();
    await table.evaluate((it) => { it.scrollLeft = 60; });
    await call('PATCH', `${rows}/row-25`, { key, body: { data: { name: `Step ${step}` } } });
    await page.getByRole('cell', { name: `Step ${step}`, exact: true }).waitFor();
    assert.ok(await one.evaluate((it) => it === document.activeElement), `${step}`);
    assert.equal(await table.evaluate((it) => it.scrollLeft), 60, `${step}`);
  }
  check();
  await context.close();
});

test('a list is filtered and sorted in place, and its address keeps that', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'list@example.org');
  const rows = `/v1/apps/${app.id}/collections/entries`;
  for (const name of ['Ada', 'Grace', 'Linus']) {
    await call('POST', rows, { key, body: { data: { name, message: `By ${name}` } } });
  }
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries`);
  await page.getByLabel('Field').fill('name');
  await page.getByLabel('Value').fill('Grace');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('cell', { name: 'By Ada' }).waitFor({ state: 'detached' });
  await page.getByRole('cell', { name: 'By Grace' }).waitFor();
  await page.reload();
  assert.equal(await page.locator('tbody tr').count(), 1);
  await page.goBack();
  await page.getByRole('cell', { name: 'By Ada' }).waitFor();
  await page.getByRole('link', { name: 'name', exact: true }).click();
  await page.locator('th[aria-sort=ascending]').waitFor();
  assert.match(page.url(), /sort=name/);
  check();
  await context.close();
});

test('a long list is turned in place, onward and back, and by the browser too', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'long@example.org');
  const rows = `/v1/apps/${app.id}/collections/entries`;
  for (let n = 10; n < 40; n += 1) {
    await call('POST', rows, { key, body: { key: `row-${n}`, data: { name: `Guest ${n}`, message: 'Hello' } } });
  }
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries?sort=name`);
  await page.evaluate(() => { globalThis.stays = true; });
  const shows = async (first, gone) => {
    await page.getByRole('link', { name: first, exact: true }).waitFor();
    assert.equal(await page.getByRole('link', { name: gone, exact: true }).count(), 0);
  };
  await shows('row-10', 'row-39');
  await page.getByRole('link', { name: 'Next page' }).click();
  await shows('row-39', 'row-10');
  await page.getByRole('link', { name: 'Previous page' }).click();
  await shows('row-10', 'row-39');
  assert.equal(await page.evaluate(() => globalThis.stays), true, 'no page was loaded anew');
  await page.goBack();
  await shows('row-39', 'row-10');
  assert.match(page.url(), /sort=name&cursor=/);
  check();
  await context.close();
});

test('a version is compared, rolled back, and the app deleted and restored', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'versions@example.org');
  await call('POST', `/v1/apps/${app.id}/versions`, { key, body: { html: '<h1>Second</h1>\n' } });
  await page.goto(`${SITE_URL}/apps/${app.id}/versions`);
  await page.getByRole('link', { name: 'Version 2' }).click();
  await page.getByRole('region', { name: 'Document: what changed' }).getByText('<h1>Second</h1>').waitFor();
  await page.goto(`${SITE_URL}/apps/${app.id}/versions/1`);
  await page.getByRole('button', { name: 'Roll back to version 1' }).click();
  await page.getByRole('heading', { name: 'Version 3' }).waitFor();
  const document = await call('GET', `/v1/apps/${app.id}/document`, { key });
  assert.ok(!document.includes('Second'));

  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Move to the trash' }).click();
  await page.getByRole('heading', { level: 1, name: 'Trash' }).waitFor();
  await page.getByRole('button', { name: `Restore ${app.slug}` }).click();
  await page.getByText('The app is back, with all its data.').waitFor();
  const rows = await call('GET', `/v1/apps/${app.id}/collections/entries`, { key });
  assert.equal(rows.items.length, 1);
  check();
  await context.close();
});

test('signing out everywhere ends the other browser as well', async () => {
  const here = await visitor(browser);
  const there = await visitor(browser);
  await signIn(here.page, 'twice@example.org');
  await signIn(there.page, 'twice@example.org');
  await here.page.getByRole('link', { name: 'Account' }).click();
  await here.page.getByText('Another browser').waitFor();
  await here.page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await here.page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  // Its page asks for its steps by itself, and leaves.
  await there.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  here.check();
  await here.context.close();
  await there.context.close();
});

test('a page whose session ends elsewhere goes to sign in, and comes back to itself', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'ended@example.org');
  const rows = `${SITE_URL}/apps/${app.id}/data/entries?sort=name`;
  await page.goto(rows);
  const elsewhere = await context.newPage();
  await elsewhere.goto(`${SITE_URL}/account`);
  await elsewhere.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL(/\/sign-in\?redirect_to=/);
  await signIn(page, 'ended@example.org', null, app.slug);
  assert.equal(page.url(), rows);
  // Live as before.
  await call('POST', `/v1/apps/${app.id}/collections/entries`, { key, body: { key: 'new', data: { name: 'N', message: 'M' } } });
  await page.getByRole('link', { name: 'new', exact: true }).waitFor();
  check();
  await context.close();
});

test('without script everything is still there', async () => {
  const { context, page, app } = await newcomer(browser, 'plain@example.org', { javaScriptEnabled: false });
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries`);
  await page.getByLabel('Field').fill('name');
  await page.getByLabel('Value').fill('nobody');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('None that fits.').waitFor();
  await page.goto(`${SITE_URL}/agents`);
  await page.getByText('Manage').click();
  await page.getByLabel('Name', { exact: true }).fill('Renamed');
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByText('The name is changed.').waitFor();
  await page.getByText('Renamed', { exact: true }).waitFor();
  await context.close();
});

test('a browser asks to be told, is told, and takes that back', async () => {
  const { context, page, check } = await visitor(browser);
  // The browser's own push service is not within reach of a test; what it would answer is.
  await page.addInitScript(() => {
    const made = () => ({
      endpoint: 'https://push.example.net/one',
      toJSON: () => ({ endpoint: 'https://push.example.net/one', expirationTime: null, keys: { p256dh: 'key', auth: 'secret' } }),
      unsubscribe: async () => { localStorage.removeItem('held'); return true; },
    });
    PushManager.prototype.getSubscription = async () => (localStorage.getItem('held') ? made() : null);
    PushManager.prototype.subscribe = async (options) => {
      globalThis.asked = options;
      localStorage.setItem('held', 'yes');
      return made();
    };
  });
  const sent = [];
  let held;
  await page.route('**/v1/self/push-subscriptions', async (route) => {
    sent.push([route.request().method(), route.request().postDataJSON()]);
    await held;
    return route.fulfill({ status: route.request().method() === 'POST' ? 201 : 204, json: {} });
  });
  await signIn(page, 'told@example.org');
  await page.goto(`${SITE_URL}/account`);
  const told = page.getByRole('region', { name: 'Notifications in this browser' });
  await told.getByRole('button', { name: 'Turn on' }).focus();
  await page.keyboard.press('Enter');
  await told.getByRole('button', { name: 'Turn off' }).waitFor();
  // It is said, and the keyboard stays where it was.
  await told.getByRole('status').getByText('Notifications are on.').waitFor();
  await until(page, () => document.activeElement.textContent === 'Turn off');
  const asked = await page.evaluate(() => globalThis.asked);
  assert.equal(asked.userVisibleOnly, true);
  assert.equal(Buffer.from(asked.applicationServerKey, 'base64url').length, 65);
  // The service forgets it with the session: a new one tells it again.
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  const again = page.waitForRequest('**/v1/self/push-subscriptions');
  await signIn(page, 'told@example.org');
  await again;
  await until(page, () => localStorage.getItem('push-session') === document.body.dataset.session);
  // While it is told again, nothing is taken back: what is saved last would stay.
  let release;
  held = new Promise((resolve) => { release = resolve; });
  await page.evaluate(() => localStorage.setItem('push-session', 'another'));
  await page.goto(`${SITE_URL}/account`);
  await told.getByRole('button', { name: 'Turn off' }).click();
  await page.evaluate(async () => (await navigator.serviceWorker.ready).pushManager.getSubscription());
  assert.equal(sent.at(-1)[0], 'POST');
  release();
  await told.getByRole('button', { name: 'Turn on' }).waitFor();
  await told.getByRole('status').getByText('Notifications are off.').waitFor();
  const endpoint = 'https://push.example.net/one';
  const saved = ['POST', { endpoint, expirationTime: null, keys: { p256dh: 'key', auth: 'secret' } }];
  assert.deepEqual(sent, [saved, saved, saved, ['DELETE', { endpoint }]]);
  // It is this account's: another that signs in at the same browser is told of nothing before it asks.
  await told.getByRole('button', { name: 'Turn on' }).click();
  await told.getByRole('button', { name: 'Turn off' }).waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  await signIn(page, 'another@example.org');
  await page.goto(`${SITE_URL}/account`);
  await told.getByRole('button', { name: 'Turn on' }).click();
  await told.getByRole('button', { name: 'Turn off' }).waitFor();
  assert.deepEqual(sent.slice(4), [saved, saved]);
  check();
  await context.close();
});
