// The SDK's calls: sessions, errors, retries, frozen globals, path mode.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch, withPage } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });
const plain = () => {};

test('rows are created, read, changed, counted and deleted', () => withPage(browser, plain,
  async ({ page, service }) => {
    const seen = await page.evaluate(async () => {
      const notes = app.collection('notes');
      const made = await notes.create({ text: 'a' }, { key: 'a/ä' });
      const changed = await notes.update('a/ä', { text: 'b' }, { ifMatch: made.version });
      const read = await notes.get('a/ä');
      const upserted = await notes.upsert('text', { text: 'c' });
      const { items } = await notes.list({ filter: { text: { prefix: 'b' } }, sort: '-text', limit: 7 });
      const count = await notes.count();
      const deleted = await notes.delete('a/ä', { ifMatch: 2 });
      return { made, changed, read, upserted, items: items.length, count, deleted };
    });
    assert.equal(seen.made.version, 1);
    assert.deepEqual(seen.changed.data, { text: 'b' });
    assert.equal(seen.read.version, 2);
    assert.equal(seen.items, 2);
    assert.equal(seen.count, 2);
    assert.equal(seen.deleted.version, 3);
    const [list] = service.seen('GET', 'collections/notes');
    assert.deepEqual(Object.fromEntries(list.query),
      { filter: '{"text":{"prefix":"b"}}', sort: '-text', limit: '7' });
    const [upsert] = service.seen('POST', 'collections/notes').slice(1);
    assert.deepEqual(upsert.body, { on: 'text', data: { text: 'c' } });
    assert.equal(service.seen('DELETE', 'collections/notes/a%2F%C3%A4')[0].query.get('if_match'), '2');
  }));

test('a name that a browser takes for a step in the address stays the name of a collection', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.evaluate(async () => {
      for (const name of ['', '.', '..']) {
        const rows = app.collection(name);
        await Promise.allSettled([rows.list(), rows.create({ a: 1 }), rows.delete('session')]);
      }
    });
    assert.equal(service.seen('GET', 'collections/-').length, 3);
    assert.equal(service.seen('POST', 'collections/-').length, 3);
    assert.equal(service.seen('DELETE', 'collections/-/session').length, 3);
    assert.equal(service.seen('DELETE', 'session').length, 0);
  }));

test('concurrent first calls share one session', () => withPage(browser, plain,
  async ({ page, service }) => {
    const ids = await page.evaluate(async () => {
      const notes = app.collection('notes');
      await Promise.all([notes.list(), notes.count(), notes.create({ n: 1 }), app.me]);
      return [(await app.me).id, (await notes.list()).items[0].creator.id];
    });
    assert.equal(service.seen('POST', 'session').length, 1);
    assert.equal(ids[0], ids[1]);
  }));

test('the session token is not shown to the page that has cookies', () => withPage(browser, plain,
  async ({ page, service }) => {
    const me = await page.evaluate(async () => { await app.collection('n').list(); return app.me; });
    assert.deepEqual(Object.keys(me).sort(), ['id', 'kind', 'role']);
    assert.equal(service.seen('GET', 'collections/n')[0].headers['x-service-participant-token'], undefined);
  }));

test('a session of an earlier visit is used again', () => withPage(browser, plain,
  async ({ page, service }) => {
    const first = await page.evaluate(async () => (await app.me).id);
    await page.reload();
    assert.equal(await page.evaluate(async () => (await app.me).id), first);
    assert.equal(service.seen('POST', 'session').length, 1);
  }));

test('an app that does not let the visitor in says so, once for all calls', () => withPage(browser,
  (service) => service.faults.push((r) => (r.path === 'session'
    ? service.refuse(401, 'unauthorized') : undefined)),
  async ({ page, service }) => {
    const codes = await page.evaluate(() => Promise.all([app.me, app.collection('n').list()]
      .map((call) => call.catch((e) => e.code))));
    assert.deepEqual(codes, ['unauthorized', 'unauthorized']);
    assert.equal(service.seen('POST', 'session').length, 1);
    service.faults.length = 0;
    assert.ok(await page.evaluate(async () => (await app.me).id), 'a failure is not kept');
  }));

test('a revoked token is renewed once, for all calls together', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.evaluate(() => app.me);
    service.sessions.clear();
    await page.evaluate(async () => {
      const notes = app.collection('notes');
      await Promise.all([notes.list(), notes.count(), notes.create({ n: 1 })]);
    });
    assert.equal(service.seen('POST', 'session').length, 2);
  }));

test('a token that stays invalid is an error, not a loop', () => withPage(browser,
  (service) => service.faults.push((r) => (r.path.startsWith('collections')
    ? service.refuse(401, 'participant_token_invalid') : undefined)),
  async ({ page, service }) => {
    const code = await page.evaluate(() => app.collection('notes').list().catch((e) => e.code));
    assert.equal(code, 'participant_token_invalid');
    assert.equal(service.seen('GET', 'collections/notes').length, 2);
  }));

