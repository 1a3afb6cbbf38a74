// A private app under names of its own, on a running server: how a human is carried there from the
// site. Run by tests/visitors/browser.rs, which proves the names: SITE_URL, APP_URL (the app at the
// name that serves it), ALIAS_URL (at the one that leads there), APP_ID, OWNER (an e-mail address).
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch } from './harness.mjs';
import { signIn, visitor } from './people.mjs';
import { findings, picture, unfold } from './sound.mjs';

const { SITE_URL, APP_URL, ALIAS_URL, APP_ID, OWNER } = process.env;
const names = [APP_URL, ALIAS_URL].map((url) => new URL(url).hostname);
let browser;
before(async () => {
  // What the DNS would say of the names.
  const rules = names.map((name) => `MAP ${name} 127.0.0.1`).join(',');
  browser = await launch(`--host-resolver-rules=${rules}`, '--disable-features=HttpsUpgrades');
});
after(async () => { await browser.close(); });

const opened = async (page) => {
  await page.waitForURL(APP_URL);
  await page.getByRole('heading', { name: 'For my eyes' }).waitFor();
};

test('whoever comes by the name is carried to the site, signs in there, and is carried back', async () => {
  const { context, page, check } = await visitor(browser);
  await page.goto(APP_URL);
  await page.getByText('This app is private').waitFor();
  await page.getByRole('link', { name: 'Sign in' }).click();
  await signIn(page, OWNER, null, null);
  await opened(page);
  const me = await page.evaluate(async () => app.me);
  assert.deepEqual([me.kind, me.role], ['human', 'owner']);
  assert.equal(await page.evaluate(() => document.cookie), '', 'no script reads the token');
  const cookies = await context.cookies(APP_URL);
  assert.deepEqual(cookies.map((one) => one.name).sort(), ['service_participant', 'service_sign_in'],
    'the site keeps its own');

  // The other name leads here, with its path; the grant in the history opens nothing again.
  await page.goto(`${ALIAS_URL}?from=alias`);
  await page.waitForURL(`${APP_URL}?from=alias`);
  await page.getByRole('heading', { name: 'For my eyes' }).waitFor();
  await page.evaluate(async () => app.signOut());
  await page.goto(APP_URL);
  await page.getByText('This app is private').waitFor();

  // Signed in to the site still: its own button leads in at once.
  await page.goto(SITE_URL);
  await page.getByRole('button', { name: /^Open / }).first().click();
  await opened(page);
  check();
  await context.close();
});

test('the page of its names says what to set, and sounds and looks right', async () => {
  const { context, page, check } = await visitor(browser, { reducedMotion: 'reduce' });
  await signIn(page, OWNER);
  await page.goto(`${SITE_URL}/apps/${APP_ID}/settings`);
  await page.getByRole('link', { name: 'Domains' }).click();
  await page.getByRole('heading', { level: 3, name: names[0] }).waitFor();
  await page.getByLabel('Name', { exact: true }).fill('new.example.com');
  await page.getByRole('button', { name: 'Add' }).click();
  const added = page.getByRole('region', { name: 'new.example.com', exact: true });
  await added.getByRole('cell', { name: '_rookery.new.example.com', exact: true }).waitFor();
  await added.getByText('Waiting for the TXT record').waitFor();
  for (const [name, width, colorScheme] of [['desk', 1280, 'light'], ['phone-dark', 375, 'dark']]) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await unfold(page);
    await picture(page, `site-in-apps-app-domains-bound-${name}`);
    assert.deepEqual(await findings(page), [], name);
  }
  await added.getByRole('button', { name: 'Remove new.example.com' }).click();
  await page.getByText('The domain is removed.').waitFor();
  assert.equal(await page.getByText('new.example.com').count(), 0);
  check();
  await context.close();
});
