// The operators' pages of a running server (OPS_URL), in a real browser: by keyboard, live, in
// light and dark, on a small screen, and without anything that axe-core calls serious. Run by
// `cargo test` (tests/ops/browser.rs).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { launch, onPage, until } from './harness.mjs';
import { picture } from './sound.mjs';

const OPS = process.env.OPS_URL;
const PAGES = { overview: '/ops', tree: '/ops/tree', hot: '/ops/hot', restarts: '/ops/restarts', app: '/ops/apps/busy-app' };
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const focused = (page) => page.evaluate(() => document.activeElement.dataset.key ?? document.activeElement.tagName);
const press = async (page, ...keys) => { for (const key of keys) await page.keyboard.press(key); };
const live = (page) => until(page, () => document.getElementById('state').textContent === 'live');

// The hottest apps are those of the last minute: these come first.
test('Enter opens the app of the row, and Tab finds one stop in a grid', () => onPage(browser, `${OPS}/ops/hot`, async ({ page }) => {
  await live(page);
  await until(page, () => document.querySelectorAll('tbody tr:not([hidden])').length > 0);
  assert.equal(await page.locator('tbody tr[tabindex="0"]').count(), 1);
  await page.locator('tbody tr[tabindex="0"]').focus();
  const app = await focused(page);
  await Promise.all([page.waitForURL(`**/ops/apps/${app}`), press(page, 'Enter')]);
}));

test('a row keeps the focus of whoever stands on it when it changes places', () => onPage(browser, `${OPS}/ops/hot`, async ({ page }) => {
  await live(page);
  await until(page, () => document.querySelectorAll('tbody tr:not([hidden])').length > 1);
  const moved = await page.evaluate(() => {
    const [first, second] = document.querySelectorAll('tbody tr');
    first.focus();
    const stands = first.dataset.key;
    const cells = {};
    for (const [place, row] of [['0.0', second], ['0.1', first]]) {
      cells[`${place}.key`] = row.dataset.key;
      cells[`${place}.0`] = row.cells[0].textContent;
    }
    source.onmessage({ data: JSON.stringify(cells) });
    return [stands, document.activeElement.dataset.key, document.activeElement === second];
  });
  assert.equal(moved[0], moved[1]);
  assert.ok(moved[2], 'the focus went with the app');
}));

for (const [look, width, colorScheme] of [['light', 1100, 'light'], ['dark', 1100, 'dark'], ['phone', 375, 'light'], ['phone-dark', 375, 'dark']]) {
  test(`nothing serious is wrong with the pages: ${look}`, async () => {
    const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, reducedMotion: 'reduce', bypassCSP: true });
    for (const [name, path] of Object.entries(PAGES)) {
      const page = await context.newPage();
      await page.goto(OPS + path);
      await live(page);
      await picture(page, `ops/${name}-${look}`);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wider <= 0, `${name}: ${wider}px wider than the screen`);
      for (const details of await page.locator('details').all()) await details.evaluate((it) => { it.open = true; });
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations.filter((it) => ['serious', 'critical'].includes(it.impact));
      const told = serious.map((it) => `${it.id}: ${it.nodes[0].html} (${it.nodes.length})`);
      assert.deepEqual(told, [], name);
      await page.close();
    }
    await context.close();
  });
}

test('the tree is walked, opened and closed by keyboard alone', () => onPage(browser, `${OPS}/ops/tree`, async ({ page }) => {
  await live(page);
  await page.locator('tr[data-key=root]').focus();
  await press(page, 'ArrowDown');
  assert.equal(await focused(page), 'writer');
  await press(page, 'ArrowLeft');
  assert.equal(await focused(page), 'root', 'left leads to the parent');
  await press(page, 'ArrowRight');
  assert.equal(await focused(page), 'writer', 'right leads to the first child');
  await press(page, 'End');
  const last = await focused(page);
  assert.match(last, /^shard /);
  await press(page, 'Home');
  assert.equal(await focused(page), 'root');
  await press(page, 'PageDown', 'PageUp');
  assert.equal(await focused(page), 'root');

  const shard = await page.locator('tr[data-key^="shard "]', { hasNotText: 'apps: 0' }).first().getAttribute('data-key');
  await page.locator(`tr[data-key="${shard}"]`).focus();
  await Promise.all([page.waitForURL(/shard=/), press(page, 'ArrowRight')]);
  await live(page);
  assert.equal(await focused(page), shard, 'the keyboard goes on where it was');
  assert.equal(await page.locator(`tr[data-key="${shard}"]`).getAttribute('aria-expanded'), 'true');
  await press(page, 'ArrowRight');
  assert.match(await focused(page), /^app_/, 'right leads into the open shard');
  await press(page, 'ArrowLeft');
  assert.equal(await focused(page), shard);
  await Promise.all([page.waitForURL((url) => !url.search), press(page, 'ArrowLeft')]);
  assert.equal(await focused(page), shard, 'closed, and still there');
}));

test('an action is sent with its reason and told', () => onPage(browser, `${OPS}/ops/apps/busy-app`, async ({ page }) => {
  await page.getByLabel('Action').selectOption('wake');
  await page.getByLabel('Reason').fill('a look from the browser');
  await page.getByRole('button', { name: 'Do it' }).click();
  await page.getByText('done: live').waitFor();
}));

test('an action is sent once however often it is clicked, and a refused reason is at its field', () => onPage(browser, `${OPS}/ops/apps/busy-app`, async ({ page }) => {
  let sent = 0;
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route('**/actions/*', async (route) => { sent += 1; await held; await route.continue(); });
  await page.getByLabel('Action').selectOption('hibernate');
  const reason = page.getByLabel('Reason');
  await reason.fill(' ');
  await page.getByRole('button', { name: 'Do it' }).dblclick();
  release();
  await page.getByText('the reason must have').waitFor();
  assert.equal(sent, 1);
  assert.equal(await reason.getAttribute('aria-invalid'), 'true');
  assert.equal(await page.evaluate(() => document.activeElement.name), 'reason');
}));

test('rows are opened by keyboard in a browser without script', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${OPS}/ops/tree`);
  const shard = page.locator('tbody a[href*="shard="]').first();
  for (let stops = 0; stops < 40 && !await shard.evaluate((it) => it === document.activeElement); stops += 1) await press(page, 'Tab');
  await Promise.all([page.waitForURL(/shard=/), press(page, 'Enter')]);
  await context.close();
});

test('the form of an app works in a browser without script', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${OPS}/ops/apps/busy-app`);
  await page.getByLabel('Action').selectOption('wake');
  await page.getByLabel('Reason').fill('a look without script');
  await page.getByRole('button', { name: 'Do it' }).click();
  await page.getByText('done: wake').waitFor();
  await context.close();
});

test('a page is live where the browser stores nothing', async () => {
  const context = await browser.newContext();
  await context.addInitScript(() => Object.defineProperty(window, 'sessionStorage', {
    get() { throw new DOMException('blocked', 'SecurityError'); },
  }));
  const page = await context.newPage();
  const thrown = [];
  page.on('pageerror', (error) => thrown.push(error));
  await page.goto(`${OPS}/ops/apps/busy-app`);
  await page.getByLabel('Reason').fill('a look without storage');
  await page.getByRole('button', { name: 'Do it' }).click();
  await page.getByText('done: live').waitFor();
  assert.deepEqual(thrown, []);
  await context.close();
});
