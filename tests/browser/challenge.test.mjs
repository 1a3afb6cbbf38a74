// The SDK's challenges: proofs of work, and the widgets of providers.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { launch, until, withPage } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

test('a challenge is solved in a worker; later writes bring an answer along', () => withPage(browser,
  (service) => service.challenged.add('entries'),
  async ({ page, service }) => {
    await page.evaluate(async () => {
      await app.collection('entries').create({ n: 1 });
      await app.collection('entries').create({ n: 2 });
    });
    assert.equal(service.collection('entries').size, 2);
    assert.equal(service.seen('POST', 'collections/entries').length, 3);
    const asked = service.seen('GET', 'challenge');
    assert.deepEqual(asked.map((r) => r.query.get('collection')), ['entries', 'entries']);
  }));

test('challenges with salts of every length are solved', () => withPage(browser,
  (service) => {
    service.challenged.add('e');
    let length = 40;
    service.task = () => {
      length += 1;
      const salt = 'x'.repeat(length);
      const challenge = createHash('sha256').update(salt + 12).digest('hex');
      return { algorithm: 'SHA-256', challenge, salt, signature: 'sig', maxnumber: 20 };
    };
  },
  async ({ page, service }) => {
    await page.evaluate(async () => {
      for (let n = 0; n < 100; n += 1) await app.collection('e').create({ n });
    });
    assert.equal(service.collection('e').size, 100);
  }));

test('an answer that came too late is replaced by a new one, once', () => withPage(browser,
  (service) => service.challenged.add('entries'),
  async ({ page, service }) => {
    let left = 0;
    service.faults.push((r) => (r.headers['x-service-challenge-token'] && left-- > 0
      ? service.refuse(403, 'challenge_verification_failed') : undefined));
    const create = () => page.evaluate(() => app.collection('entries').create({}).then(() => 'made', (e) => e.code));
    // Also where the page learns only now that answers are asked for.
    for (const known of [true, false]) {
      for (const [late, came] of [[1, 'made'], [2, 'challenge_verification_failed']]) {
        await page.reload();
        if (known) assert.equal(await create(), 'made');
        left = late;
        assert.equal(await create(), came);
      }
    }
  }));

test('a challenge that no number fits is an error', () => withPage(browser,
  (service) => {
    service.challenged.add('entries');
    service.task = () => ({ algorithm: 'SHA-256', challenge: '0'.repeat(64), salt: 's', signature: 'x', maxnumber: 50 });
  },
  async ({ page }) => {
    const code = await page.evaluate(() => app.collection('entries').create({}).catch((e) => e.code));
    assert.equal(code, 'challenge_unsolvable');
  }));

test('an answer that is spent when its request is sent again is replaced', () => withPage(browser,
  (service) => {
    service.challenged.add('entries');
    let left = 1;
    service.faults.push((r) => {
      const answer = r.headers['x-service-challenge-token'];
      if (!answer || left-- < 1) return undefined;
      assert.ok(service.solved(answer));
      return service.refuse(503, 'unavailable', true);
    });
  },
  async ({ page, service }) => {
    await page.evaluate(() => app.collection('entries').create({}));
    assert.equal(service.collection('entries').size, 1);
    const sent = service.seen('POST', 'collections/entries').map(({ headers }) => headers['x-service-challenge-token']);
    assert.deepEqual([sent.length, sent[1] === sent[2], sent[2] === sent[3]], [4, true, false]);
  }));

const challenged = (service) => service.challenged.add('entries');
const create = (page) => page.evaluate(() => app.collection('entries').create({})
  .then(() => 'made', (e) => e instanceof app.AppError && e.code));

// Creates, and leaves what came of it on `window.made`.
const begin = (page) => page.evaluate(() => {
  app.collection('entries').create({}).then(() => 'made', (e) => e instanceof app.AppError && e.code)
    .then((it) => { window.made = it; });
});

test('a solver that breaks off is asked for again', () => withPage(browser, challenged,
  async ({ page, service }) => {
    const { solver } = service;
    service.solver = (res) => {
      service.solver = solver;
      res.write('//', () => res.destroy());
    };
    assert.equal(await create(page), 'made');
  }));

