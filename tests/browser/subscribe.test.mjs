// The SDK's subscriptions: initial rows, changes by version, broken streams, resync, errors.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch, withPage, until } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// Subscribes to `notes` and keeps what the callbacks were told on `window.seen`.
const follow = (page, name = 'notes') => page.evaluate((collection) => {
  const seen = { rows: [], changes: [], errors: [], syncs: 0, calls: 0 };
  window.seen = seen;
  window.stop = app.collection(collection).subscribe((rows, changes) => {
    seen.calls += 1;
    seen.rows = rows;
    seen.changes.push(...changes.map(({ type, key }) => (key ? `${type} ${key}` : type)));
  }, {
    onError: (e) => seen.errors.push(e.code),
    onSync: () => { seen.syncs += 1; },
  });
}, name);

const texts = (page) => page.evaluate(() => window.seen.rows.map((r) => `${r.key}=${r.data.t}@${r.version}`));
const showing = (page, ...wanted) => until(page, (list) => JSON.stringify(
  window.seen.rows.map((r) => `${r.key}=${r.data.t}@${r.version}`)) === JSON.stringify(list), wanted);
const synced = (page, times = 1) => until(page, (n) => window.seen.syncs >= n, times);
const withNotes = (service) => { service.write('notes', 'a', { t: 1 }); service.write('notes', 'b', { t: 1 }); };

// The same of `other`, next to it.
const followOther = (page) => page.evaluate(() => {
  const other = { rows: [], changes: [], errors: [], syncs: 0 };
  window.other = other;
  app.collection('other').subscribe((rows, changes) => {
    other.rows = rows;
    other.changes.push(...changes.map(({ type, key }) => (key ? `${type} ${key}` : type)));
  }, {
    onError: (e) => other.errors.push(e.code),
    onSync: () => { other.syncs += 1; },
  });
});
const otherSynced = (page, times) => until(page, (n) => window.other.syncs >= n, times);

// Writes one more row of `other`: once it is shown, all that was before it has been applied.
const otherIsRight = async (page, service) => {
  service.write('other', 'last', { t: 1 });
  await until(page, () => window.other.rows.some(({ key }) => key === 'last'));
  const shown = await page.evaluate(() => window.other.rows.map((r) => [r.key, r.version]).sort());
  assert.deepEqual(shown, [...service.collection('other').values()].map((r) => [r.key, r.version]).sort());
};

// Answers the next GET of `path` as of when it came, but not before `open` is called.
const hold = (service, path) => {
  const held = {};
  const opened = new Promise((resolve) => { held.open = resolve; });
  held.came = new Promise((came) => {
    let left = 1;
    service.faults.push(async (request) => {
      if (request.method !== 'GET' || request.path !== path || left-- < 1) return undefined;
      const [, name, key] = path.split('/');
      const answer = structuredClone(service.rowRoute(request, null, name, key));
      came();
      await opened;
      return answer;
    });
  });
  return held;
};

test('it gives the rows, then every change as it happens', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    assert.deepEqual(await texts(page), ['a=1@1', 'b=1@1']);
    service.write('notes', 'c', { t: 1 });
    service.write('notes', 'a', { t: 2 });
    service.write('notes', 'b', {}, 'row.deleted');
    service.write('other', 'x', { t: 1 });
    await showing(page, 'a=2@2', 'c=1@1');
    const seen = await page.evaluate(() => window.seen);
    assert.deepEqual(seen.changes, ['sync', 'row.created c', 'row.updated a', 'row.deleted b']);
    const [created] = seen.rows.filter((r) => r.key === 'c');
    assert.deepEqual(Object.keys(created).sort(),
      ['created_at', 'creator', 'data', 'editor', 'key', 'updated_at', 'version']);
    assert.deepEqual(seen.errors, []);
  }));

