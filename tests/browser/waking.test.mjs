// A page that was put away, frozen, asleep or offline: its stream is dead, and nobody says so.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch, withPage, until } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const withNotes = (service) => service.write('notes', 'a', { t: 1 });
const opened = (service) => service.seen('GET', 'feed').length;
const shows = (page, wanted) => until(page, (t) => window.rows[0]?.data.t === t, wanted);

// From here on the page's timers stand still: no watchdog looks after the stream.
const follow = async (page) => {
  await page.evaluate(() => new Promise((live) => {
    app.collection('notes').subscribe((rows) => { window.rows = rows; }, { onSync: live });
  }));
  await page.clock.install();
  // Ahead of what all this may take, and behind the SDK's shortest wait.
  await page.clock.pauseAt(Date.now() + 15_000);
};

// The connection stays as it is, and nothing comes by it any more.
const strand = (service) => {
  service.streams.clear();
  service.write('notes', 'a', { t: 2 });
};
const sleepFor = async (page, ms) => page.clock.setSystemTime(await page.evaluate(() => Date.now()) + ms);

const fire = (page, ...names) => page.evaluate((types) => {
  for (const type of types) {
    const event = type === 'pageshow' ? new PageTransitionEvent(type, { persisted: true }) : new Event(type);
    (type === 'resume' || type === 'visibilitychange' ? document : window).dispatchEvent(event);
  }
}, names);

// Runs `wake`, and the page's timers for as long as the shortest wait; its row is there at once.
const isLiveAfter = async (page, service, wake) => {
  const asked = page.waitForRequest((r) => r.url().includes('since='));
  await wake();
  await page.clock.runFor(1000);
  await asked;
  await shows(page, 2);
  assert.equal(opened(service), 2, 'the stream was opened once more');
  assert.equal(service.seen('GET', 'collections/notes').length, 1, 'no second list');
};

for (const type of ['visibilitychange', 'online', 'resume', 'pageshow']) {
  test(`a page that slept is live at once (${type})`, () => withPage(browser, withNotes,
    async ({ page, service }) => {
      await follow(page);
      strand(service);
      // A page that comes back from the browser's cache has lost its connections, however old.
      if (type !== 'pageshow') await sleepFor(page, 60_000);
      await isLiveAfter(page, service, () => fire(page, type));
    }));
}

test('all that tells a page that it slept opens its feed once', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    strand(service);
    await sleepFor(page, 60_000);
    const all = ['resume', 'pageshow', 'visibilitychange', 'online'];
    await isLiveAfter(page, service, () => fire(page, ...all, ...all));
    // It was opened a moment ago: that is evidence enough.
    await fire(page, 'resume', 'visibilitychange', 'online');
    await page.clock.runFor(1000);
    service.write('notes', 'a', { t: 3 });
    await shows(page, 3);
    assert.equal(opened(service), 2);
  }));

test('a stream that is evidently alive is left alone', () => withPage(browser, withNotes,
  async ({ page, service }) => {
    await follow(page);
    await sleepFor(page, 60_000);
    service.write('notes', 'a', { t: 2 });
    await shows(page, 2);
    await fire(page, 'resume', 'visibilitychange', 'online');
    await page.clock.runFor(1000);
    service.write('notes', 'a', { t: 3 });
    await shows(page, 3);
    assert.equal(opened(service), 1);
  }));

// Over HTTP/1.1, as here, the tabs of an app have six connections together.
const turn = (page, away) => page.evaluate((hidden) => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}, away);

const isLeft = async (page, service) => {
  const end = Date.now() + 60_000;
  while (service.streams.size) {
    assert.ok(Date.now() < end, 'the connection is held');
    await page.evaluate(() => {});
  }
};

test('a page that nobody looks at holds no connection, asks every 20 s, and is live when it is looked at',
  () => withPage(browser, withNotes, async ({ page, service }) => {
    await follow(page);
    await turn(page, true);
    const left = () => isLeft(page, service);
    await left();
    service.write('notes', 'a', { t: 2 });
    await page.clock.runFor(21_000);
    await shows(page, 2);
    await left();
    const asked = opened(service);
    await turn(page, false);
    await page.clock.runFor(1000);
    service.write('notes', 'a', { t: 3 });
    await shows(page, 3);
    assert.equal(opened(service), asked + 1);
    assert.equal(service.streams.size, 1);
    assert.equal(service.seen('GET', 'collections/notes').length, 1, 'no second list');
  }));

test('nor does one whose document came from the cache of the browser', () => withPage(browser,
  (service) => {
    withNotes(service);
    service.documentSeconds = 60;
  },
  async ({ page: first, service }) => {
    const page = await first.context().newPage();
    await page.goto(service.url);
    const [document] = await page.evaluate(() => performance.getEntriesByType('navigation'));
    assert.equal(document.nextHopProtocol, '', 'it was not asked for again');
    await follow(page);
    await turn(page, true);
    await isLeft(page, service);
  }));
