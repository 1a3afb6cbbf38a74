// Who the visitor is and what it may do: app.me, app.onAuth, app.signIn, app.signOut, can().
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { FakeService } from './fake.mjs';
import { launch, until, withPage } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });
const plain = () => {};

test('onAuth tells who it is at once, and again when that changes', () => withPage(browser, plain,
  async ({ page, service }) => {
    const first = await page.evaluate(async () => {
      window.told = [];
      window.off = app.onAuth((me) => window.told.push(me && me.id));
      return (await app.me).id;
    });
    await until(page, () => window.told.length === 1);
    await page.evaluate(() => app.signOut());
    const second = await page.evaluate(async () => (await app.me).id);
    assert.notEqual(first, second);
    assert.deepEqual(await page.evaluate(() => window.told), [first, null, second]);
    // Its token ends, and a call brings it a new one.
    service.sessions.clear();
    await page.evaluate(() => app.collection('n').list());
    const third = await page.evaluate(async () => (await app.me).id);
    assert.deepEqual(await page.evaluate(() => window.told), [first, null, second, third]);
    await page.evaluate(() => { window.off(); return app.signOut(); });
    assert.equal(await page.evaluate(() => window.told.length), 4, 'nothing after off()');
  }));

test('who it was before it signed out is not told afterwards', () => withPage(browser, plain,
  async ({ page, service }) => {
    let open;
    const opened = new Promise((resolve) => { open = resolve; });
    const asked = new Promise((came) => {
      service.faults.push(async (r) => {
        if (r.method !== 'GET' || r.path !== 'session') return undefined;
        service.faults.length = 0;
        came();
        await opened;
        return [200, { kind: 'human', id: 'hum_1', role: 'owner' }];
      });
    });
    await page.evaluate(() => {
      window.told = [];
      app.onAuth((me) => window.told.push(me && me.id));
      window.before = app.me;
    });
    await asked;
    await page.evaluate(() => app.signOut());
    open();
    assert.equal(await page.evaluate(async () => (await window.before).id), 'hum_1');
    assert.deepEqual(await page.evaluate(() => window.told), [null]);
    const { id } = await page.evaluate(() => app.me);
    assert.deepEqual(await page.evaluate(() => window.told), [null, id]);
  }));

test('a page whose cookie another tab took writes as a new participant', () => withPage(browser, plain,
  async ({ page, service }) => {
    const before = await page.evaluate(async () => {
      window.told = [];
      app.onAuth((me) => window.told.push(me && me.id));
      return (await app.me).id;
    });
    const other = await page.context().newPage();
    await other.goto(service.url);
    await other.evaluate(async () => { await app.me; await app.signOut(); });
    const { creator } = await page.evaluate(() => app.collection('notes').create({ t: 1 }));
    assert.notEqual(creator.id, before);
    assert.equal(await page.evaluate(async () => (await app.me).id), creator.id);
    assert.deepEqual(await page.evaluate(() => window.told), [before, creator.id]);
    assert.equal(service.seen('POST', 'session').length, 2);
  }));

test('two pages that come at once are one participant', () => withPage(browser, plain,
  async ({ page, service }) => {
    const other = await page.context().newPage();
    await other.goto(service.url);
    const atOnce = (visit) => Promise.all([page, other].map((it) => it.evaluate(visit)));
    // Whoever asks first to become somebody is answered when the other asks too, or waits for its turn.
    const asksFirst = () => {
      const turn = until(page, async () => (await navigator.locks.query()).pending.length).catch(plain);
      let both;
      const asked = new Promise((resolve) => { both = resolve; });
      let first = true;
      service.faults = [async (r) => {
        if (r.method !== 'POST' || r.path !== 'session') return undefined;
        if (!first) both();
        first = false;
        await Promise.race([asked, turn]);
        return undefined;
      }];
    };
    asksFirst();
    const [one, two] = await atOnce(async () => (await app.me).id);
    assert.equal(one, two);
    assert.deepEqual(await atOnce(async () => (await app.collection('notes').create({})).creator.id), [one, one]);
    // The same where both find that they are nobody any more.
    service.sessions.clear();
    asksFirst();
    await atOnce(() => app.collection('notes').list());
    const [again, too] = await atOnce(async () => (await app.me).id);
    assert.equal(again, too);
    assert.notEqual(again, one);
    assert.equal(service.sessions.size, 1);
  }));

// Keeps what onAuth tells, and what a subscription does.
const watch = (page) => page.evaluate(() => {
  Object.assign(window, { told: [], failed: [] });
  app.onAuth((me) => window.told.push(me && me.id));
  app.collection('notes').subscribe(() => {}, {
    onSync: () => { window.live = true; }, onError: (e) => window.failed.push(e.code),
  });
});
const shutOut = (service, status, code) => {
  service.sessions.clear();
  service.faults.push((r) => (r.path === 'session' || r.path === 'feed'
    ? service.refuse(status, code) : undefined));
};