test('a row that came without its data is asked for, and left out where it is not to be seen', () => withPage(
  browser, withNotes, async ({ page, service }) => {
    await follow(page);
    await synced(page);
    // In sight of the feed, and not of the list: an outline.
    const at = new Date(1_800_000_100_000).toISOString();
    const by = { kind: 'anonymous', id: 'prt_1' };
    const asked = page.waitForResponse(/notes\/far$/);
    service.emit({ type: 'row.created', at, by, collection: 'notes', key: 'far', version: 1 });
    // Created, and changed since: the feed has its newest data only once.
    service.write('notes', 'c', { t: 1 });
    await showing(page, 'a=1@1', 'b=1@1', 'c=1@1');
    // What came along is shown before it is asked for.
    await asked;
    assert.equal(service.seen('GET', 'collections/notes/far').length, 1);
    const seen = await page.evaluate(() => window.seen);
    assert.deepEqual([seen.changes, seen.errors], [['sync', 'row.created c'], []]);
  }));

test('the owner lists anew after a deployment, and only the owner', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    const deploy = () => service.emit({ type: 'app.deployed', at: '', by: { kind: 'agent', id: 'agt_1' } });
    await follow(page);
    await synced(page);
    const lists = () => service.seen('GET', 'collections/notes').length;
    deploy();
    service.write('notes', 'a', { t: 2 });
    await showing(page, 'a=2@2', 'b=1@1');
    assert.equal(lists(), 1);
    service.role = 'owner';
    await page.reload();
    await follow(page);
    await synced(page);
    assert.equal(lists(), 2);
    // The new version's list leaves this one out, and no event tells of it.
    service.collection('notes').delete('b');
    deploy();
    await showing(page, 'a=2@2');
    assert.equal(lists(), 3);
    await synced(page, 2);
    service.write('notes', 'c', { t: 1 });
    await showing(page, 'a=2@2', 'c=1@1');
    const seen = await page.evaluate(() => window.seen);
    assert.deepEqual([seen.changes, seen.errors], [['sync', 'sync', 'row.created c'], []]);
  }));

test('it reads all pages and joins them with what changed meanwhile', () => withPage(browser,
  (service) => {
    for (let i = 0; i < 450; i += 1) service.write('notes', `k${String(i).padStart(3, '0')}`, { t: i });
    let left = 1;
    service.faults.push((r) => {
      if (r.path === 'collections/notes' && r.query.get('cursor') && left-- > 0) {
        service.write('notes', 'k000', { t: 'late' });
        service.write('notes', 'k449', { t: 'late' });
        service.write('notes', 'k100', {}, 'row.deleted');
        service.write('notes', 'k100', { t: 'again' });
      }
      return undefined;
    });
  },
  async ({ page, service }) => {
    await follow(page);
    await until(page, () => window.seen.rows.length === 450 &&
      window.seen.rows.some((r) => r.data.t === 'again'));
    const rows = await page.evaluate(() => window.seen.rows);
    for (const row of rows) {
      const { data, version } = service.collection('notes').get(row.key);
      assert.deepEqual([row.data, row.version], [data, version]);
    }
  }));

for (const how of ['end', 'cut']) {
  test(`a stream that breaks (${how}) is resumed where it stopped`, () => withPage(browser, withNotes,
    async ({ page, service }) => {
      await follow(page);
      await synced(page);
      service.write('notes', 'a', { t: 2 });
      await showing(page, 'a=2@2', 'b=1@1');
      service.breakStreams(how);
      service.write('notes', 'b', { t: 9 });
      await showing(page, 'a=2@2', 'b=9@2');
      assert.equal(service.seen('GET', 'collections/notes').length, 1, 'no second list');
      assert.deepEqual(service.seen('GET', 'feed').map((r) => r.query.get('since')), ['c2', 'c3']);
      await synced(page, 2);
    }));
}

test('onSync is called when the missed changes are there, and not before', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    service.holdBack = true;
    service.breakStreams();
    service.write('notes', 'c', { t: 1 });
    await showing(page, 'a=1@1', 'b=1@1', 'c=1@1');
    assert.equal(await page.evaluate(() => window.seen.syncs), 1);
    service.holdBack = false;
    service.write('notes', 'd', { t: 1 });
    await synced(page, 2);
    assert.equal(await page.evaluate(() => window.seen.rows.length), 4);
  }));

