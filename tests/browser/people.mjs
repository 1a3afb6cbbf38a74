// A human in a browser and an agent beside it, on a running server (SITE_URL): what the tests of the
// site have in common.
import assert from 'node:assert/strict';

export const { SITE_URL, MAIL_URL } = process.env;

// A browser context whose pages fail the test when they throw, or run into their own policy.
export const visitor = async (browser, options = {}) => {
  const context = await browser.newContext(options);
  const faults = [];
  context.on('weberror', (error) => faults.push(String(error.error())));
  context.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy|htmx/.test(message.text())) {
      faults.push(message.text());
    }
  });
  return { context, page: await context.newPage(), check: () => assert.deepEqual(faults, []) };
};

// The newest mail to an address, from the real mail server; waits for one.
export const mailTo = async (email) => {
  const answer = await fetch(`${MAIL_URL}/?to=${encodeURIComponent(email)}`);
  return answer.json();
};

// Where the only link of a mail leads.
export const linkOf = ({ text }) => text.match(/https?:\/\/\S+\/\S+/)[0];

// From the page that asks for an address to being signed in, as the links lead: form, mail,
// confirmation. `path` of null: the page is there already; `arrives` is the heading at the end.
export const signIn = async (page, email, path = '/sign-in', arrives = 'Your apps') => {
  if (path !== null) await page.goto(SITE_URL + path);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('button', { name: /^Send/ }).click();
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
  if (MAIL_URL) {
    await page.goto(linkOf(await mailTo(email)));
  } else {
    await page.getByRole('link', { name: 'development mailbox' }).click();
    await page.getByRole('link', { name: 'Open the link' }).first().click();
  }
  await page.getByRole('button', { name: 'Sign in' }).click();
  if (arrives) await page.getByRole('heading', { level: 1, name: arrives }).waitFor();
};

// What a program does, without a browser.
export const call = async (method, path, { key, body } = {}) => {
  const answer = await fetch(SITE_URL + path, {
    method,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text.startsWith('{') ? JSON.parse(text) : text;
};

// A fresh account that went through the first run: its page, its app, its agent's key.
export const newcomer = async (browser, email, options) => {
  const person = await visitor(browser, options);
  await signIn(person.page, email);
  await person.page.getByRole('button', { name: 'Deploy an example app' }).click();
  await person.page.getByRole('heading', { name: 'Your first app is running' }).waitFor();
  const key = await person.page.locator('#agent-key').textContent();
  const [app] = (await call('GET', '/v1/apps', { key })).items;
  return { ...person, key, app };
};