for (const [status, code] of [[401, 'unauthorized'], [401, 'participant_token_invalid'], [404, 'app_not_found']]) {
  test(`onAuth tells that the session has ended under live rows (${code})`, () => withPage(browser, plain,
    async ({ page, service }) => {
      await watch(page);
      await until(page, () => window.live);
      const { id } = await page.evaluate(() => app.me);
      shutOut(service, status, code);
      for (const { res } of service.streams) {
        res.end(`event: error\ndata: {"error":{"code":"${code}","status":${status}}}\n\n`);
      }
      await until(page, () => window.failed.length && window.told.length > 1);
      assert.deepEqual(await page.evaluate(() => [window.told, window.failed]), [[id, null], [code]]);
    }));
}

test('onAuth tells that the session has ended where a call finds it so', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.evaluate(() => {
      window.told = [];
      app.onAuth((me) => window.told.push(me && me.id));
    });
    const { id } = await page.evaluate(() => app.me);
    const fails = () => page.evaluate(() => app.collection('notes').list().catch((e) => e.code));
    // Whoever cannot be asked says nothing of it.
    service.sessions.clear();
    let busy = 4;
    service.faults.push((r) => (r.path === 'session' && busy-- > 0
      ? service.refuse(503, 'unavailable', true) : undefined));
    assert.equal(await fails(), 'unavailable');
    assert.deepEqual(await page.evaluate(() => window.told), [id]);
    shutOut(service, 401, 'unauthorized');
    assert.equal(await fails(), 'unauthorized');
    assert.deepEqual(await page.evaluate(() => window.told), [id, null]);
    // Whoever was told that it is nobody is not told again.
    assert.equal(await fails(), 'unauthorized');
    assert.deepEqual(await page.evaluate(() => window.told), [id, null]);
  }));

test('a visitor who is shut out is told so, and asked to come in once', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.evaluate(() => app.me);
    service.faults.push((r) => (r.path.startsWith('collections') || r.path === 'session'
      ? service.refuse(401, 'unauthorized') : undefined));
    const code = await page.evaluate(() => app.collection('notes').create({}).catch((e) => e.code));
    assert.equal(code, 'unauthorized');
    assert.equal(service.seen('POST', 'session').length, 2);
  }));

// What is refused to nobody, as everything is that comes without the cookie.
const withoutCookies = async (blocked, visitors) => {
  const context = await browser.newContext();
  const service = new FakeService();
  await service.start();
  try {
    const page = await context.newPage();
    await page.addInitScript(blocked);
    service.faults.push((r) => (r.path.startsWith('collections') && r.method === 'POST'
      ? service.refuse(401, 'unauthorized') : undefined));
    await page.goto(service.url);
    const told = await page.evaluate(() => app.collection('notes').create({}).catch((e) => JSON.parse(JSON.stringify(e))));
    assert.equal(told.code, 'no_cookies');
    assert.match(told.message, /keeps no cookies/);
    assert.equal(service.seen('POST', 'session').length, visitors);
  } finally {
    await service.stop();
    await context.close();
  }
};

test('where the browser keeps no cookies a write says so, and no visitor is made for nothing', () =>
  withoutCookies(() => Object.defineProperty(navigator, 'cookieEnabled', { value: false }), 1));

test('a browser that keeps no cookies and does not say so is found out', () => withoutCookies(() => {}, 2));

test('a page that comes to the front again looks who it is', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.evaluate(async () => {
      window.told = [];
      app.onAuth((me) => window.told.push(me && me.role));
      await app.me;
    });
    await until(page, () => window.told.length === 1);
    service.faults.push((r) => (r.path === 'session' && r.method === 'GET'
      ? [200, { kind: 'human', id: 'hum_1', role: 'owner' }] : undefined));
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await until(page, () => window.told.length === 2);
    assert.deepEqual(await page.evaluate(() => window.told), ['anyone', 'owner']);
    assert.equal(await page.evaluate(async () => (await app.me).id), 'hum_1');
  }));

test('a page that comes to the front while it is let in is told who it is, once', () => withPage(browser, plain,
  async ({ page, service }) => {
    let open;
    const opened = new Promise((resolve) => { open = resolve; });
    const asked = new Promise((came) => {
      service.faults.push(async (r) => {
        if (r.method !== 'POST' || r.path !== 'session') return undefined;
        came();
        await opened;
        return undefined;
      });
    });
    await page.evaluate(() => {
      window.told = [];
      app.onAuth((me) => window.told.push(me && me.id));
    });
    await asked;
    const looks = service.seen('GET', 'session').length;
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await page.evaluate(() => fetch('/s/session'));
    open();
    const { id } = await page.evaluate(() => app.me);
    await page.waitForFunction(() => window.told.length > 0);
    // The look that came first was the page's own, behind it the one that was put off.
    while (service.seen('GET', 'session').length < looks + 2) await page.evaluate(() => fetch('/s/access'));
    assert.deepEqual(await page.evaluate(() => window.told), [id]);
  }));