test('a living stream that breaks off and opens again is no failure', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    service.breakStreams('cut');
    service.write('notes', 'a', { t: 'back' });
    await showing(page, 'a=back@2', 'b=1@1');
    assert.deepEqual(await page.evaluate(() => window.seen.errors), []);
  }));

test('an unreachable server is tried again, with longer and longer waits', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    // One more than are looked for: on a connection that it has already a browser tries once more by itself.
    const at = [];
    service.faults.push((r) => {
      if (r.path !== 'feed' || at.length >= 4) return undefined;
      at.push(Date.now());
      return 'destroy';
    });
    service.breakStreams('cut');
    service.write('notes', 'a', { t: 'back' });
    await showing(page, 'a=back@2', 'b=1@1');
    assert.ok(at[3] - at[2] > 250, `waits grow: ${at}`);
    const errors = await page.evaluate(() => window.seen.errors);
    assert.ok(errors.length >= 3 && errors.every((code) => code === 'network'), String(errors));
  }));

test('after resync_required it lists again and goes on from the new cursor', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    service.floor = 10;
    service.breakStreams();
    service.collection('notes').delete('a');
    service.events.push(...Array.from({ length: 20 }, (_, i) => ({ seq: i, cursor: `c${i + 3}`, type: 'x' })));
    await showing(page, 'b=1@1');
    await synced(page, 2);
    service.write('notes', 'c', { t: 1 });
    await showing(page, 'b=1@1', 'c=1@1');
    assert.deepEqual(await page.evaluate(() => window.seen.errors), []);
    assert.equal(service.seen('GET', 'feed').at(-1).query.get('since'), 'c22');
  }));

test('rows that cannot be listed for a while after resync_required are followed from their list on', () => withPage(
  browser, withNotes, async ({ page, service }) => {
    await follow(page);
    await synced(page);
    let refused = 4;
    service.faults.push((r) => (r.path === 'collections/notes' && refused-- > 0
      ? service.refuse(503, 'unavailable', true) : undefined));
    service.floor = 10;
    service.events.push(...Array.from({ length: 20 }, (_, i) => ({ seq: i, cursor: `c${i + 3}`, type: 'x' })));
    service.breakStreams();
    await synced(page, 2);
    // A stream that begins at no place would miss what was written before it and behind the list.
    assert.ok(service.seen('GET', 'feed').every((r) => r.query.has('since')));
    service.write('notes', 'a', { t: 2 });
    await showing(page, 'a=2@2', 'b=1@1');
  }));

test('a cursor that the server does not know any more is replaced, once', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    const old = (request) => request.path === 'feed' && request.query.get('since') === 'c2';
    service.faults.push((r) => (old(r) ? service.refuse(400, 'invalid_request') : undefined));
    service.write('notes', 'c', { t: 1 });
    service.breakStreams();
    await showing(page, 'a=1@1', 'b=1@1', 'c=1@1');
    await synced(page, 2);
    assert.deepEqual(await page.evaluate(() => window.seen.errors), []);
    // Whatever it is then, it is not the cursor.
    service.faults.push((r) => (r.path === 'feed' && r.query.get('since') ? service.refuse(400, 'invalid_request') : undefined));
    service.breakStreams();
    await until(page, () => window.seen.errors.length > 0);
    assert.deepEqual(await page.evaluate(() => window.seen.errors), ['invalid_request']);
  }));

test('resync_required in the middle of a stream is understood too', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    for (const { res } of service.streams) {
      res.write('event: error\ndata: {"error":{"code":"resync_required","status":410,"retryable":false}}\n\n');
    }
    await until(page, () => window.seen.changes.filter((c) => c === 'sync').length === 2);
    assert.deepEqual(await page.evaluate(() => window.seen.errors), []);
  }));

