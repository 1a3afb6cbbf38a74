// The ways into the site in a real browser: by a link from a real mail server, by a real identity
// provider, by an invitation, by an app that is handed over. Run by tests/browser/run --doors URL,
// on a server whose mail can be read at MAIL_URL and whose provider is at IDP_URL.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch } from './harness.mjs';
import { SITE_URL, call, linkOf, mailTo, newcomer, signIn, visitor } from './people.mjs';

const { IDP_URL } = process.env;
let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

test('a link that comes by mail signs in, once', async () => {
  const { context, page, check } = await visitor(browser);
  await page.goto(`${SITE_URL}/sign-in`);
  await page.getByLabel('E-mail address').fill('mailed@example.org');
  await page.getByRole('button', { name: 'Send the link' }).click();
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'development mailbox' }).count(), 0);
  const mail = await mailTo('mailed@example.org');
  assert.deepEqual(mail.to, ['mailed@example.org']);
  assert.equal(mail.subject, 'Your sign-in link');
  const link = linkOf(mail);
  assert.ok(mail.html.includes(link), 'both forms of the mail hold the link');
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Your apps' }).waitFor();

  const late = await visitor(browser);
  await late.page.goto(link);
  await late.page.getByRole('alert').filter({ hasText: 'no longer works' }).waitFor();
  await late.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  check();
  await late.context.close();
  await context.close();
});

test('an identity provider signs in, and leads back to where the human was going', async () => {
  const { context, page, check } = await visitor(browser);
  await fetch(`${IDP_URL}/as?who=grace`);
  await page.goto(`${SITE_URL}/usage`);
  await page.getByRole('link', { name: 'Sign in with your provider' }).click();
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
  await page.getByRole('banner').getByText('grace@example.org').waitFor();
  check();
  await context.close();
});

test('an app is offered, accepted by its new owner, and gone from the old one', async () => {
  const from = await newcomer(browser, 'giver@example.org');
  const rows = `/v1/apps/${from.app.id}/collections/entries`;
  await from.page.goto(`${SITE_URL}/account`);
  await from.page.getByLabel('Shown to others').fill('Gail the giver');
  await from.page.getByRole('button', { name: 'Save' }).click();
  await from.page.getByRole('heading', { level: 1, name: 'Gail the giver' }).waitFor();
  await from.page.goto(`${SITE_URL}/apps/${from.app.id}/sharing`);
  const offer = from.page.getByRole('region', { name: 'Hand the app over' });
  await offer.getByLabel('E-mail address').fill('taker@example.org');
  await offer.getByRole('button', { name: 'Offer it' }).click();
  await from.page.getByText('The app is offered.').waitFor();

  const mail = await mailTo('taker@example.org');
  assert.match(mail.subject, new RegExp(from.app.slug));
  const to = await visitor(browser);
  await to.page.goto(linkOf(mail));
  await signIn(to.page, 'taker@example.org', null, 'Apps offered to you');
  await to.page.getByText('Gail the giver').waitFor();
  await to.page.getByRole('button', { name: 'Accept' }).click();
  await to.page.getByText('Nothing is offered to you').waitFor();
  await to.page.goto(`${SITE_URL}/apps/${from.app.id}/data/entries`);
  await to.page.getByText('Your first app is running').waitFor();

  await from.page.goto(`${SITE_URL}/apps/${from.app.id}`);
  await from.page.getByRole('heading', { name: 'There is no such app here' }).waitFor();
  const refused = await fetch(SITE_URL + rows, { headers: { authorization: `Bearer ${from.key}` } });
  assert.equal(refused.status, 404);
  from.check();
  to.check();
  await from.context.close();
  await to.context.close();
});

test('an offer is declined, and stays with its owner', async () => {
  const from = await newcomer(browser, 'keeper@example.org');
  await call('POST', `/v1/apps/${from.app.id}/transfer`, { key: from.key, body: { email: 'unwilling@example.org' } });
  const to = await visitor(browser);
  await to.page.goto(linkOf(await mailTo('unwilling@example.org')));
  await signIn(to.page, 'unwilling@example.org', null, 'Apps offered to you');
  await to.page.getByRole('button', { name: 'Decline' }).click();
  await to.page.getByText('Nothing is offered to you').waitFor();
  await from.page.goto(`${SITE_URL}/apps/${from.app.id}/sharing`);
  await from.page.getByRole('region', { name: 'Hand the app over' }).getByRole('button', { name: 'Offer it' }).waitFor();
  to.check();
  await from.context.close();
  await to.context.close();
});

test('an invitation leads a stranger into the app, and to what a member sees of it', async () => {
  const host = await newcomer(browser, 'host@example.org');
  await host.page.goto(`${SITE_URL}/apps/${host.app.id}/settings`);
  await host.page.getByRole('radio', { name: 'Private' }).check();
  await host.page.getByRole('button', { name: 'Save' }).first().click();
  await host.page.goto(`${SITE_URL}/apps/${host.app.id}/sharing`);
  const members = host.page.getByRole('region', { name: 'Members' });
  await members.getByLabel('E-mail address').fill('invited@example.org');
  await members.getByRole('button', { name: 'Add' }).click();
  await members.getByText('invited@example.org').first().waitFor();

  const guest = await visitor(browser);
  await guest.page.goto(linkOf(await mailTo('invited@example.org')));
  await guest.page.getByText(host.app.slug).first().waitFor();
  await signIn(guest.page, 'invited@example.org', null, null);
  await guest.page.getByText('Your first app is running. Sign here').waitFor();
  await guest.page.goto(SITE_URL);
  const shared = guest.page.getByRole('region', { name: 'Shared with me' });
  await shared.getByRole('link', { name: host.app.slug }).click();
  await guest.page.getByRole('heading', { level: 1, name: host.app.slug }).waitFor();
  assert.equal(await guest.page.getByRole('link', { name: 'Settings' }).count(), 0);
  await host.context.close();
  await guest.context.close();
});