test('errors are objects with code, hint, status, details and retryable', () => withPage(browser, plain,
  async ({ page }) => {
    const error = await page.evaluate(async () => {
      const notes = app.collection('notes');
      await notes.create({ text: 'a' }, { key: 'k' });
      const e = await notes.update('k', {}, { ifMatch: 9 }).catch((x) => x);
      return { ok: e instanceof app.AppError && e instanceof Error, name: e.name, code: e.code,
        hint: e.hint, status: e.status, retryable: e.retryable, current: e.details.current.version };
    });
    assert.deepEqual(error, { ok: true, name: 'AppError', code: 'conflict', hint: 'hint of conflict',
      status: 409, retryable: false, current: 1 });
  }));

test('a refusal that is not retryable is sent once', () => withPage(browser,
  (service) => service.faults.push((r) => (r.method === 'PATCH'
    ? service.refuse(422, 'row_schema_violation') : undefined)),
  async ({ page, service }) => {
    const code = await page.evaluate(() => app.collection('n').update('k', {}).catch((e) => e.code));
    assert.equal(code, 'row_schema_violation');
    assert.equal(service.seen('PATCH', 'collections/n/k').length, 1);
  }));

test('a retryable refusal is sent again, and Retry-After is kept', () => withPage(browser,
  (service) => {
    let left = 1;
    service.faults.push((r) => (r.method === 'POST' && r.path === 'collections/n' && left-- > 0
      ? service.refuse(503, 'unavailable', true, { 'retry-after': '1' }) : undefined));
  },
  async ({ page, service }) => {
    const took = await page.evaluate(async () => {
      await app.me;
      const from = performance.now();
      await app.collection('n').create({ a: 1 });
      return performance.now() - from;
    });
    assert.ok(took >= 990, `waited ${took} ms`);
    const keys = service.seen('POST', 'collections/n').map((r) => r.headers['idempotency-key']);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
  }));

test('a create whose answer was lost is sent again with the same key and lands once',
  () => withPage(browser, plain, async ({ page, service }) => {
    await page.evaluate(() => app.me);
    let lost = false;
    service.faults.push(async (r, res) => {
      if (r.method !== 'POST' || lost) return undefined;
      lost = true;
      await service.answer(r, res);
      return 'cut';
    });
    const row = await page.evaluate(() => app.collection('n').create({ a: 1 }));
    assert.equal(row.version, 1);
    assert.equal(service.collection('n').size, 1);
  }));

test('an update whose answer was lost is not sent again', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.evaluate(() => app.me);
    service.faults.push((r) => (r.method === 'PATCH' ? 'cut' : undefined));
    const error = await page.evaluate(() => app.collection('n').update('k', {})
      .catch((e) => ({ code: e.code, retryable: e.retryable })));
    assert.deepEqual(error, { code: 'network', retryable: true });
    assert.equal(service.seen('PATCH', 'collections/n/k').length, 1);
  }));

test('what cannot be sent is an error and is not sent', () => withPage(browser, plain,
  async ({ page, service }) => {
    const codes = await page.evaluate(async () => {
      await app.me;
      const notes = app.collection('notes');
      const calls = [notes.create({ n: 10n }), notes.create({}, { idempotencyKey: 'ключ' }),
        notes.list({ cursor: Symbol('c') }),
        notes.get(), notes.delete(''), notes.get('count'), notes.update('..', {})];
      return Promise.all(calls.map((made) => made.catch((e) => e instanceof app.AppError && e.code)));
    });
    const unsent = 'invalid_request';
    assert.deepEqual(codes, [unsent, unsent, unsent, unsent, unsent, 'row_not_found', 'row_not_found']);
    assert.equal(service.requests.filter(({ path }) => path.startsWith('collections')).length, 0);
  }));

test('an answer that is not the service\'s own is an error with its status', () => withPage(browser,
  (service) => service.faults.push((r) => (r.path === 'collections/n/k' ? [418, 'tea'] : undefined)),
  async ({ page }) => {
    const code = await page.evaluate(() => app.collection('n').get('k').catch((e) => e.code));
    assert.equal(code, 'http_418');
  }));

test('a success that is not the service\'s own is no answer', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.evaluate(() => app.me);
    const portal = (method) => (r) => (
      r.method === method && r.path === 'collections/n/k' ? [200, '<h1>Sign in</h1>'] : undefined);
    service.faults.push(portal('PATCH'));
    const error = await page.evaluate(() => app.collection('n').update('k', {})
      .catch((e) => ({ app: e instanceof app.AppError, code: e.code, retryable: e.retryable })));
    assert.deepEqual(error, { app: true, code: 'http_200', retryable: true });
    assert.equal(service.seen('PATCH', 'collections/n/k').length, 1);
  }));