test('signing out is sent again where the server is busy', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.evaluate(() => app.me);
    let refused = 1;
    service.faults.push((r) => (r.method === 'DELETE' && r.path === 'session' && refused-- > 0
      ? service.refuse(429, 'rate_limited', true) : undefined));
    await page.evaluate(() => app.signOut());
    assert.equal(service.sessions.size, 0);
  }));

test('a page beside another looks who it is when it is used, and when its cursor is refused', () => withPage(
  browser, plain, async ({ page, service }) => {
    let role = 'anyone';
    let refused = 0;
    service.faults.push((r) => {
      if (r.path === 'session' && r.method === 'GET') return [200, { kind: 'human', id: 'hum_1', role }];
      return r.path === 'feed' && refused-- > 0 ? service.refuse(410, 'resync_required') : undefined;
    });
    await watch(page);
    await page.evaluate(() => {
      window.roles = [];
      app.onAuth((me) => window.roles.push(me.role));
    });
    await until(page, () => window.live && window.roles.length === 1);
    role = 'member';
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await until(page, () => window.roles.length === 2);
    role = 'owner';
    refused = 1;
    service.breakStreams();
    await until(page, () => window.roles.length === 3);
    assert.deepEqual(await page.evaluate(() => window.roles), ['anyone', 'member', 'owner']);
  }));

test('a visitor that was replaced once and is shut out then is not told of cookies', () => withPage(browser, plain,
  async ({ page, service }) => {
    await watch(page);
    await until(page, () => window.live);
    service.sessions.clear();
    service.breakStreams();
    await until(page, () => window.told.length === 2);
    await page.waitForFunction(() => window.live);
    const { id } = await page.evaluate(() => app.me);
    await until(page, (n) => n, service.streams.size);
    shutOut(service, 401, 'unauthorized');
    for (const { res } of service.streams) {
      res.end('event: error\ndata: {"error":{"code":"unauthorized","status":401}}\n\n');
    }
    await until(page, () => window.failed.length && window.told.length > 2);
    const [told, failed] = await page.evaluate(() => [window.told, window.failed]);
    assert.deepEqual([told.slice(1), failed], [[id, null], ['unauthorized']]);
  }));

test('live rows are those of whoever the visitor is now', () => withPage(browser,
  (service) => {
    service.owner = false;
    let readBy = null;
    service.faults.push((r) => {
      if (r.method === 'DELETE') service.owner = false;
      if (r.path === 'session' && r.method === 'GET' && service.owner) {
        return [200, { kind: 'human', id: 'hum_1', role: 'owner' }];
      }
      if (r.path === 'collections/private') {
        readBy = service.owner;
        return readBy ? undefined : [200, { items: [], next_cursor: null, feed_cursor: 'c1' }];
      }
      // A cursor is good for the rights that it was made with.
      return r.path === 'feed' && readBy !== service.owner ? service.refuse(410, 'resync_required') : undefined;
    });
    service.write('private', 'a', { t: 1 });
  },
  async ({ page, service }) => {
    await page.evaluate(() => {
      window.failed = [];
      app.collection('private').subscribe((rows) => { window.rows = rows.length; }, {
        onSync: () => { window.live = true; }, onError: (e) => window.failed.push(e.code),
      });
    });
    await until(page, () => window.live && window.rows === 0);
    service.owner = true;
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await until(page, () => window.rows === 1);
    await page.evaluate(() => app.signOut());
    await until(page, () => window.rows === 0);
    assert.deepEqual(await page.evaluate(() => window.failed), []);
  }));

test('a visitor that is not let in reaches onError', () => withPage(browser,
  (service) => service.faults.push((r) => (r.path === 'session'
    ? service.refuse(401, 'unauthorized') : undefined)),
  async ({ page }) => {
    const code = await page.evaluate(() => new Promise((resolve) => {
      app.onAuth(() => resolve('told'), { onError: (error) => resolve(error.code) });
    }));
    assert.equal(code, 'unauthorized');
  }));

test('signIn leaves for the sign-in and names where to come back to', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.goto(`${service.url}board?tab=2#top`);
    await Promise.all([page.waitForURL(/\/s\/sign-in/), page.evaluate(() => { app.signIn(); })]);
    await page.goto(service.url);
    await Promise.all([page.waitForURL(/\/s\/sign-in/),
      page.evaluate(() => { app.signIn({ returnTo: '/inbox' }); })]);
    const back = service.seen('GET', 'sign-in').map(({ query }) => query.get('return_to'));
    assert.deepEqual(back, ['/board?tab=2#top', '/inbox']);
  }));

