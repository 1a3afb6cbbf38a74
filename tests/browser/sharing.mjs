// What is shared by links, on a running server: a grant link and a preview in a real browser, and
// what revoking them does to a page that is open. Run by tests/sharing/browser.rs, which deploys the
// app: APP_URL, APP_API (its address below /v1), OWNER_KEY (an agent's key), GRANT_URL and GRANT_ID,
// PREVIEW_URL and PREVIEW_ID.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch, onPage, until } from './harness.mjs';

const { APP_URL, APP_API, OWNER_KEY, GRANT_URL, GRANT_ID, PREVIEW_URL, PREVIEW_ID } = process.env;
// What is said to whoever is let in no more: of the token, or of the app.
const SHOWN_OUT = /^(participant_token_invalid|unauthorized)$/;
let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

// A request of the owner's agent; the answer's status.
const owner = async (method, below, body) => {
  const headers = { authorization: `Bearer ${OWNER_KEY}`, 'content-type': 'application/json' };
  const answer = await fetch(`${APP_API}${below}`, { method, headers, body: JSON.stringify(body) });
  return answer.status;
};

// The code of a call's refusal in the page, or `done`.
const codeOf = (page, name, work) => page.evaluate(`(async (rows) => ${work})(app.collection(${
  JSON.stringify(name)})).then(() => 'done', (error) => error.code)`);

// Has the page follow a collection, and waits until it does.
const follow = async (page, name) => {
  await page.evaluate((collection) => {
    window.keys = [];
    app.collection(collection).subscribe(
      (rows) => { window.keys = rows.map((row) => row.key); },
      {
        onSync: () => { window.inSync = true; },
        onError: (error) => { if (!error.retryable) window.ended = error.code; },
      },
    );
  }, name);
  await until(page, () => window.inSync);
};

const isShownOut = async (page) => {
  await until(page, () => window.ended);
  assert.match(await page.evaluate(() => window.ended), SHOWN_OUT);
  await page.reload();
  await page.getByText('This app is private').waitFor();
};

test('a grant link gives its role and nothing more, and revoking it ends that in the open page',
  () => onPage(browser, GRANT_URL, async ({ page }) => {
    assert.equal(page.url(), APP_URL, 'the link leads to the app, without its secret');
    await page.getByRole('heading', { name: 'The desk' }).waitFor();
    const me = await page.evaluate(async () => app.me);
    assert.deepEqual([me.kind, me.role, me.custom_role], ['grant', 'anyone', 'editor']);
    assert.equal(await page.evaluate(() => document.cookie), '', 'no script reads the token');

    const own = 'rows.create({ by: "guest" }).then(({ key }) => rows.update(key, { by: "me" }))';
    assert.equal(await codeOf(page, 'desk', own), 'done');
    assert.equal(await codeOf(page, 'desk', 'rows.update("owners", {})'), 'collection_write_forbidden');
    assert.equal(await codeOf(page, 'press', own), 'collection_write_forbidden');
    assert.equal(await codeOf(page, 'club', 'rows.list()'), 'collection_read_forbidden');
    assert.equal(await codeOf(page, 'safe', 'rows.list()'), 'collection_read_forbidden');
    assert.equal(await codeOf(page, 'safe', 'rows.get("secret")'), 'row_not_found');

    await follow(page, 'desk');
    assert.equal(await owner('POST', '/collections/desk', { key: 'news', data: {} }), 201);
    await until(page, () => window.keys.includes('news'));
    assert.equal(await owner('DELETE', `/grants/${GRANT_ID}`), 204);
    // Nobody reloads or asks: the open page is told.
    await until(page, () => window.ended);
    assert.match(await codeOf(page, 'desk', 'rows.create({})'), SHOWN_OUT);
    assert.match(await codeOf(page, 'board', 'rows.list()'), SHOWN_OUT);
    await isShownOut(page);

    const again = await page.goto(GRANT_URL);
    assert.equal(again.status(), 401);
    assert.equal(await page.getByRole('heading', { name: 'The desk' }).count(), 0);
  }));

test('a preview shows what anybody may read, changes nothing, and ends in the open page',
  () => onPage(browser, PREVIEW_URL, async ({ page }) => {
    assert.equal(page.url(), APP_URL);
    await page.getByRole('heading', { name: 'The desk' }).waitFor();
    assert.equal(await codeOf(page, 'board', 'rows.create({})'), 'collection_write_forbidden');
    assert.equal(await codeOf(page, 'desk', 'rows.list()'), 'collection_read_forbidden');
    await follow(page, 'board');
    assert.equal(await owner('POST', '/collections/board', { key: 'note', data: {} }), 201);
    await until(page, () => window.keys.includes('note'));
    assert.equal(await owner('DELETE', `/preview-tokens/${PREVIEW_ID}`), 204);
    await isShownOut(page);
  }));

test('without a link the app does not open', () => onPage(browser, APP_URL,
  async ({ page }) => {
    await page.getByText('This app is private').waitFor();
    assert.equal(await page.getByRole('heading', { name: 'The desk' }).count(), 0);
  }));
