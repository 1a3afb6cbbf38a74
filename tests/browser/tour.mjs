// A tour of every page of the site, each with something on it: what its owner has made is as long as
// the rules let it be. What is looked at on the way stands in looks.mjs and reach.mjs.
import { readFileSync } from 'node:fs';
import { SITE_URL, call, newcomer } from './people.mjs';

const ROLE = { guest: { title: 'Guest of honour, and keeper of everything that the others have left behind' } };
// As long as the rules let them be, and without a place to break them.
const COLLECTION = 'customer_feedback_and_support_requests_'.padEnd(64, '2026_');
const KEY = 'a-note-'.padEnd(128, 'and-so-on-');
const MEMBER = 'a_member_'.padEnd(300, 'and_so_on_');
const ORG = 'Rooks'.repeat(20);

// Somebody whose account has a row in every table; `world.org` is their organization.
export const settle = async (browser, email) => {
  const world = await newcomer(browser, email);
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
  return world;
};

export const signedOut = ['/', '/nothing', '/sign-in', '/signed-out', '/account-deleted', '/sign-in/confirm?token=none', '/dev/mailbox'];
export const signedIn = (world) => {
  const app = `/apps/${world.app.id}`;
  return ['/', '/agents', '/usage', '/trash', '/account', '/transfers', '/device', '/apps/none', '/orgs', `/orgs/${world.org}`, app,
    `${app}/data/entries`, `${app}/data/${COLLECTION}`, `${app}/data/${COLLECTION}/rows/${KEY}`, `${app}/data/${COLLECTION}/rows/${KEY.replace('a', 'b')}`,
    `${app}/data/${COLLECTION}/new`, `${app}/data/${COLLECTION}/trash`, `${app}/data/entries/new`, `${app}/data/entries/trash`,
    `${app}/data/entries/rows/guest-0`, `${app}/data/entries/rows/guest-2`, `${app}/versions`,
    `${app}/versions/1`, `${app}/versions/2`, `${app}/sharing`, `${app}/analytics`, `${app}/usage`, '/usage?by=hour',
    `${app}/settings`, `${app}/domains`];
};
// What a picture of a page is called.
export const nameOf = (world, path) => path.replace(world.app.id, 'app').replace(world.org, 'org').replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '') || 'home';
