// Starts one Chromium for a test file, and a fresh page on a fresh fake service for each test.
import { chromium } from 'playwright-core';
import { FakeService } from './fake.mjs';

export const EXECUTABLE = process.env.CHROMIUM || '/usr/bin/chromium';

// How long a single step may take: on a machine that is busy with other tests.
const STEP_MS = 120_000;

export const launch = async (...more) => {
  const browser = await chromium.launch({
    executablePath: EXECUTABLE,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--no-first-run', ...more],
  });
  browser.on('context', (context) => context.setDefaultTimeout(STEP_MS));
  return browser;
};

// Runs `body({page, thrown})` on a fresh visitor's page of `url`; fails on any error the page threw.
export const onPage = async (browser, url, body) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const thrown = [];
  page.on('pageerror', (error) => thrown.push(error));
  try {
    await page.goto(url);
    await body({ page, thrown });
    if (thrown.length) throw thrown[0];
  } finally {
    await context.close();
  }
};

// The same on a fresh fake service, which `prepare` sets up.
export const withPage = async (browser, prepare, body) => {
  const service = new FakeService();
  prepare(service);
  await service.start();
  try {
    await onPage(browser, service.url, ({ page, thrown }) => body({ page, service, thrown }));
  } finally {
    await service.stop();
  }
};

// Waits until `check` holds in the page, in the page's own frames: no fixed sleeps.
export const until = (page, check, arg) => page.waitForFunction(check, arg);
