// The report in a real browser: node browser.mjs MODULES PAGE [SCREENSHOT_FOLDER]
//   MODULES  a folder with playwright-core and axe-core, as npm makes it
// Prints a line a failure. Exit code: 0 all is well, 1 something is not.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, file, screenshots] = process.argv.slice(2);
const load = createRequire(`${resolve(modules)}/`);
const { chromium } = load('playwright-core');
const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');
const url = pathToFileURL(file).href;
const failures = [];
const expect = (what, is) => { if (!is) failures.push(what); };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] });

/** A page that tells of errors and requests. */
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(5000);
  page.on('console', message => failures.push(`console: ${message.text()}`));
  page.on('pageerror', error => failures.push(`error: ${error.message}`));
  page.on('request', request => { if (request.url() !== url && !request.url().startsWith('data:')) failures.push(`request: ${request.url()}`); });
  await page.goto(url);
  return page;
}

const column = (page, n) => page.$$eval(`#tasks-table tbody tr:not([hidden]) td:nth-child(${n})`, cells =>
  cells.map(cell => cell.dataset.v === undefined ? cell.textContent : cell.dataset.v === '' ? NaN : Number(cell.dataset.v)));
const ordered = (values, sign) => values.filter(v => !Number.isNaN(v)).every((v, i, all) => i === 0 || sign * (v - all[i - 1]) >= 0);

/** Something that a reader does; where it cannot be done, that is a failure like any other. */
const attempt = async (what, deed) => { try { await deed(); } catch (error) { failures.push(`${what}: ${error.message.split('\n')[0]}`); } };

await attempt('sorting and filtering, by mouse and by keys', async () => {
  const page = await open();
  const rows = (await column(page, 1)).length;
  const best = page.locator('#tasks-table th button', { hasText: 'Best' }).first();
  await best.click();
  expect('a click sorts the largest first', ordered(await column(page, 5), -1));
  await best.focus();
  await page.keyboard.press('Enter');
  expect('Enter sorts the other way', ordered(await column(page, 5), 1));
  expect('the column says how it is sorted', await page.$eval('#tasks-table th[aria-sort]', th => th.getAttribute('aria-sort')) === 'ascending');
  await page.fill('#filter', 'no task has this');
  expect('a filter that fits nothing hides all', (await column(page, 1)).length === 0);
  await page.fill('#filter', 'CONV2D');
  const left = (await column(page, 1)).length;
  expect('a filter keeps what fits, whatever its case', left > 0 && left < rows);
  expect('the count is told', await page.textContent('#shown') === `${left} of ${rows}`);
  expect('curves are filtered, too', await page.locator('figure:not([hidden])').count() <= left);
  await page.fill('#filter', '');
  expect('without a filter all is there', (await column(page, 1)).length === rows);
});
await attempt('links, and nothing missing without JavaScript', async () => {
  const page = await open({ javaScriptEnabled: false });
  const broken = await page.locator('a').evaluateAll(links => links.filter(a => !document.getElementById(a.hash.slice(1))).map(a => a.hash));
  expect(`every link has a target: ${broken}`, broken.length === 0);
  expect('the table is there without JavaScript', await page.locator('#tasks-table tbody tr').count() > 0);
  expect('the pictures are there without JavaScript', await page.locator('svg').count() > 3);
  expect('no filter is shown that does nothing', !await page.locator('#filter').isVisible());
});
for (const colorScheme of ['light', 'dark'])
  for (const width of [1200, 360]) {
    const page = await open({ colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
    expect(`${width} px: the page itself does not scroll sideways`, await page.evaluate(() => document.documentElement.scrollWidth) <= width);
    expect(`${width} px: the sentence with the gain is in sight`, (await page.locator('.lead').boundingBox()).y < 200);
    await page.evaluate(axe);
    for (const found of (await page.evaluate(() => globalThis.axe.run())).violations)
      failures.push(`axe, ${colorScheme}, ${width} px: ${found.id}: ${found.help}: ${found.nodes[0].html.slice(0, 160)}`);
    if (screenshots) await page.screenshot({ path: `${screenshots}/${colorScheme}-${width}.png`, fullPage: true });
  }
await browser.close();
for (const failure of new Set(failures)) console.log(failure);
process.exit(failures.length > 0 ? 1 : 0);
