// The examples in a browser, and the snippets of docs/SDK.md.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { launch, withPage } from './harness.mjs';
import { findings } from './sound.mjs';

let browser;
// Nothing that axe-core finds wrong, nor anything wider than a small phone.
const sound = async (page) => {
  await page.setViewportSize({ width: 320, height: 800 });
  assert.deepEqual(await findings(page), []);
  const overflow = await page.evaluate(() => {
    document.documentElement.style.fontSize = '200%';
    const wider = document.documentElement.scrollWidth - innerWidth;
    document.documentElement.style.fontSize = '';
    return wider;
  });
  assert.ok(overflow <= 0, `${overflow}px wider than the screen with text of twice the size`);
};
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const file = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const example = (name) => (service) => {
  service.html = file(`examples/${name}/index.html`).replace('<head>', '<head><script src="/s/sdk.js"></script>');
};

test('guestbook: a visitor signs, sees others live, and deletes only its own', () => withPage(browser,
  (service) => {
    example('guestbook')(service);
    service.write('entries', 'old', { name: 'Ada', message: '<b>not bold</b>' });
  },
  async ({ page, service }) => {
    await page.getByText('<b>not bold</b>').waitFor();
    await page.getByLabel('Your name').fill('Me');
    await page.getByLabel('Your message').fill('Hello');
    await page.getByRole('button', { name: 'Sign the book' }).click();
    await page.locator('li p', { hasText: 'Hello' }).waitFor();
    service.write('entries', 'new', { name: 'Grace', message: 'From elsewhere' });
    await page.getByText('From elsewhere').waitFor();
    assert.deepEqual(await page.locator('li p').allTextContents(),
      ['From elsewhere', 'Hello', '<b>not bold</b>']);
    assert.equal(await page.getByRole('button', { name: /^Delete/ }).count(), 1);
    await sound(page);
    page.on('dialog', (dialog) => dialog.accept());
    await page.getByRole('button', { name: 'Delete the entry by Me' }).click();
    await page.locator('li p', { hasText: 'Hello' }).waitFor({ state: 'detached' });
  }));

test('guestbook: from an entry that is gone the focus goes on to the next', () => withPage(browser,
  (service) => {
    example('guestbook')(service);
    service.write('entries', 'old', { name: 'Ada', message: 'Old' });
  },
  async ({ page }) => {
    await page.getByText('Old').waitFor();
    await page.getByLabel('Your name').fill('Me');
    for (const message of ['First', 'Second']) {
      await page.getByLabel('Your message').fill(message);
      await page.getByRole('button', { name: 'Sign the book' }).click();
      await page.locator('li p', { hasText: message }).waitFor();
    }
    page.on('dialog', (dialog) => dialog.accept());
    const remove = async (message) => {
      const entry = page.locator('li', { hasText: message });
      await entry.getByRole('button').click();
      await entry.waitFor({ state: 'detached' });
    };
    await remove('Second');
    await page.waitForFunction(() => document.activeElement.closest('li')?.textContent.includes('First'));
    await remove('First');
    await page.waitForFunction(() => document.activeElement.id === 'entries');
  }));

test('guestbook: a refusal is a sentence and the words are kept', () => withPage(browser,
  (service) => {
    example('guestbook')(service);
    service.faults.push((r) => (r.method === 'POST' && r.path === 'collections/entries'
      ? service.refuse(409, 'collection_write_budget_exceeded') : undefined));
  },
  async ({ page }) => {
    await page.getByLabel('Your name').fill('Me');
    await page.getByLabel('Your message').fill('Hello');
    await page.getByRole('button', { name: 'Sign the book' }).click();
    await page.getByRole('alert').getByText('come back tomorrow').waitFor();
    assert.equal(await page.getByLabel('Your message').inputValue(), 'Hello');
  }));

test('guestbook: what is only spaces is told at its field, and sends nothing', () => withPage(browser,
  example('guestbook'),
  async ({ page, service }) => {
    await page.getByLabel('Your name').fill('Me');
    await page.getByLabel('Your message').fill('   ');
    await page.getByRole('button', { name: 'Sign the book' }).click();
    await page.waitForFunction(() => document.activeElement.id === 'message');
    assert.equal(await page.locator('#message').evaluate((field) => field.validationMessage), 'Please write something here.');
    assert.equal(service.collection('entries').size, 0);
    await page.getByLabel('Your message').fill('Hello');
    await page.getByRole('button', { name: 'Sign the book' }).click();
    await page.locator('li p', { hasText: 'Hello' }).waitFor();
  }));

