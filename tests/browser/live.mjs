// examples/guestbook on a running server, at APP_URL: what two visitors see of each other. Run by
// `tests/browser/run --live URL`; everything in it is the real thing.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch, onPage, until } from './harness.mjs';

const { APP_URL } = process.env;
let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const sign = async (page, name, message) => {
  await page.getByLabel('Your name').fill(name);
  await page.getByLabel('Your message').fill(message);
  await page.getByRole('button', { name: 'Sign the book' }).click();
  await page.locator('li p', { hasText: message }).waitFor();
};

test('two visitors see each other live, and each owns what it wrote', () => onPage(browser, APP_URL,
  async ({ page: first }) => onPage(browser, APP_URL, async ({ page: second }) => {
    await second.getByText('Live:').waitFor();
    const message = `Hello ${Date.now()}`;
    await sign(first, 'First', message);
    const seen = second.locator('li', { hasText: message });
    await seen.waitFor();
    assert.equal(await seen.getByRole('button').count(), 0, 'a stranger has no delete button');
    const { key, creator } = await second.evaluate(async (text) => (await app.collection('entries')
      .list({ filter: { message: text } })).items[0], message);
    assert.equal(creator.id, await first.evaluate(async () => (await app.me).id));
    assert.notEqual(creator.id, await second.evaluate(async () => (await app.me).id));
    for (const work of ['update(key, { message: "mine" })', 'delete(key)']) {
      const code = await second.evaluate(`(async (key) => app.collection('entries').${work}
        .catch((e) => e.code))(${JSON.stringify(key)})`);
      assert.match(code, /^collection_(write|delete)_forbidden$/);
    }
    await first.reload();
    first.on('dialog', (dialog) => dialog.accept());
    const own = first.locator('li', { hasText: message });
    await own.getByRole('button', { name: 'Delete the entry by First' }).click();
    await seen.waitFor({ state: 'detached' });
  })));

test('a row that breaks the schema is refused with its paths', () => onPage(browser, APP_URL,
  async ({ page }) => {
    const error = await page.evaluate(async () => app.collection('entries').create({ name: '' })
      .catch(({ code, status, retryable, details }) => ({ code, status, retryable, details })));
    assert.equal(error.code, 'row_schema_violation');
    assert.equal(error.status, 422);
    assert.equal(error.retryable, false);
    assert.ok(error.details);
  }));

test('the page cannot reach what its manifest does not name', () => onPage(browser, APP_URL,
  async ({ page }) => {
    const blocked = page.evaluate(() => new Promise((resolve) => {
      document.addEventListener('securitypolicyviolation', (e) => resolve(e.effectiveDirective));
      fetch('https://example.com/').catch(() => {});
    }));
    assert.equal(await blocked, 'connect-src');
    await until(page, () => typeof window.app.collection === 'function');
  }));
