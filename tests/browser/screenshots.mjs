// Takes pictures of the examples and of the service's own pages, in light, dark and at 375 px,
// into tests/browser/screenshots (git-ignored), for eyes to look at. The service's own pages are
// written by the Rust test `everyday_pages_are_small_and_written_out_for_pictures`.
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { launch } from './harness.mjs';
import { FakeService } from './fake.mjs';

const OUT = new URL('./screenshots/', import.meta.url).pathname;
const PAGES = new URL('../../target/tmp/pages/', import.meta.url);
const example = (name) => readFileSync(new URL(`../../examples/${name}/index.html`, import.meta.url), 'utf8')
  .replace('<head>', '<head><script src="/s/sdk.js"></script>');

const guests = [
  ['Ada', 'What a quiet place. I will come back with my notebook.'],
  ['Grace', 'Found a moth in the hallway, left it a note.\nWarm greetings from the harbour!'],
  ['Someone with a rather long name who came far', 'Averyveryverylongwordwithoutanyspaceatallthatmustnotbreakthepageonaphone'],
  ['Linus', 'Nice garden.'],
];

const fill = (service) => {
  guests.forEach(([name, message], i) => service.write('entries', `e${i}`, { name, message }));
  const ideas = [['Dark mode for the printed menu', 'Reading by candle light is romantic, but hard.'],
    ['A bench near the pond', ''], ['Later closing time on Fridays', 'At least in summer.'],
    ['Fewer meetings', '']];
  ideas.forEach(([title, detail], i) => service.write('ideas', `i${i}`, { title, ...(detail && { detail }) }));
  [7, 3, 12, 1].forEach((votes, idea) => {
    for (let n = 0; n < votes; n += 1) service.write('votes', `v${idea}-${n}`, { idea: `i${idea}`, ballot: `${idea}:${n}` });
  });
  service.write('decisions', 'd0', { idea: 'i2', status: 'planned' });
  service.write('decisions', 'd1', { idea: 'i3', status: 'declined' });
};

mkdirSync(OUT, { recursive: true });
const browser = await launch();
const looks = [['light', 1000, 'light'], ['dark', 1000, 'dark'], ['phone', 375, 'light'], ['phone-dark', 375, 'dark']];
const targets = ['guestbook', 'board', 'guestbook-empty', ...readdirSync(PAGES).sort()];
for (const [look, width, colorScheme] of looks) {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, reducedMotion: 'reduce' });
  for (const target of targets) {
    const page = await context.newPage();
    page.on('pageerror', (error) => { console.error(target, error); process.exitCode = 1; });
    const name = target.replace('.html', '');
    let service = null;
    if (target.endsWith('.html')) {
      await page.setContent(readFileSync(new URL(target, PAGES), 'utf8').replace(/<meta http-equiv="refresh"[^>]*>/, ''));
    } else {
      service = new FakeService();
      service.html = example(name.replace('-empty', ''));
      if (!name.endsWith('-empty')) fill(service);
      await service.start();
      await page.goto(service.url);
      await page.getByText('Live:').waitFor();
      if (name === 'guestbook') {
        await page.getByLabel('Your name').fill('Me');
        await page.getByLabel('Your message').fill('Hello from this browser.');
        await page.getByRole('button', { name: 'Sign the book' }).click();
        await page.getByText('Hello from this browser.').waitFor();
      }
      if (name === 'board') {
        await page.getByRole('button', { name: 'Vote for A bench' }).click();
        await page.locator('.vote[aria-pressed=true]').waitFor();
      }
    }
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (overflow > 0) { console.error(`${name} ${look}: ${overflow}px wider than the screen`); process.exitCode = 1; }
    await page.screenshot({ path: `${OUT}${name}-${look}.png`, fullPage: true });
    await page.close();
    if (service) await service.stop();
  }
  await context.close();
}
await browser.close();
