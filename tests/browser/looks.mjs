// Every page of the site in a real browser, on a phone and on a desk, light and dark: nothing that
// axe-core finds wrong, nothing wider than the screen, everything within reach of the keyboard, little
// to load. With PICTURES=1, pictures of all of them for eyes to look at.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { launch } from './harness.mjs';
import { SITE_URL, call, newcomer } from './people.mjs';
import { findings, picture, unfold } from './sound.mjs';

const LOOKS = [['desk', 1440, 'light'], ['desk-dark', 1440, 'dark'], ['phone', 375, 'light'], ['phone-dark', 375, 'dark'],
  ['narrow', 320, 'light']];
const PAGE_BYTES_MAX = 100_000;

let browser;
let world;
const ROLE = { guest: { title: 'Guest of honour, and keeper of everything that the others have left behind' } };
// As long as the rules let them be, and without a place to break them.
const COLLECTION = 'customer_feedback_and_support_requests_'.padEnd(64, '2026_');
const KEY = 'a-note-'.padEnd(128, 'and-so-on-');
const MEMBER = 'a_member_'.padEnd(300, 'and_so_on_');
const ORG = 'Rooks'.repeat(20);

before(async () => {
  browser = await launch();
  world = await newcomer(browser, 'looks@example.org');
  const { key, app, page } = world;
  const manifest = JSON.parse(readFileSync(new URL('../../examples/guestbook/manifest.json', import.meta.url), 'utf8'));
  const rows = `/v1/apps/${app.id}/collections/entries`;
  const guests = [['Ada', 'What a quiet place. I will come back with my notebook.'],
    ['Someone with a rather long name who came far', 'Averyveryverylongwordwithoutanyspaceatallthatmustnotbreakthepage'],
    ['Grace', 'Found a moth in the hallway, left it a note.']];
  for (const [index, [name, message]] of guests.entries()) {
    await call('POST', rows, { key, body: { key: `guest-${index}`, data: { name, message } } });
  }
  await call('PATCH', `${rows}/guest-0`, { key, body: { data: { message: 'Second thoughts.' } } });
  await call('DELETE', `${rows}/guest-2`, { key });
  await call('POST', `/v1/apps/${app.id}/versions`, { key,
    body: { html: '<!doctype html>\n<title>Second</title>\n<h1>Second</h1>\n', force: true,
      manifest: { ...manifest, roles: ROLE, collections: { ...manifest.collections, [COLLECTION]: { permissions: manifest.collections.entries.permissions } } } } });
  await call('POST', `/v1/apps/${app.id}/collections/${COLLECTION}`, { key, body: { key: KEY, data: { text: 'Short.' } } });
  await call('POST', `/v1/apps/${app.id}/collections/${COLLECTION}`, { key, body: { key: KEY.replace('a', 'b'), data: {} } });
  await call('DELETE', `/v1/apps/${app.id}/collections/${COLLECTION}/${KEY.replace('a', 'b')}`, { key });
  await call('PATCH', `/v1/apps/${app.id}/collections/${COLLECTION}/${KEY}`, { key, body: { data: { [MEMBER]: 'Long.' } } });
  await call('POST', `/v1/apps/${app.id}/members`, { key, body: { email: 'friend@example.org', custom_role: 'guest' } });
  await call('POST', `/v1/apps/${app.id}/grants`, { key, body: { role: 'guest', max_uses: 5 } });
  await call('POST', `/v1/apps/${app.id}/credentials`, { key,
    body: { name: 'nightly import', collections: ['entries'], operations: ['read', 'create'] } });
  for (let links = 0; links < 25; links += 1) await call('POST', `/v1/apps/${app.id}/grants`, { key, body: { role: 'guest' } });
  world.org = (await call('POST', '/v1/orgs', { key, body: { name: ORG } })).id;
  await call('PATCH', `/v1/apps/${app.id}`, { key, body: { org_id: world.org } });
  const away = await call('POST', '/v1/apps', { key, body: { html: '<h1>Old</h1>', slug: 'old-things' } });
  await call('DELETE', `/v1/apps/${away.id}`, { key });
  // Somebody looks at the app, so that there is something to report.
  await page.goto(app.url);
  await page.goto(SITE_URL);
  await page.getByRole('button', { name: `Favorite ${app.slug}` }).first().click();
});
after(async () => { await browser.close(); });