// What a proxy says of a service that it lost, or that took too long: the call may have got through.
for (const status of [502, 503, 504]) {
  test(`a ${status} that is not the service's own leaves open what happened`, () => withPage(browser, plain,
    async ({ page, service }) => {
      await page.evaluate(() => app.me);
      const lost = [];
      service.faults.push(async (r, res) => {
        if (!r.path.startsWith('collections/n') || lost.includes(r.method)) return undefined;
        lost.push(r.method);
        await service.answer(r, res);
        return [status, '<h1>Bad gateway</h1>'];
      });
      const seen = await page.evaluate(async () => {
        const notes = app.collection('n');
        const row = await notes.create({ a: 1 });
        await notes.get(row.key);
        const failed = ({ code, status: told, retryable, hint }) => ({
          code, told, retryable, open: hint.includes('a write may have happened') });
        return [await notes.update(row.key, { a: 2 }, { ifMatch: 1 }).catch(failed),
          await notes.delete(row.key).catch(failed)];
      });
      const open = { code: `http_${status}`, told: status, retryable: true, open: true };
      assert.deepEqual(seen, [open, open]);
      const sent = service.requests.filter((r) => r.path.startsWith('collections/n'));
      assert.deepEqual(sent.map((r) => r.method), ['POST', 'POST', 'GET', 'GET', 'PATCH', 'DELETE']);
      assert.equal(sent[0].headers['idempotency-key'], sent[1].headers['idempotency-key']);
    }));
}

test('a 429 that is not the service\'s own was not applied', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.evaluate(() => app.me);
    service.write('n', 'k', { a: 1 });
    let left = 1;
    service.faults.push((r) => (r.method === 'PATCH' && left-- > 0 ? [429, 'slow down'] : undefined));
    const row = await page.evaluate(() => app.collection('n').update('k', { a: 2 }));
    assert.equal(row.version, 2);
    assert.equal(service.seen('PATCH', 'collections/n/k').length, 2);
  }));

test('it works where the page has frozen the globals', () => withPage(browser,
  (service) => {
    service.challenged.add('n');
    service.html = service.html + `<script>'use strict';
      for (const it of [Object, Array, Function, Error, Promise, Map, Set, String, JSON, Math, URL,
        Headers, Response, Symbol]) { Object.freeze(it); if (it.prototype) Object.freeze(it.prototype); }
      Object.freeze(app);</script>`;
  },
  async ({ page }) => {
    const result = await page.evaluate(async () => {
      const row = await app.collection('n').create({ a: 1 });
      const rows = await new Promise((resolve) => { app.collection('n').subscribe(resolve); });
      const code = await app.collection('n').get('none').catch((e) => `${e.name} ${e.code}`);
      return [row.version, rows.length, code];
    });
    assert.deepEqual(result, [1, 1, 'AppError row_not_found']);
  }));

test('it is defined once, and a page may have its own app', () => withPage(browser,
  (service) => {
    service.html += '<script src="/s/sdk.js"></script><script>const app = { mine: true };</script>';
  },
  async ({ page }) => {
    assert.equal(await page.evaluate('app.mine && typeof window.app.collection'), 'function');
    assert.ok(await page.evaluate('window.app === rookery'));
  }));

for (const own of ['var app = { mine: true };', 'function app() {} app.mine = true;', 'app = { mine: true };']) {
  test(`where a page writes ${own.slice(0, 12)} the SDK is still window.rookery`, () => withPage(browser,
    (service) => { service.html += `<script>${own} rookery = null;</script>`; },
    async ({ page }) => {
      const found = await page.evaluate(
        async () => [app.mine, window.app === app, (await rookery.collection('n').create({})).version]);
      assert.deepEqual(found, [true, true, 1]);
    }));
}

test('path mode: in a sandbox it works below its own path, with a token it keeps itself',
  () => withPage(browser,
    (service) => {
      service.prefix = '/a/guest';
      service.sandbox = true;
      service.challenged.add('entries');
      service.html = '<!doctype html><title>t</title><script src="/a/guest/s/sdk.js"></script>';
    },
    async ({ page, service }) => {
      const seen = await page.evaluate(async () => {
        const entries = app.collection('entries');
        await entries.create({ a: 1 });
        const rows = await new Promise((resolve) => { entries.subscribe(resolve); });
        return { origin: self.origin, rows: rows.length, token: (await app.me).token };
      });
      assert.deepEqual(seen, { origin: 'null', rows: 1, token: undefined });
      const [create] = service.seen('POST', 'collections/entries').slice(-1);
      assert.ok(create.headers['x-service-participant-token']);
      assert.equal(create.headers.cookie, undefined);
    }));
