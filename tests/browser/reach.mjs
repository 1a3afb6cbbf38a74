// Every page of the site for who reads large text, or has no mouse: nothing wider than a phone with
// text of twice the size, everything within reach of the keyboard.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch } from './harness.mjs';
import { SITE_URL } from './people.mjs';
import { picture, unfold } from './sound.mjs';
import { nameOf, settle, signedIn, signedOut } from './tour.mjs';

let browser;
let world;

before(async () => {
  browser = await launch();
  world = await settle(browser, 'reach@example.org');
});
after(async () => { await browser.close(); });

for (const width of [375, 320]) test(`every page fits a phone of ${width} px with text of twice the size`, async () => {
  const viewport = { width, height: 800 };
  const human = await browser.newContext({ viewport, storageState: await world.context.storageState() });
  const stranger = await browser.newContext({ viewport });
  const [ours, theirs] = [await human.newPage(), await stranger.newPage()];
  const problems = [];
  for (const [page, path] of [...signedIn(world).map((path) => [ours, path]), ...signedOut.map((path) => [theirs, path])]) {
    await page.goto(SITE_URL + path);
    await unfold(page);
    await page.evaluate(() => { document.documentElement.style.fontSize = '200%'; });
    await picture(page, `site-large-${nameOf(world, path)}`);
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
  for (const path of signedIn(world).filter((one) => !['/transfers', '/device'].includes(one))) {
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