test('events older than the rows change nothing; a row out of sight leaves', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    const at = 't';
    const by = { kind: 'agent', id: 'x' };
    service.write('notes', 'a', { t: 5 });
    service.emit({ type: 'row.updated', collection: 'notes', key: 'a', version: 1, data: { t: 'old' }, at, by });
    service.emit({ type: 'row.deleted', collection: 'notes', key: 'a', version: 1, at, by });
    service.emit({ type: 'row.hidden', collection: 'notes', key: 'b', at, by });
    await showing(page, 'a=5@2');
  }));

test('a restored row is fetched, because its event does not tell all of it', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    service.write('notes', 'b', {}, 'row.deleted');
    await showing(page, 'a=1@1');
    const back = { key: 'b', data: { t: 'back' }, version: 3, creator: { kind: 'agent', id: 'first' },
      editor: { kind: 'agent', id: 'x' }, created_at: '2020', updated_at: '2027' };
    service.collection('notes').set('b', back);
    service.emit({ type: 'row.restored', collection: 'notes', key: 'b', version: 3, data: back.data, at: 't', by: back.editor });
    await showing(page, 'b=back@3', 'a=1@1');
    assert.equal(await page.evaluate(() => window.seen.rows[0].creator.id), 'first');
  }));

// A page that reads row `x` of `other`: it came back while the rows were listed, and its event does not
// tell it whole. `meanwhile` happens behind that event.
const reading = async (page, service, meanwhile = () => {}) => {
  await follow(page);
  await synced(page);
  const list = hold(service, 'collections/other');
  const read = hold(service, 'collections/other/x');
  await followOther(page);
  await list.came;
  service.write('other', 'x', { t: 1 }, 'row.restored');
  meanwhile();
  service.write('notes', 'a', { t: 2 });
  await showing(page, 'a=2@2', 'b=1@1');
  list.open();
  await read.came;
  return read;
};

test('a row deleted while an older event of it waits does not come back', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    const read = await reading(page, service, () => service.write('other', 'k', { t: 1 }));
    service.write('other', 'k', {}, 'row.deleted');
    service.write('notes', 'a', { t: 3 });
    await showing(page, 'a=3@3', 'b=1@1');
    read.open();
    await until(page, () => window.other.rows.some(({ key }) => key === 'x'));
    await otherIsRight(page, service);
  }));

test('a row deleted while it is read does not stay', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    const read = await reading(page, service);
    service.write('other', 'x', {}, 'row.deleted');
    service.write('notes', 'a', { t: 3 });
    await showing(page, 'a=3@3', 'b=1@1');
    read.open();
    await otherIsRight(page, service);
    const { changes, errors } = await page.evaluate(() => window.other);
    assert.deepEqual([changes, errors], [['sync', 'row.created last'], []]);
  }));

test('a collection that is gone ends its own subscription, and no other', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await followOther(page);
    await otherSynced(page, 1);
    await page.evaluate(() => {
      window.heard = [];
      app.events.on('cheer', (data) => window.heard.push(data));
    });
    service.faults.push((r) => (r.path.startsWith('collections/other')
      ? service.refuse(404, 'collection_not_found') : undefined));
    service.write('other', 'x', { t: 1 }, 'row.restored');
    await until(page, () => window.other.errors.length === 1);
    service.emit({ type: 'event.cheer', at: 't', by: {}, data: 'still here' });
    service.write('notes', 'a', { t: 2 });
    await showing(page, 'a=2@2', 'b=1@1');
    const found = await page.evaluate(() => [window.other.errors, window.seen.errors, window.heard]);
    assert.deepEqual(found, [['collection_not_found'], [], ['still here']]);
    assert.equal(service.seen('GET', 'feed').filter((r) => r.query.has('since')).length, 1, 'the same stream');
  }));

