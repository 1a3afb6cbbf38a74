// A private app at a path of the site, on a running server in path mode: the way in, and what its
// sandbox keeps apart. Run by tests/visitors/browser.rs: SITE_URL, APP_URL (the private app),
// OTHER_URL (a private one beside it whose page is unrestricted), OWNER (an e-mail address).
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch } from './harness.mjs';
import { signIn } from './people.mjs';

const { APP_URL, OTHER_URL, OWNER } = process.env;
let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

test('its owner signs in, its page knows them, and other pages learn nothing', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(APP_URL);
  await page.getByText('This app is private').waitFor();
  await page.getByRole('link', { name: 'Sign in' }).click();
  await signIn(page, OWNER, null, 'For my eyes');
  assert.equal(page.url(), APP_URL);
  const seen = await page.evaluate(async () => {
    const notes = app.collection('notes');
    await notes.create({ text: 'mine' });
    const [{ data, creator }] = (await notes.list()).items;
    const { id, kind, role } = await app.me;
    return { data, kind, role, mine: creator.id === id, origin: self.origin };
  });
  assert.deepEqual(seen,
    { data: { text: 'mine' }, kind: 'human', role: 'owner', mine: true, origin: 'null' });
  assert.equal((await page.content()).includes('rk_part_'), false, 'no script finds the token');

  // A link of the page itself leads on as the same visitor.
  await page.getByRole('link', { name: 'Again' }).click();
  await page.waitForURL(`${APP_URL}?again`);
  assert.equal(await page.evaluate(async () => (await app.me).role), 'owner');
  // The files of a private app reach its page alone, and the page keeps its address.
  const shown = await page.evaluate(async () => {
    const color = getComputedStyle(document.querySelector('h1')).color;
    const read = await (await fetch('notes.txt')).text();
    const { value } = await import('./module.js');
    return { color, read, value, width: document.querySelector('img').naturalWidth };
  });
  assert.deepEqual(shown, { color: 'rgb(255, 0, 0)', read: 'kept', value: 7, width: 5 });
  const files = await page.evaluate(() => document.baseURI);
  assert.match(files, new RegExp(`^${APP_URL}s/as/[\\w-]{64}/$`));
  await page.evaluate(() => { window.stays = true; });
  await page.getByRole('link', { name: 'Below' }).click();
  assert.deepEqual([page.url(), await page.evaluate(() => window.stays)], [`${APP_URL}?again#below`, true]);
  // Whoever opens that address is sent to the page itself, and shown nothing.
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(`${files}?x#y`);
  await stranger.getByText('This app is private').waitFor();
  assert.equal(stranger.url(), `${APP_URL}?x#y`);

  const [cookie] = (await context.cookies(APP_URL)).filter((it) => it.name === 'service_participant');
  assert.deepEqual([cookie.path, cookie.httpOnly, cookie.sameSite], ['/a/diary/', true, 'Lax']);

  // The page beside it may fetch from everywhere, and its visitor is the same human.
  const other = await context.newPage();
  await other.goto(OTHER_URL);
  await other.getByRole('link', { name: 'Sign in' }).click();
  await other.waitForURL(OTHER_URL);
  const known = await context.cookies(OTHER_URL);
  assert.ok(known.every((it) => it.value !== cookie.value), 'each path has its own');
  const read = (credentials) => other.evaluate(([url, how]) => fetch(url, { credentials: how })
    .then((answer) => answer.text(), () => 'refused'), [APP_URL, credentials]);
  assert.equal(await read('include'), 'refused');
  assert.match(await read('omit'), /"this app is private"/);
  const [opened] = await Promise.all([context.waitForEvent('page'), other.evaluate((url) => {
    window.beside = window.open(url);
  }, APP_URL)]);
  await opened.getByRole('heading', { name: 'For my eyes' }).waitFor();
  const looked = await other.evaluate(() => [() => window.beside.document.body, () => document.cookie]
    .map((look) => { try { return look(); } catch (error) { return error.name; } }));
  assert.deepEqual(looked, ['SecurityError', 'SecurityError']);
  await opened.close();

  await page.evaluate(async () => app.signOut());
  await page.goto(APP_URL);
  await page.getByText('This app is private').waitFor();
  assert.equal((await fetch(`${files}site.css`)).status, 401, 'the files go with the visit');
  await context.close();
});