test('guestbook: a book that was closed and opened again is live after the next entry', () => withPage(browser,
  (service) => {
    example('guestbook')(service);
    service.faults.push((r) => (service.closed && r.method === 'GET' && r.path.startsWith('collections/entries')
      ? service.refuse(403, 'app_closed') : undefined));
    service.closed = true;
  },
  async ({ page, service }) => {
    await page.getByRole('status').getByText('app_closed').waitFor();
    await page.getByLabel('Your name').fill('Me');
    await page.getByLabel('Your message').fill('Here again');
    service.closed = false;
    await page.getByRole('button', { name: 'Sign the book' }).click();
    await page.locator('li p', { hasText: 'Here again' }).waitFor();
    await page.getByRole('status').getByText('Live').waitFor();
  }));

test('board: a title of spaces is told at its field, and a board that was closed goes on with the next idea', () => withPage(browser,
  (service) => {
    example('board')(service);
    service.faults.push((r) => (service.closed && r.method === 'GET' && r.path.startsWith('collections/')
      ? service.refuse(403, 'app_closed') : undefined));
    service.closed = true;
  },
  async ({ page, service }) => {
    await page.getByRole('status').getByText('app_closed').waitFor();
    await page.getByLabel('An idea').fill('     ');
    await page.getByRole('button', { name: 'Put it on the board' }).click();
    await page.waitForFunction(() => document.activeElement.id === 'title');
    assert.match(await page.locator('#title').evaluate((field) => field.validationMessage), /3 characters/);
    assert.equal(service.collection('ideas').size, 0);
    await page.getByLabel('An idea').fill('فكرة جيدة (1)!');
    service.closed = false;
    await page.getByRole('button', { name: 'Put it on the board' }).click();
    const idea = page.locator('li', { hasText: 'فكرة' });
    assert.equal(await idea.locator('h2').evaluate((title) => getComputedStyle(title).direction), 'rtl');
    await page.getByRole('status').getByText('Live').waitFor();
    await idea.getByRole('button').first().click();
    await idea.getByText('1 vote').waitFor();
  }));

for (const [name, fields, button] of [
  ['guestbook', { 'Your name': 'Me', 'Your message': 'Hello' }, 'Sign the book'],
  ['board', { 'An idea': 'Tea' }, 'Put it on the board'],
]) {
  test(`${name}: what nobody foresaw is said in words for people, and the keyboard stays where it was`, () => withPage(browser,
    (service) => {
      example(name)(service);
      service.faults.push((r) => (r.method === 'POST' && r.path.startsWith('collections')
        ? service.refuse(403, 'app_closed') : undefined));
    },
    async ({ page }) => {
      for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text);
      await page.getByRole('button', { name: button }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('app_closed', { exact: true }).waitFor();
      await page.waitForFunction(() => document.activeElement.id === 'send');
    }));
}

test('board: a vote counts at once, moves the idea and can be taken back', () => withPage(browser,
  (service) => {
    example('board')(service);
    for (const key of ['one', 'two']) service.write('ideas', key, { title: `Idea ${key}` });
  },
  async ({ page, service }) => {
    const titles = () => page.locator('h2').allTextContents();
    await page.getByText('Idea two').waitFor();
    assert.deepEqual(await titles(), ['Idea one', 'Idea two']);
    await page.getByRole('button', { name: '0 votes, vote for Idea two' }).click();
    await page.getByRole('button', { name: '1 vote, vote for Idea two', pressed: true }).waitFor();
    assert.deepEqual(await titles(), ['Idea two', 'Idea one']);
    await sound(page);
    await page.getByRole('button', { name: '1 vote, vote for Idea two' }).click();
    await page.getByRole('button', { name: '0 votes, vote for Idea two', pressed: false }).waitFor();
    assert.equal(service.collection('votes').size, 0);
    assert.equal(await page.getByRole('button', { name: /^Mark/ }).count(), 0);
  }));