const signedOut = ['/', '/nothing', '/sign-in', '/signed-out', '/account-deleted', '/sign-in/confirm?token=none', '/dev/mailbox'];
const signedIn = () => {
  const app = `/apps/${world.app.id}`;
  return ['/', '/agents', '/usage', '/trash', '/account', '/transfers', '/device', '/apps/none', '/orgs', `/orgs/${world.org}`, app,
    `${app}/data/entries`, `${app}/data/${COLLECTION}`, `${app}/data/${COLLECTION}/rows/${KEY}`, `${app}/data/${COLLECTION}/rows/${KEY.replace('a', 'b')}`,
    `${app}/data/${COLLECTION}/new`, `${app}/data/${COLLECTION}/trash`, `${app}/data/entries/new`, `${app}/data/entries/trash`,
    `${app}/data/entries/rows/guest-0`, `${app}/data/entries/rows/guest-2`, `${app}/versions`,
    `${app}/versions/1`, `${app}/versions/2`, `${app}/sharing`, `${app}/analytics`, `${app}/usage`, '/usage?by=hour',
    `${app}/settings`, `${app}/domains`];
};
const nameOf = (path) => path.replace(world.app.id, 'app').replace(world.org, 'org').replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '') || 'home';

const look = async (context, paths, look, who) => {
  const problems = [];
  const page = await context.newPage();
  let bytes;
  const network = await context.newCDPSession(page);
  await network.send('Network.enable');
  // Each page counts whole, also what the one before it has loaded.
  await network.send('Network.setCacheDisabled', { cacheDisabled: true });
  network.on('Network.loadingFinished', ({ encodedDataLength }) => { bytes += encodedDataLength; });
  for (const path of paths) {
    bytes = 0;
    await page.goto(SITE_URL + path, { waitUntil: 'load' });
    if (bytes > PAGE_BYTES_MAX) problems.push(`${path} loads ${bytes} bytes`);
    await picture(page, `site-${who}-${nameOf(path)}-${look}`);
    await unfold(page);
    for (const finding of await findings(page)) problems.push(`${path}: ${finding}`);
  }
  return problems;
};

for (const [name, width, colorScheme] of LOOKS) {
  test(`every page is sound: ${name}`, async () => {
    const options = { viewport: { width, height: 800 }, colorScheme, reducedMotion: 'reduce' };
    const stranger = await browser.newContext(options);
    const human = await browser.newContext({ ...options, storageState: await world.context.storageState() });
    const problems = [...await look(stranger, signedOut, name, 'out'), ...await look(human, signedIn(), name, 'in')];
    await stranger.close();
    await human.close();
    assert.deepEqual(problems, []);
  });
}

for (const width of [375, 320]) test(`every page fits a phone of ${width} px with text of twice the size`, async () => {
  const viewport = { width, height: 800 };
  const human = await browser.newContext({ viewport, storageState: await world.context.storageState() });
  const stranger = await browser.newContext({ viewport });
  const [ours, theirs] = [await human.newPage(), await stranger.newPage()];
  const problems = [];
  for (const [page, path] of [...signedIn().map((path) => [ours, path]), ...signedOut.map((path) => [theirs, path])]) {
    await page.goto(SITE_URL + path);
    await unfold(page);
    await page.evaluate(() => { document.documentElement.style.fontSize = '200%'; });
    await picture(page, `site-large-${nameOf(path)}`);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    const widest = () => [...document.querySelectorAll('main *, header *')].filter((one) => one.getBoundingClientRect().right > innerWidth)
      .map((one) => one.outerHTML.slice(0, 120)).slice(0, 3);
    if (overflow > 0) problems.push(`${path}: ${overflow}px wider than the screen`, ...await page.evaluate(widest));
  }
  await stranger.close();
  await human.close();
  assert.deepEqual(problems, []);
});

test('every page is within reach of the keyboard', async () => {
  const human = await browser.newContext({ viewport: { width: 375, height: 800 }, storageState: await world.context.storageState() });
  const page = await human.newPage();
  for (const path of signedIn().filter((one) => !['/transfers', '/device'].includes(one))) {
    await page.goto(SITE_URL + path);
    await unfold(page);
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip', path);
    const wanted = await page.evaluate(() => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
      .filter((one) => one.checkVisibility() && !one.disabled).length);
    const seen = await page.evaluate(() => { globalThis.reached = new Set(); return 0; });
    for (let step = seen; step < wanted * 2; step += 1) {
      const done = await page.evaluate(() => {
        const here = document.activeElement;
        if (here === document.body) return true;
        globalThis.reached.add(here);
        const style = getComputedStyle(here);
        if (style.outlineStyle === 'none' && !here.matches('.table')) globalThis.dark = here.outerHTML;
        return false;
      });
      if (done) break;
      await page.keyboard.press('Tab');
    }
    const { reached, dark } = await page.evaluate(() => ({ reached: globalThis.reached.size, dark: globalThis.dark }));
    assert.equal(dark, undefined, `${path}: focus is not seen`);
    // Of radio buttons the Tab key stops at one of each group.
    const radios = await page.evaluate(() => document.querySelectorAll('input[type=radio]').length);
    assert.ok(reached >= wanted - radios, `${path}: ${reached} of ${wanted} reached`);
  }
  await human.close();
});
