// What only a browser can tell of the site's pages: where the focus is after a form, what loading an
// answer anew does, what fits and what scrolls. Run by tests/browser/run --site URL.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch } from './harness.mjs';
import { SITE_URL, call, newcomer } from './people.mjs';
import { picture } from './sound.mjs';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// The id of the element that has the focus, which has to be in sight.
const focused = async (page) => {
  // A browser gives it once a page stands, which may be later than its text does.
  await page.locator('[id]:focus').waitFor();
  const { id, seen } = await page.evaluate(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    return { id: document.activeElement.id, seen: top >= 0 && bottom <= innerHeight };
  });
  assert.ok(seen, `${id} is in sight`);
  return id;
};

test('an answer with a secret that is loaded anew makes no second one', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'anew@example.org');
  await page.goto(`${SITE_URL}/agents`);
  await page.getByRole('button', { name: 'New claim code' }).click();
  const code = await page.locator('#claim-code').textContent();
  // Copied, or told how to: a change of a button's own words is not read out.
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await page.locator('p[role=status]', { hasText: /^(Copied|Press Ctrl\+C)$/ }).waitFor();
  await page.reload();
  await page.getByRole('status').getByText('This was done already').waitFor();
  assert.equal(await page.locator('#claim-code').count(), 0);
  const { key: { secret } } = await call('POST', '/v1/register', { body: { name: 'Walker' } });
  await call('POST', '/v1/agents/claim', { key: secret, body: { code } });

  await page.goto(`${SITE_URL}/apps/${app.id}/sharing`);
  await page.getByText('New credential').click();
  await page.getByLabel('Every collection, later ones too').check();
  await page.getByRole('button', { name: 'Create credential' }).click();
  await page.getByRole('heading', { name: 'The credential\'s token' }).waitFor();
  await page.reload();
  await page.getByRole('status').getByText('This was done already').waitFor();
  assert.equal((await call('GET', `/v1/apps/${app.id}/credentials`, { key })).items.length, 1);
  check();
  await context.close();
});

for (const javaScriptEnabled of [true, false]) {
  test(`after a form the focus is where it was sent, ${javaScriptEnabled ? 'with' : 'without'} script`, async () => {
    const { context, page, app, check } = await newcomer(browser, `focus-${javaScriptEnabled}@example.org`, { javaScriptEnabled, viewport: { width: 375, height: 600 } });
    await page.goto(`${SITE_URL}/apps/${app.id}/sharing`);
    const add = async (email) => {
      await page.getByLabel('E-mail address').first().fill(email);
      await page.getByRole('button', { name: 'Add', exact: true }).click();
    };
    await add('one@example.org');
    await page.getByText('They are a member now.').waitFor();
    assert.equal(await focused(page), 'notice');
    assert.ok(await page.getByRole('heading', { name: 'Members' }).evaluate((it) => it.getBoundingClientRect().top >= 0));
    // What is refused next has the focus at its field, though the address led to what was done.
    await add('one@example.org');
    await page.getByText('a member already').first().waitFor();
    assert.equal(await focused(page), 'member-email');
    const why = await page.getByLabel('E-mail address').first().evaluate((it) => document.getElementById(it.getAttribute('aria-describedby').trim()).textContent);
    assert.match(why, /a member already/);
    await picture(page, `refused-${javaScriptEnabled}`);
    await page.goto(`${SITE_URL}/agents`);
    await page.getByText('Manage').click();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('The agent is paused').waitFor();
    assert.equal(await focused(page), 'notice');
    check();
    await context.close();
  });
}

