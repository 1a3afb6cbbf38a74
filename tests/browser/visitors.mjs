// Visitors on a running server: the way into a private app, a challenge solved by the page, and
// what a hostile app's page cannot do. Run by the Rust test `a_real_browser_...`, which deploys the
// apps and names them: SITE_URL, APP_URL (a guestbook), PRIVATE_URL, CHALLENGED_URL, HOSTILE_URL,
// OWNER (an e-mail address).
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { launch, onPage, until } from './harness.mjs';
import { picture } from './sound.mjs';

const { SITE_URL, APP_URL, PRIVATE_URL, CHALLENGED_URL, HOSTILE_URL, OWNER } = process.env;
let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// From a private app's page through sign-in, mail and confirmation.
const signIn = async (page) => {
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('E-mail address').fill(OWNER);
  await picture(page, 'sign-in');
  await page.getByRole('button', { name: 'Send the link' }).click();
  await page.goto(`${SITE_URL}/dev/mailbox?to=${encodeURIComponent(OWNER)}`);
  await page.getByRole('link', { name: 'Open the link' }).first().click();
  await picture(page, 'live-confirm');
  await page.getByRole('button', { name: 'Sign in' }).click();
};

test('a private app opens by signing in, and not without', () => onPage(browser, PRIVATE_URL,
  async ({ page }) => {
    await page.getByText('This app is private').waitFor();
    await picture(page, 'live-private');
    await signIn(page);
    await page.waitForURL(PRIVATE_URL);
    await page.getByRole('heading', { name: 'For my eyes' }).waitFor();
    await picture(page, 'live-opened');
    const me = await page.evaluate(async () => app.me);
    assert.deepEqual([me.kind, me.role], ['human', 'owner']);
    assert.equal(await page.evaluate(() => document.cookie), '', 'no script reads the token');
    // Its session ends, and a second page that shows hears so by its feed.
    const second = await page.context().newPage();
    await second.goto(PRIVATE_URL);
    await second.evaluate(() => new Promise((live) => {
      window.told = [];
      app.onAuth((it) => window.told.push(it && it.role));
      app.collection('notes').subscribe(() => {}, { onSync: live, onError: () => {} });
    }));
    await page.evaluate(async () => app.signOut());
    await until(second, () => window.told.length > 1);
    assert.deepEqual(await second.evaluate(() => window.told), ['owner', null]);
    await second.close();
    await page.reload();
    await page.getByText('This app is private').waitFor();
  }));

test('a challenge is solved by the page itself', () => onPage(browser, CHALLENGED_URL,
  async ({ page }) => {
    const answers = [];
    page.on('request', (request) => answers.push(request.headers()['x-service-challenge-token']));
    const row = await page.evaluate(async () => app.collection('entries').create({ by: 'hand' }));
    assert.equal(row.version, 1);
    assert.equal(answers.filter(Boolean).length, 1);
  }));

test('a hostile app reaches neither the site nor another app', async () => {
  // Without the app's own policy, so that what is left is what protects the others from it.
  const context = await browser.newContext({ bypassCSP: true });
  const page = await context.newPage();
  await page.goto(PRIVATE_URL);
  await signIn(page);
  await page.getByRole('heading', { name: 'For my eyes' }).waitFor();
  const cookies = await context.cookies();
  assert.deepEqual(cookies.map((cookie) => cookie.name).sort(),
    ['service_participant', 'service_probe', 'service_session', 'service_sign_in'], 'signed in to both');
  assert.ok(cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === 'Lax'));

  await page.goto(HOSTILE_URL);
  assert.equal(await page.evaluate(() => document.cookie), '');
  const statuses = new Map();
  page.on('response', (response) => statuses.set(response.url(), response.status()));
  const read = (url, init) => page.evaluate(async ([address, options]) => {
    try {
      const response = await fetch(address, { credentials: 'include', ...options });
      return response.type === 'opaque' ? 'opaque' : response.text();
    } catch {
      return 'refused';
    }
  }, [url, init]);
  for (const url of [`${SITE_URL}/v1/auth/status`, `${PRIVATE_URL}s/session`, PRIVATE_URL,
    `${PRIVATE_URL}s/collections/notes`, `${APP_URL}s/session`]) {
    assert.equal(await read(url), 'refused', url);
  }
  // Sent blindly they arrive, and are refused by whoever gets them; a logout without the session
  // ends none, as the last lines show.
  const blind = { method: 'POST', mode: 'no-cors', body: '{}' };
  await read(`${SITE_URL}/v1/auth/logout`, blind);
  for (const url of [`${SITE_URL}/v1/self/claim-codes`, `${PRIVATE_URL}s/session`, `${PRIVATE_URL}s/collections/notes`]) {
    const answer = await read(url, blind);
    // The browser may keep even the status from the page.
    const refused = answer === 'refused' || [400, 401, 403].includes(statuses.get(url));
    assert.ok(refused, `${url}: ${answer} ${statuses.get(url)}`);
  }
  await picture(page, 'live-hostile');
  // All that has changed nothing.
  await page.goto(PRIVATE_URL);
  await page.getByRole('heading', { name: 'For my eyes' }).waitFor();
  const notes = await page.evaluate(async () => app.collection('notes').list());
  assert.deepEqual(notes.items, []);
  await context.close();
});

test('nothing of the site or of an app shows in a frame', async () => {
  // A page of somebody else, without any policy.
  const server = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end());
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const elsewhere = `http://elsewhere.localhost:${server.address().port}/`;
  const visit = onPage(browser, elsewhere, async ({ page }) => {
    for (const url of [`${SITE_URL}/sign-in`, `${SITE_URL}/device`, PRIVATE_URL, APP_URL]) {
      const failed = page.waitForEvent('requestfailed')
        .catch(() => assert.fail(`${url} shows in a frame`));
      await page.evaluate((address) => {
        const frame = document.createElement('iframe');
        frame.src = address;
        document.body.append(frame);
      }, url);
      assert.equal((await failed).failure().errorText, 'net::ERR_BLOCKED_BY_RESPONSE', url);
    }
  });
  await visit.finally(() => {
    server.closeAllConnections();
    server.close();
  });
});

test('an app with a policy cannot even ask', () => onPage(browser, HOSTILE_URL,
  async ({ page }) => {
    const blocked = await page.evaluate((site) => new Promise((resolve) => {
      document.addEventListener('securitypolicyviolation', (e) => resolve(e.effectiveDirective));
      fetch(`${site}/v1/auth/status`, { credentials: 'include' }).catch(() => {});
    }), SITE_URL);
    assert.equal(blocked, 'connect-src');
  }));