test('board: a vote that is refused says so at its idea', () => withPage(browser,
  (service) => {
    example('board')(service);
    service.write('ideas', 'one', { title: 'Idea one' });
    service.faults.push((r) => (service.full && r.method === 'POST' && r.path === 'collections/votes'
      ? service.refuse(409, 'collection_write_budget_exceeded') : undefined));
    service.full = true;
  },
  async ({ page, service }) => {
    const idea = page.locator('li', { hasText: 'Idea one' });
    await idea.getByRole('button').click();
    await idea.getByRole('alert').getByText('come back tomorrow').waitFor();
    service.full = false;
    await idea.getByRole('button', { name: /^0 votes/ }).click();
    await idea.getByRole('button', { name: /^1 vote,/ }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await page.getByLabel('An idea').fill('Tea');
    await page.keyboard.press('Enter');
    await page.locator('li', { hasText: 'Tea' }).waitFor();
  }));

test('board: the keyboard stays with the idea that it votes for, and goes on from one that is taken back', () => withPage(browser,
  (service) => {
    example('board')(service);
    for (const key of ['one', 'two']) service.write('ideas', key, { title: `Idea ${key}` });
  },
  async ({ page }) => {
    const vote = (count) => page.getByRole('button', { name: `${count}, vote for Idea two` });
    const stands = (text) => page.waitForFunction(
      (wanted) => document.activeElement.closest('li')?.textContent.includes(wanted) && document.activeElement.className, text);
    await vote('0 votes').focus();
    await page.keyboard.press('Enter');
    await vote('1 vote').waitFor();
    assert.equal(await (await stands('Idea two')).jsonValue(), 'vote');
    await page.keyboard.press('Enter');
    await vote('0 votes').waitFor();
    assert.equal(await (await stands('Idea two')).jsonValue(), 'vote');
    await page.getByLabel('An idea').fill('Idea three');
    await page.keyboard.press('Enter');
    const own = page.locator('li', { hasText: 'Idea three' });
    await own.getByRole('button', { name: 'Take back' }).focus();
    page.on('dialog', (dialog) => dialog.accept());
    await page.keyboard.press('Enter');
    await own.waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.activeElement.id === 'title');
  }));

const deciders = {
  'the owner': { kind: 'human', id: 'hum_1', role: 'owner', custom_role: null },
  'a moderator by a grant link': { kind: 'grant', id: 'ptc_1', role: 'anyone', custom_role: 'moderator' },
};
for (const [who, session] of Object.entries(deciders)) test(`board: ${who} decides, and the newest decision is shown`, () => withPage(browser,
  (service) => {
    example('board')(service);
    service.write('ideas', 'one', { title: 'Idea one' });
    service.faults.push((r) => (r.path === 'session' && r.method === 'GET' ? [200, session] : undefined));
    service.sessions.add(undefined);
  },
  async ({ page, service }) => {
    await page.getByRole('button', { name: 'Mark planned' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('.badge.planned').waitFor();
    // The button is gone; the keyboard stays with the idea.
    assert.equal(await page.evaluate(() => document.activeElement.className), 'vote');
    await page.getByRole('button', { name: 'Mark done' }).click();
    await page.locator('.badge.done').waitFor();
    assert.equal(await page.locator('.badge').count(), 1);
    await sound(page);
    assert.equal(service.collection('decisions').size, 2);
  }));

for (const name of ['guestbook', 'board']) {
  test(`${name}: without JavaScript it says what it needs, and its form sends nothing`, async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    const body = file(`examples/${name}/index.html`);
    await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body }));
    await page.goto('http://example.test/');
    await page.locator('main noscript p', { hasText: 'JavaScript' }).waitFor();
    assert.equal(await page.getByRole('button').count(), 0);
    assert.equal(await page.getByRole('status').count(), 0);
    await context.close();
  });
}

const snippets = [...file('docs/SDK.md').matchAll(/```js\n([\s\S]*?)```/g)].map((m) => m[1]);

test('there are snippets to run', () => assert.ok(snippets.length >= 6));

for (const [index, snippet] of snippets.entries()) {
  test(`snippet ${index + 1} of docs/SDK.md runs`, () => withPage(browser, () => {},
    async ({ page }) => page.evaluate(`(async () => {${snippet}})()`)));
}