test('a row that cannot be read for a while holds nothing else up', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await followOther(page);
    await otherSynced(page, 1);
    let left = 5;
    service.faults.push((r) => (r.path === 'collections/other/x' && left-- > 0
      ? service.refuse(503, 'unavailable', true) : undefined));
    service.write('other', 'x', { t: 1 }, 'row.restored');
    service.write('other', 'y', { t: 1 });
    service.write('notes', 'a', { t: 2 });
    await showing(page, 'a=2@2', 'b=1@1');
    assert.deepEqual(await page.evaluate(() => window.other.rows.map(({ key }) => key)), ['y']);
    await otherSynced(page, 2);
    await otherIsRight(page, service);
    const errors = await page.evaluate(() => [window.other.errors, window.seen.errors]);
    assert.deepEqual(errors, [['unavailable'], []]);
  }));

test('many rows that come back are read by a list', () => withPage(browser,
  (service) => service.write('other', 'first', { t: 1 }),
  async ({ page, service }) => {
    await followOther(page);
    await otherSynced(page, 1);
    const read = hold(service, 'collections/other/one');
    const answered = page.waitForResponse((r) => r.url().endsWith('/other/one'));
    service.write('other', 'one', { t: 1 }, 'row.restored');
    await read.came;
    const list = hold(service, 'collections/other');
    for (let i = 0; i < 60; i += 1) service.write('other', `k${i}`, { t: 1 }, 'row.restored');
    await list.came;
    // The one that was being read is answered in the middle of the list, and counts for nothing.
    read.open();
    await answered;
    list.open();
    await otherSynced(page, 2);
    await otherIsRight(page, service);
    const { changes, errors } = await page.evaluate(() => window.other);
    assert.deepEqual([changes, errors], [['sync', 'sync', 'row.created last'], []]);
    const asked = service.requests.map((r) => r.path).filter((path) => path.startsWith('collections/other'));
    assert.deepEqual(asked, ['collections/other', 'collections/other/one', 'collections/other']);
  }));

// The visitor's rights change between two pages: the cursor of the first fits no more.
const refuseCursors = (service, times) => {
  let left = times;
  for (let i = 0; i < 250; i += 1) service.write('notes', `k${i}`, { t: i });
  service.faults.push((r) => (r.path === 'collections/notes' && r.query.has('cursor') && left-- > 0
    ? service.refuse(400, 'invalid_request') : undefined));
};
const begun = (service) =>
  service.seen('GET', 'collections/notes').filter((r) => !r.query.has('cursor')).length;

test('a list whose cursor is refused begins again', () => withPage(browser,
  (service) => refuseCursors(service, 2),
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    const { rows, errors } = await page.evaluate(() => window.seen);
    assert.deepEqual([rows.length, errors, begun(service)], [250, [], 3]);
  }));

test('a list whose cursor is always refused ends', () => withPage(browser,
  (service) => refuseCursors(service, Infinity),
  async ({ page, service }) => {
    await follow(page);
    await until(page, () => window.seen.errors.length);
    const { calls, errors } = await page.evaluate(() => window.seen);
    assert.deepEqual([calls, errors, begun(service)], [0, ['invalid_request'], 4]);
  }));

test('two collections share one stream', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await page.evaluate(() => { app.collection('other').subscribe((rows) => { window.other = rows; }); });
    await until(page, () => window.other);
    service.write('other', 'x', { t: 1 });
    service.write('notes', 'a', { t: 2 });
    await showing(page, 'a=2@2', 'b=1@1');
    await until(page, () => window.other.length === 1);
    assert.equal(service.streams.size, 1);
  }));

test('unsubscribing ends the stream and the calls', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    const [stream] = service.streams;
    const closed = new Promise((resolve) => { stream.res.on('close', resolve); });
    await page.evaluate(() => window.stop());
    await closed;
    service.write('notes', 'a', { t: 2 });
    // A call after it proves that the page had its turn.
    await page.evaluate(() => app.collection('notes').list());
    assert.deepEqual(await texts(page), ['a=1@1', 'b=1@1']);
    assert.equal(service.streams.size, 0);
  }));