test('a solver that falls silent is asked for again', () => withPage(browser, challenged,
  async ({ page, service }) => {
    const { solver } = service;
    await page.clock.install();
    const asked = new Promise((resolve) => {
      service.solver = (res) => {
        service.solver = solver;
        res.write('//', resolve);
      };
    });
    await begin(page);
    await asked;
    await page.clock.fastForward(31_000);
    await until(page, () => window.made);
    assert.equal(await page.evaluate(() => window.made), 'made');
  }));

test('what is no solver is not kept', () => withPage(browser, challenged,
  async ({ page, service }) => {
    const { solver } = service;
    service.solver = (res) => res.end('postMessage(null);');
    assert.equal(await create(page), 'challenge_unsolvable');
    service.solver = solver;
    assert.equal(await create(page), 'made');
  }));

test('a browser that starts no worker is told as such', () => withPage(browser, challenged,
  async ({ page }) => {
    await page.evaluate(() => {
      window.Worker = class {
        constructor() { throw new DOMException('no workers here', 'SecurityError'); }
      };
    });
    assert.equal(await create(page), 'challenge_unsolvable');
  }));

// A provider's script that is `body`, whose widget gives 'token'. Gives how often it was loaded.
const provider = async (page, service, api, body) => {
  const loaded = { times: 0 };
  service.challenged.add('entries');
  service.solved = (token) => token === 'token';
  service.task = () => ({ provider: 'siteverify', site_key: 'key', script_url: '/widget.js', api });
  await page.unroute('**/widget.js');
  await page.route('**/widget.js', (route) => {
    loaded.times += 1;
    return route.fulfill({ contentType: 'text/javascript', body });
  });
  return loaded;
};
const GIVES = "({ render: (box, { callback }) => callback('token') })";
const plain = () => {};

test('a widget that a blocker made a stub of is an error, and is loaded again', () => withPage(browser, plain,
  async ({ page, service }) => {
    for (const stub of ['', 'window.turnstile = {};', 'window.turnstile = { render() { throw 1; } };']) {
      await provider(page, service, 'turnstile', stub);
      await begin(page);
      await until(page, () => window.made);
      assert.equal(await page.evaluate(() => window.made), 'challenge_unsolvable', stub);
      await page.evaluate(() => { delete window.made; delete window.turnstile; });
    }
    await provider(page, service, 'turnstile', `window.turnstile = ${GIVES};`);
    assert.equal(await create(page), 'made');
    assert.equal(await page.evaluate(() => document.querySelectorAll('div').length), 0);
  }));

// The first script of reCAPTCHA keeps who waits for the second.
const FIRST = 'window.waiting = []; window.grecaptcha = { ready: (then) => window.waiting.push(then) };';

test('creates that meet between the two scripts of reCAPTCHA wait for both, loaded once',
  () => withPage(browser, plain, async ({ page, service }) => {
    const loaded = await provider(page, service, 'grecaptcha', FIRST);
    await begin(page);
    await until(page, () => window.waiting?.length);
    await page.evaluate(() => { window.second = app.collection('entries').create({}); });
    await until(page, () => document.querySelectorAll('div').length === 2);
    await page.evaluate((gives) => {
      Object.assign(window.grecaptcha, (0, eval)(gives));
      for (const then of window.waiting) then();
      return window.second;
    }, GIVES);
    await until(page, () => window.made);
    assert.equal(await page.evaluate(() => window.made), 'made');
    assert.equal(service.collection('entries').size, 2);
    assert.equal(loaded.times, 1);
  }));

test('a widget whose second script never comes is an error', () => withPage(browser, plain,
  async ({ page, service }) => {
    await page.clock.install();
    await provider(page, service, 'grecaptcha', FIRST);
    await begin(page);
    await until(page, () => window.waiting?.length);
    await page.clock.fastForward(31_000);
    await until(page, () => window.made);
    assert.equal(await page.evaluate(() => window.made), 'challenge_unsolvable');
  }));