test('a filter that is refused has the focus at its field', async () => {
  const { context, page, app, check } = await newcomer(browser, 'refused@example.org');
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries`);
  await page.getByLabel('Value').fill('Ada');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.locator('#field[aria-invalid=true]').waitFor();
  assert.equal(await focused(page), 'field');
  await page.getByLabel('Field', { exact: true }).fill('name');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.locator('#field:not([aria-invalid])').waitFor();
  assert.equal(await page.getByLabel('Value').inputValue(), 'Ada');
  check();
  await context.close();
});

test('a wide table scrolls in its own frame, and a row leads back to the list as it was', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'wide@example.org', { viewport: { width: 1440, height: 900 } });
  const mine = ['owner'];
  const notes = { permissions: { read: mine, write: mine, update: mine, delete: mine } };
  const manifest = { collections: { notes } };
  await call('POST', `/v1/apps/${app.id}/versions`, { key, body: { html: '<h1>Notes</h1>', force: true, manifest } });
  const long = { about: 'Words and words and more words, on and on. '.repeat(8), link: `https://example.org/${'path/'.repeat(40)}` };
  const data = { ...long, name: 'Ada Lovelace', count: 12345678, tags: ['one', 'two', 'three'], done: true, zone: 'Europe/Vienna' };
  for (let n = 10; n < 37; n += 1) await call('POST', `/v1/apps/${app.id}/collections/notes`, { key, body: { key: `a-rather-long-row-key-${n}`, data } });
  const table = page.getByRole('region', { name: 'Rows of notes' });
  for (const [width, scrolls] of [[1440, true], [375, false], [320, false]]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${SITE_URL}/apps/${app.id}/data/notes?field=done&op=eq&value=true&sort=-count`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `page at ${width}`);
    assert.equal(await table.evaluate((it) => it.scrollWidth > it.clientWidth), scrolls, `table at ${width}`);
    if (!scrolls) continue;
    await table.focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => document.getElementById('rows-table').scrollLeft > 0);
  }
  const cell = page.getByRole('cell', { name: 'Words and words' }).first();
  assert.match(await cell.getAttribute('title'), /^(Words and words and more words, on and on\. ){5}/);

  await page.getByRole('link', { name: 'Next page' }).click();
  await page.getByRole('link', { name: 'Previous page' }).waitFor();
  const list = page.url();
  await page.getByRole('link', { name: 'a-rather-…' }).first().click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByRole('link', { name: 'Previous page' }).waitFor();
  assert.equal(page.url(), list);
  check();
  await context.close();
});

test('whoever turns pages or filters by keyboard stays at the rows, and hears how many there are', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'turns@example.org');
  for (let n = 10; n < 36; n += 1) await call('POST', `/v1/apps/${app.id}/collections/entries`, { key, body: { key: `k${n}`, data: { name: `n${n}`, message: 'x' } } });
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries`);
  await page.getByRole('link', { name: 'Next page' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Previous page' }).waitFor();
  await page.waitForFunction(() => document.activeElement.id === 'rows-table');
  const said = page.locator('#said');
  assert.match(await said.textContent(), /^\d rows? on this page$/);
  await page.getByLabel('Field', { exact: true }).fill('name');
  await page.getByLabel('Value').fill('n12');
  await page.keyboard.press('Enter');
  await said.getByText('1 row', { exact: true }).waitFor({ state: 'attached' });
  // A place in the list that is none any more leads to its beginning, and is no fault of a field.
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries?cursor=stale`);
  await page.getByRole('alert').getByText('is there no more').waitFor();
  assert.equal(await page.locator('[aria-invalid]').count(), 0);
  await page.getByRole('link', { name: 'Begin again' }).click();
  await page.getByRole('link', { name: 'Next page' }).waitFor();
  check();
  await context.close();
});

test('what an action did is said once', async () => {
  const { context, page, check } = await newcomer(browser, 'once@example.org');
  await page.goto(`${SITE_URL}/account`);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  assert.equal(new URL(page.url()).search, '');
  await page.reload();
  assert.equal(await page.getByText('Saved.').count(), 0);
  check();
  await context.close();
});

test('the ways through the site are all in sight on the smallest phone', async () => {
  const { context, page, app, check } = await newcomer(browser, 'small@example.org', { viewport: { width: 320, height: 700 } });
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries`);
  for (const name of ['Site', 'App']) {
    const nav = page.getByRole('navigation', { name, exact: true });
    assert.equal(await nav.evaluate((it) => it.scrollWidth > it.clientWidth), false, name);
    const right = await nav.getByRole('link').last().evaluate((it) => it.getBoundingClientRect().right);
    assert.ok(right <= 320, `${name}: ${right}`);
  }
  const inks = await page.getByLabel('Sort by').evaluate((it) => [getComputedStyle(it, '::placeholder').color, getComputedStyle(document.querySelector('.crumb + .title .facts')).color]);
  assert.equal(inks[0], inks[1], 'a placeholder is as dark as other soft text');
  check();
  await context.close();
});

test('the lines of a chart are told apart without colour, also in its legend', async () => {
  const { context, page, check } = await newcomer(browser, 'chart@example.org');
  await page.goto(`${SITE_URL}/usage`);
  await page.locator('.u-legend .u-marker').nth(2).waitFor({ state: 'attached' });
  const looks = await page.locator('.u-legend .u-marker').evaluateAll((all) => all.map((it) => getComputedStyle(it).borderBottomStyle));
  assert.deepEqual(looks.slice(-3), ['solid', 'dashed', 'dotted']);
  await page.locator('.u-legend .u-label').last().click({ force: true });
  assert.equal(await page.locator('.u-legend .u-off').count(), 0);
  check();
  await context.close();
});

test('many collections take one line of a phone until they are asked for', async () => {
  const { context, page, key, app, check } = await newcomer(browser, 'many@example.org', { viewport: { width: 375, height: 700 } });
  const mine = ['owner'];
  const one = { permissions: { read: mine, write: mine, update: mine, delete: mine } };
  const collections = Object.fromEntries([...Array(30).keys()].map((n) => [`collection_number_${n + 10}`, one]));
  await call('POST', `/v1/apps/${app.id}/versions`, { key, body: { html: '<h1>Many</h1>', force: true, manifest: { collections } } });
  await page.goto(`${SITE_URL}/apps/${app.id}/data/collection_number_12`);
  await picture(page, 'many-collections');
  const choice = page.getByRole('navigation', { name: 'Collections' });
  const height = () => choice.evaluate((it) => it.getBoundingClientRect().height);
  assert.ok(await height() < 100, `${await height()}`);
  await choice.getByText('one of 30').click();
  await picture(page, 'many-collections-open');
  await choice.getByRole('link', { name: 'collection_number_39' }).click();
  await choice.getByText('collection_number_39').first().waitFor();
  assert.ok(await height() < 100);
  check();
  await context.close();
});

test('times stand in the reader\'s zone and name it, and say what they are in UTC', async () => {
  const { context, page, app, check } = await newcomer(browser, 'times@example.org', { timezoneId: 'Asia/Kathmandu', locale: 'en-GB' });
  await page.goto(`${SITE_URL}/apps/${app.id}/data/entries`);
  await page.locator('time[title]').first().waitFor();
  for (const time of await page.locator('time').all()) {
    assert.match(await time.textContent(), /GMT\+5:45$/);
    assert.match(await time.getAttribute('title'), /^\d+ \w{3} \d{4}, \d\d:\d\d UTC$/);
  }
  check();
  await context.close();
});
