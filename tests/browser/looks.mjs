// Every page of the site in a real browser, on a phone and on a desk, light and dark: nothing that
// axe-core finds wrong, nothing wider than the screen, little to load. LOOKS names some of the looks;
// without it all are taken. With PICTURES=1, pictures of all pages for eyes to look at.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { launch } from './harness.mjs';
import { SITE_URL } from './people.mjs';
import { findings, picture, unfold } from './sound.mjs';
import { nameOf, settle, signedIn, signedOut } from './tour.mjs';

const EVERY_LOOK = [['desk', 1440, 'light'], ['desk-dark', 1440, 'dark'], ['phone', 375, 'light'], ['phone-dark', 375, 'dark'],
  ['narrow', 320, 'light']];
const asked = process.env.LOOKS?.split(' ').filter(Boolean) ?? [];
const LOOKS = EVERY_LOOK.filter(([name]) => !asked.length || asked.includes(name));
const PAGE_BYTES_MAX = 100_000;

let browser;
let world;

before(async () => {
  browser = await launch();
  world = await settle(browser, 'looks@example.org');
});
after(async () => { await browser.close(); });

test('every look that is asked for is one', () => {
  assert.equal(LOOKS.length, asked.length || EVERY_LOOK.length);
});

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
    await picture(page, `site-${who}-${nameOf(world, path)}-${look}`);
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
    const problems = [...await look(stranger, signedOut, name, 'out'), ...await look(human, signedIn(world), name, 'in')];
    await stranger.close();
    await human.close();
    assert.deepEqual(problems, []);
  });
}