test('a refusal that will not pass ends the subscription and is told', () => withPage(browser,
  (service) => service.faults.push((r) => (r.path === 'collections/secret'
    ? service.refuse(403, 'collection_read_forbidden') : undefined)),
  async ({ page, service }) => {
    await follow(page, 'secret');
    await until(page, () => window.seen.errors.length === 1);
    assert.deepEqual(await page.evaluate(() => window.seen.errors), ['collection_read_forbidden']);
    assert.equal(service.seen('GET', 'collections/secret').length, 1);
  }));

test('a first list that fails for a while is tried again', () => withPage(browser,
  (service) => {
    withNotes(service);
    let left = 5;
    service.faults.push((r) => (r.path === 'collections/notes' && left-- > 0
      ? service.refuse(503, 'unavailable', true) : undefined));
  },
  async ({ page }) => {
    await follow(page);
    await synced(page);
    assert.deepEqual(await texts(page), ['a=1@1', 'b=1@1']);
    assert.deepEqual(await page.evaluate(() => window.seen.errors), ['unavailable']);
  }));

test('a collection that cannot be listed for a while keeps nobody else waiting', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    let blocked = true;
    service.faults.push((r) => (r.path === 'collections/notes' && blocked
      ? service.refuse(503, 'unavailable', true) : undefined));
    await follow(page);
    await until(page, () => window.seen.errors.length === 1);
    await followOther(page);
    await page.evaluate(() => {
      window.heard = [];
      app.events.on('cheer', (data) => window.heard.push(data));
    });
    await otherSynced(page, 1);
    service.emit({ type: 'event.cheer', at: 't', by: {}, data: 'now' });
    await until(page, () => window.heard.length === 1);
    blocked = false;
    await showing(page, 'a=1@1', 'b=1@1');
  }));

test('a session that ends under a stream is renewed', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await synced(page);
    for (let round = 1; round <= 2; round += 1) {
      service.sessions.clear();
      for (const { res } of service.streams) {
        res.write('event: error\ndata: {"error":{"code":"participant_token_invalid","status":401}}\n\n');
      }
      await synced(page, round + 1);
    }
    service.write('notes', 'a', { t: 2 });
    await showing(page, 'a=2@2', 'b=1@1');
    assert.equal(service.seen('POST', 'session').length, 3);
    assert.deepEqual(await page.evaluate(() => window.seen.errors), []);
  }));

test('a callback that throws does not end the subscription', () => withPage(browser, withNotes,
  async ({ page, service, thrown }) => {
    await page.evaluate(() => {
      window.calls = 0;
      app.collection('notes').subscribe(() => { window.calls += 1; if (window.calls === 1) throw new Error('mine'); },
        { onSync: () => { window.ready = true; } });
    });
    await until(page, () => window.ready);
    service.write('notes', 'a', { t: 2 });
    await until(page, () => window.calls === 2);
    assert.equal(thrown.splice(0)[0].message, 'mine');
  }));

test('custom events are sent and heard', () => withPage(browser, () => {},
  async ({ page }) => {
    const heard = await page.evaluate(() => new Promise((resolve) => {
      // What is sent at once is heard, too.
      app.events.on('cheer', (data, event) => resolve([data, event.type]));
      app.events.send('cheer', { loud: true });
    }));
    assert.deepEqual(heard, [{ loud: true }, 'event.cheer']);
  }));

test('a listener that listens anew while it hears an event hears the next one', () => withPage(browser, () => {},
  async ({ page }) => {
    const heard = await page.evaluate(async () => {
      const told = [];
      // Bounded, so that what goes wrong ends.
      const listen = () => {
        const off = app.events.on('tick', ({ n }) => {
          off();
          if (told.push(n) < 100) listen();
        });
      };
      listen();
      await new Promise((last) => {
        const gone = app.events.on('tick', () => told.push('gone'));
        app.events.on('tick', ({ n }) => (n === 2 ? last() : gone()));
        app.events.send('tick', { n: 1 }).then(() => app.events.send('tick', { n: 2 }));
      });
      return told;
    });
    assert.deepEqual(heard, [1, 'gone', 2]);
  }));

