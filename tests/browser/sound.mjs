// What makes a page of the site sound, whoever looks: nothing that axe-core finds wrong, nothing
// wider than the screen. And pictures, for eyes to look at.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PICTURES = new URL('./screenshots/', import.meta.url).pathname;

// A picture of the whole page in screenshots/ (git-ignored), where the variable PICTURES asks for them.
export const picture = (page, name) => process.env.PICTURES && page.screenshot({ path: `${PICTURES}${name}.png`, fullPage: true });

// Opens the parts of a page that are folded, so that they are looked at, too.
export const unfold = (page) => page.evaluate(() => { for (const part of document.querySelectorAll('details')) part.open = true; });

// What is wrong with a page, each in a line.
export const findings = async (page) => {
  // What is still coming into sight has not its own colours yet.
  await page.evaluate(() => Promise.allSettled(document.getAnimations()
    .filter((one) => one.effect.getComputedTiming().endTime !== Infinity).map((one) => one.finished)));
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return [
    ...(overflow > 0 ? [`${overflow}px wider than the screen`] : []),
    ...violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.slice(0, 3).map((node) => node.html).join(' | ')}`),
  ];
};
