// What a page gets wrong in a call is refused before anything is sent: a misspelt guard that is left
// out in silence would guard nothing.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch, until, withPage } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });
const plain = () => {};

// Each call with what its refusal names.
const WRONG = [
  ["update('k', {}, { if_match: 1 })", 'if_match'],
  ["update('k', {}, 1)", 'ifMatch'],
  ["update({ key: 'k', data: {} })", 'key'],
  ["update(7, {})", 'key'],
  ["update('k', {}, { ifMatch: NaN })", 'ifMatch'],
  ["update('k', {}, { ifMatch: undefined })", 'ifMatch'],
  ["update('k', {}, { ifMatch: null, replace: true })", 'ifMatch'],
  ["delete('k', { if_match: 1 })", 'if_match'],
  ["delete('k', { ifMatch: '1' })", 'ifMatch'],
  ["delete({ key: 'k' })", 'key'],
  ["get('k', { include_deleted: true })", 'include_deleted'],
  ["get(['k'])", 'key'],
  ["list({ where: { a: 1 } })", 'where'],
  ["list('open')", 'filter'],
  ["list(null)", 'filter'],
  ["list([])", 'filter'],
  ["count({ filter: { a: 1 } })", 'filter'],
  ["list({ filter: { owner: undefined } })", 'owner'],
  ["list({ filter: { n: { gt: NaN } } })", 'gt'],
  ["list({ filter: { text: ''.trim } })", 'text'],
  ["list({ filter: { n: 1n } })", 'BigInt'],
  ["list({ filter: { get self() { return this; } } })", 'circular'],
  ["get('\\ud800')", 'URI'],
  ["update('\\ud800', {})", 'URI'],
  ["create({}, 'mykey')", 'idempotencyKey'],
  ["create({}, { key: 5 })", 'key'],
  ["create({}, { idempotency_key: 'x' })", 'idempotency_key'],
  ["upsert('email', {}, { ifMatch: 1 })", 'ifMatch'],
  ["can('create')", 'create'],
  ["can('toString')", 'toString'],
  ["can('delete', 'k')", 'row'],
];

test('an unknown option, operation or key rejects with its name, and nothing is sent',
  () => withPage(browser, plain, async ({ page, service }) => {
    for (const [call, named] of WRONG) {
      const error = await page.evaluate(`app.collection('n').${call}
        .then(() => 'no refusal', (e) => ({ app: e instanceof app.AppError, code: e.code,
          message: e.message, hint: e.hint, retryable: e.retryable, status: e.status }))`);
      assert.deepEqual([error.app, error.code, error.retryable, error.status],
        [true, 'invalid_request', false, 0], call);
      assert.ok(error.message.includes(named), `${call}: ${error.message}`);
      assert.match(error.hint, /reference\/sdk/, call);
    }
    for (const call of ["app.signIn({ return_to: '/x' })", "app.signIn({ returnTo: 'http://[' })",
      "app.collection('\\ud800').list()", "app.collection('\\ud800').create({})", "app.collection('\\ud800').count()",
      "app.events.send('t', {}, { key: 'x' })", "app.signOut({ everywhere: true })"]) {
      const code = await page.evaluate(`${call}.catch((e) => e instanceof app.AppError && e.code)`);
      assert.equal(code, 'invalid_request', call);
    }
    assert.equal(service.requests.length, 0);
  }));

test('what gives no promise throws the same', () => withPage(browser, plain,
  async ({ page, service }) => {
    for (const call of ["app.collection('n').subscribe(() => {}, { onerror: () => {} })",
      "app.collection('n').subscribe({ onSync: () => {} })", "app.events.on('t', () => {}, 'x')",
      "app.events.on('t')", 'app.onAuth(() => {}, { on_error: () => {} })', 'app.onAuth()']) {
      const code = await page.evaluate(`(() => {
        try { ${call}; return 'no refusal'; } catch (e) { return e instanceof app.AppError && e.code; }
      })()`);
      assert.equal(code, 'invalid_request', call);
    }
    assert.equal(service.requests.length, 0);
  }));

test('options that are left out or undefined are none', () => withPage(browser, plain,
  async ({ page }) => {
    const version = await page.evaluate(async () => {
      const notes = app.collection('n');
      const { key } = await notes.create({ a: 1 }, undefined);
      await notes.list({ filter: undefined, cursor: null });
      return (await notes.update(key, { a: 2 }, { replace: undefined })).version;
    });
    assert.equal(version, 2);
  }));

const refused = (service) => service.faults.push((r) => (r.path === 'collections/n'
  ? service.refuse(403, 'collection_read_forbidden') : undefined));

test('a subscription that is refused says so in the console, once, where nobody listens',
  () => withPage(browser, refused, async ({ page }) => {
    const said = [];
    page.on('console', (line) => {
      if (line.type() === 'error' && line.text().includes('has ended')) said.push(line.text());
    });
    await page.evaluate(() => {
      app.collection('n').subscribe(() => {});
      app.collection('n').subscribe(() => {}, { onError: (error) => { window.heard = error.code; } });
    });
    await until(page, () => window.heard === 'collection_read_forbidden');
    assert.equal(said.length, 1);
    assert.match(said[0], /subscribe to n has ended: collection_read_forbidden/);
  }));

test('an error of the SDK itself says what to do', () => withPage(browser,
  (service) => service.faults.push((r) => (r.path === 'collections/n/k' ? [418, 'tea'] : undefined)),
  async ({ page }) => {
    const hints = await page.evaluate(() => Promise.all(['k', 'count', ''].map(
      (key) => app.collection('n').get(key).catch((e) => e.hint))));
    assert.ok(hints.every((hint) => hint.length > 20), hints.join('\n'));
  }));

test('what a page adds to every object is no option', () => withPage(browser, plain, async ({ page }) => {
  const key = await page.evaluate(async () => {
    Object.prototype.legacy = () => {};
    const { key } = await app.collection('n').create({ a: 1 }, { key: 'k' });
    await app.collection('n').update(key, { a: 2 }, { ifMatch: 1 });
    return key;
  });
  assert.equal(key, 'k');
}));