test('events are heard also where listening began without a network', () => withPage(browser,
  (service) => {
    service.isAway = true;
    service.faults.push((r) => (r.path === 'feed' && service.isAway ? 'destroy' : undefined));
  },
  async ({ page, service }) => {
    await page.evaluate(() => {
      window.heard = [];
      window.failed = [];
      app.events.on('cheer', (data) => window.heard.push(data), { onError: (e) => window.failed.push(e.code) });
    });
    const opened = page.waitForResponse((r) => r.url().includes('since='));
    await until(page, () => window.failed.length === 1);
    service.isAway = false;
    await opened;
    service.emit({ type: 'event.cheer', at: 't', by: {}, data: 'late' });
    await until(page, () => window.heard.length === 1);
    assert.deepEqual(await page.evaluate(() => window.failed), ['network']);
  }));

test('a listener outlives a feed that forgot its place while the network is away', () => withPage(browser, () => {},
  async ({ page, service }) => {
    const streamed = page.waitForResponse((r) => r.url().includes('since='));
    await page.evaluate(() => {
      window.heard = [];
      app.events.on('cheer', (data) => window.heard.push(data));
    });
    await streamed;
    let left = 5;
    service.faults.push((r) => (r.path === 'feed' && r.query.has('wait') && left-- > 0 ? 'destroy' : undefined));
    const again = page.waitForResponse((r) => r.url().includes('since=c1'));
    for (const { res } of service.streams) {
      res.end('event: error\ndata: {"error":{"code":"resync_required","status":410,"retryable":false}}\n\n');
    }
    service.streams.clear();
    service.emit({ type: 'row.created', collection: 'x', key: 'k', version: 1, at: 't', by: {}, data: {} });
    await again;
    service.emit({ type: 'event.cheer', at: 't', by: {}, data: 'late' });
    await until(page, () => window.heard.length === 1);
  }));

test('what was sent while nobody listened is not heard later', () => withPage(browser, () => {},
  async ({ page, service }) => {
    const opens = () => page.waitForResponse((r) => r.url().includes('since='));
    const cheer = (data) => service.emit({ type: 'event.cheer', at: 't', by: {}, data });
    let opened = opens();
    await page.evaluate(() => {
      window.heard = [];
      const off = app.events.on('cheer', (data) => { window.heard.push(data); off(); });
    });
    await opened;
    const [stream] = service.streams;
    const closed = new Promise((resolve) => { stream.res.on('close', resolve); });
    cheer('first');
    await closed;
    cheer('to nobody');
    opened = opens();
    await page.evaluate(() => { app.events.on('cheer', (data) => window.heard.push(data)); });
    await opened;
    cheer('last');
    await until(page, () => window.heard.includes('last'));
    assert.deepEqual(await page.evaluate(() => window.heard), ['first', 'last']);
  }));

test('a listener that is refused hears so once, and is gone', () => withPage(browser,
  (service) => service.faults.push((r) => (r.path === 'feed' ? service.refuse(403, 'app_closed') : undefined)),
  async ({ page, service }) => {
    const code = await page.evaluate(() => new Promise((resolve) => {
      app.events.on('cheer', () => {}, { onError: (e) => resolve(e.code) });
    }));
    assert.equal(code, 'app_closed');
    assert.equal(service.seen('GET', 'feed').length, 1);
  }));

test('what answers in the place of the stream is told each time, and asked ever more rarely', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    service.portal = true;
    service.faults.push((r) => (r.path === 'feed' && service.portal ? [200, { open: 'later' }] : undefined));
    await follow(page);
    await until(page, () => window.seen.errors.length >= 4);
    const told = await page.evaluate(() => window.seen.errors);
    assert.deepEqual([...new Set(told)], ['http_200']);
    const asked = service.seen('GET', 'feed').length;
    assert.ok(asked <= told.length + 1, `${asked} times for ${told.length}`);
    service.portal = false;
    service.write('notes', 'c', { t: 1 });
    await showing(page, 'a=1@1', 'b=1@1', 'c=1@1');
    await synced(page);
  }));