test('signIn leads back to nothing but a path of the app', () => withPage(browser, plain,
  async ({ page, service }) => {
    const code = await page.evaluate(() => app.signIn({ returnTo: 'https://x.example/' }).catch((e) => e.code));
    assert.equal(code, 'invalid_request');
    await Promise.all([page.waitForURL(/\/s\/sign-in/), page.evaluate(() => { app.signIn({ returnTo: '/ü' }); })]);
    const back = service.seen('GET', 'sign-in').map(({ query }) => query.get('return_to'));
    assert.deepEqual(back, ['/%C3%BC']);
  }));

const sandboxed = (attribute) => (service) => {
  service.sandbox = true;
  service.prefix = '/a/app';
  service.html = `<!doctype html><title>t</title><script${attribute} src="/a/app/s/sdk.js"></script>`;
};

test('a page in a sandbox signs in, too', () => withPage(browser, sandboxed(''),
  async ({ page, service }) => {
    await Promise.all([page.waitForURL(/\/a\/app\/s\/sign-in/),
      page.evaluate(() => { app.signIn(); })]);
    const [{ query }] = service.seen('GET', 'sign-in');
    assert.equal(query.get('return_to'), '/a/app/');
  }));

test('a page in a sandbox is whom its document names, until it signs out', () => withPage(browser,
  (service) => {
    service.sessions.add('brought');
    sandboxed(' data-participant="brought"')(service);
  },
  async ({ page, service }) => {
    const seen = await page.evaluate(async () => {
      const { id } = await app.me;
      await app.collection('notes').list();
      return [id, document.documentElement.outerHTML.includes('brought')];
    });
    assert.deepEqual(seen, ['anon_brought', false]);
    assert.equal(service.seen('POST', 'session').length, 0);
    const [list] = service.seen('GET', 'collections/notes');
    assert.equal(list.headers['x-service-participant-token'], 'brought');
    await page.evaluate(() => app.signOut());
    assert.equal(service.sessions.has('brought'), false);
    assert.notEqual(await page.evaluate(async () => (await app.me).id), 'anon_brought');
  }));

test('can() says what is open, with and without a row, for one question', () => withPage(browser,
  (service) => {
    service.access = {
      notes: { read: 'all', write: 'all', update: 'creator', delete: 'creator_or_editor', count: 'none' },
      box: { read: 'none', write: 'all', update: 'all', delete: 'creator' },
      diary: { read: 'creator', write: 'all', update: 'all', delete: 'all' },
    };
    service.write('notes', 'theirs', { n: 1 });
  },
  async ({ page, service }) => {
    const answers = await page.evaluate(async () => {
      const notes = app.collection('notes');
      const mine = await notes.create({ n: 2 }, { key: 'mine' });
      const theirs = await notes.get('theirs');
      const edited = await notes.update('theirs', { n: 3 });
      const can = (...question) => notes.can(...question);
      return {
        plain: await Promise.all(['read', 'write', 'update', 'count'].map((it) => can(it))),
        mine: await Promise.all(['read', 'update', 'delete', 'count'].map((it) => can(it, mine))),
        theirs: await Promise.all(['read', 'update', 'delete'].map((it) => can(it, theirs))),
        edited: await Promise.all(['update', 'delete'].map((it) => can(it, edited))),
        unseen: await Promise.all(['read', 'write', 'update', 'delete'].map((it) => app.collection('box').can(it, mine))),
        any: await Promise.all(['update', 'delete'].map((it) => app.collection('box').can(it))),
        diary: await Promise.all([mine, theirs].map((row) => app.collection('diary').can('update', row))),
        other: await app.collection('constructor').can('read'),
      };
    });
    assert.deepEqual(answers, {
      plain: [true, true, true, false],
      mine: [true, true, true, false],
      theirs: [true, false, false],
      edited: [false, true],
      unseen: [false, true, false, false],
      any: [false, false],
      diary: [true, false],
      other: false,
    });
    assert.equal(service.seen('GET', 'access').length, 1);
    await page.evaluate(async () => { await app.signOut(); await app.collection('notes').can('read'); });
    assert.equal(service.seen('GET', 'access').length, 2, 'another visitor asks anew');
  }));

test('a failed question about rights is asked again', () => withPage(browser, (service) => {
  service.access = { notes: { read: 'all' } };
  service.faults.push((r) => (r.path === 'access' ? service.refuse(403, 'forbidden') : undefined));
}, async ({ page, service }) => {
  const code = await page.evaluate(() => app.collection('notes').can('read').catch((e) => e.code));
  assert.equal(code, 'forbidden');
  service.faults.length = 0;
  assert.equal(await page.evaluate(() => app.collection('notes').can('read')), true);
}));
