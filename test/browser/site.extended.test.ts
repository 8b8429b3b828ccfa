/** The site in a real browser: a visitor's way from a question to the first call without a script, and what the script adds. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { BrowserContext, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useDirectory } from '../after-tests.ts';
import { PASSWORD, useAccountPages } from '../gateway/commerce/pages/harness.ts';
import { BREAKS, EDITION_GROUPS, GROUP_FIGURES, INVENTED, OUTPUT, PEOPLE } from '../gateway/derived-world.ts';
import { publishFixture } from '../gateway/fixture-snapshot.ts';
import { useService } from '../gateway/service.ts';
import { useBrowser } from './browser.ts';

const runProgram = promisify(execFile);
const EMAIL = 'visitor@example.org';
const SECOND = 'second@example.org';

/** Subjects of the fixture that can be compared and ranked. */
const indicator = { id: 'alpha.child_mortality', name: 'Child mortality' };
const codes = ['KEN', 'DEU', 'USA'];

const harness = await useAccountPages({ settings: { PAGES_PER_MINUTE: '100000', PAGES_PER_DAY: '1000000' } });
const browser = await useBrowser();
const page = await browser.context.newPage();

/** A page that runs no script. */
async function withoutScripts(context: BrowserContext): Promise<Page> {
  const opened = await context.newPage();
  const session = await context.newCDPSession(opened);
  await session.send('Emulation.setScriptExecutionDisabled', { value: true });
  return opened;
}

describe('a visitor whose browser runs no script', async () => {
  const heading = (name: string | RegExp) => plain.getByRole('heading', { name }).first().waitFor();
  const plain = await withoutScripts(browser.context);

  it('finds an indicator from the home page', async () => {
    await plain.goto(harness.url);
    await plain.getByLabel('What do you want to know?').fill(indicator.name);
    await plain.getByRole('button', { name: 'Search' }).click();
    await plain.getByRole('link', { name: indicator.name, exact: true }).first().click();
    await heading(indicator.name);
    expect(new URL(plain.url()).pathname).toBe(`/indicators/${indicator.id}`);
  });

  it('reads its ranking and what its figures cost', async () => {
    const text = await plain.locator('main').innerText();
    expect(text).toMatch(/\d+ credits?/);
    expect(await plain.locator('main table [value]').count()).toBeGreaterThan(0);
    await plain.getByRole('link', { name: 'Pricing' }).first().click();
    await plain.getByText('credits', { exact: false }).first().waitFor();
  });

  it('compares three countries', async () => {
    await plain.goto(
      `${harness.url}/compare?countries=${codes.slice(0, 2).join(',')}&indicators=${indicator.id}`,
    );
    await plain.getByLabel('Add a country').fill('the United States');
    await plain.getByLabel('Add a country').press('Enter');
    await plain
      .getByRole('link', { name: /^Remove / })
      .nth(2)
      .waitFor();
    expect(await plain.locator('svg.chart').count()).toBeGreaterThan(0);
  });

  it('signs up and makes the first call as the page shows it', async () => {
    await plain.goto(harness.url);
    await plain.getByRole('link', { name: 'Get a key' }).first().click();
    await plain.getByLabel('E-mail address').fill(EMAIL);
    const mail = harness.mailbox.next(EMAIL);
    await plain.getByRole('button', { name: 'Create account' }).click();
    await heading('Check your e-mail');
    await plain.goto(String((await mail).link));
    await plain.getByLabel('Password').fill(PASSWORD);
    await plain.getByRole('button', { name: 'Create account' }).click();
    await heading('Your account is ready');
    const key = /alm_live_[A-Za-z0-9_]+/.exec(await plain.locator('main').innerText())?.[0];
    await plain.goto(`${harness.url}/indicators/${indicator.id}`);
    const shown = await plain.locator('pre code').first().innerText();
    const address = new URL(/"(https?:\/\/[^"]+)"/.exec(shown)?.[1] ?? '');
    const called = harness.url + address.pathname + address.search;
    const { stdout } = await runProgram('curl', ['-s', '-H', `Authorization: Bearer ${key}`, called]);
    expect(JSON.parse(stdout).data.length).toBeGreaterThan(0);
  });
});

describe('the script', () => {
  it('shows who has just signed up the answer of the first call, and says in the header of every page who is signed in', async () => {
    await page.context().clearCookies();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${harness.url}/account/sign-up`);
    await page.getByLabel('E-mail address').fill(SECOND);
    const mail = harness.mailbox.next(SECOND);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.goto(String((await mail).link));
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const key = await page.locator('pre.take').first().innerText();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
    await page.getByRole('button', { name: 'Send this call' }).click();
    await page.getByText('status 200').waitFor();
    const answer = page.getByRole('region', { name: 'Answer of your call' });
    expect(JSON.parse(await answer.innerText()).data.environment).toBe('live');
    for (const path of ['/', `/indicators/${indicator.id}`, '/docs']) {
      await page.goto(harness.url + path);
      const header = page.getByRole('banner');
      await header.getByRole('link', { name: SECOND }).waitFor();
      expect(await header.getByRole('link', { name: 'Sign in' }).count()).toBe(0);
    }
    await page.context().clearCookies({ name: 'almanac_account' });
    await page.goto(harness.url);
    await page.waitForFunction('document.cookie === ""');
    await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).waitFor();
  });

  it('offers indicators and countries while somebody types, by keyboard alone', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(harness.url);
    await page.getByLabel('What do you want to know?').pressSequentially(indicator.name.slice(0, 8));
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/(indicators|countries)\/./);
  });

  it('adds places and indicators by Enter or click alone, keeps the focus, and says how many there can be', async () => {
    await page.goto(`${harness.url}/compare?countries=KEN,DEU&indicators=${indicator.id}`);
    const first = page.url();
    await page.evaluate('window.isSamePage = true');
    const field = page.getByLabel('Add a country');
    const option = (name: string) => page.getByRole('option', { name });
    const removal = (name: string) => page.getByRole('link', { name: `Remove ${name}` });
    const focused = () => page.evaluate('document.activeElement.id');
    await field.pressSequentially('united sta');
    await option('United States').waitFor();
    for (const key of ['ArrowDown', 'ArrowUp', 'ArrowDown', 'Escape', 'Tab']) await page.keyboard.press(key);
    expect([page.url(), await removal('').count()]).toEqual([first, 2]);
    await field.fill('Ivory C');
    await option('Côte d’Ivoire').click();
    await removal('Côte d’Ivoire').waitFor();
    for (const [typed, name] of [
      ['usa', 'United States'],
      ['afg', 'Afghanistan'],
    ] as const) {
      expect(await focused()).toBe('add_country');
      expect(await page.locator('#add_country-limit').textContent()).toMatch(/^[34] of at most 5 are shown/);
      await page.keyboard.type(typed);
      await option(name).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await removal(name).waitFor();
    }
    expect(await page.locator('#add_country').textContent()).toContain('5 are shown, the most there can be');
    expect(await focused()).toBe('add_country');
    await page.getByLabel('Add an indicator').fill('life expectancy');
    await option('Life expectancy').first().click();
    await page.getByRole('heading', { name: 'Life expectancy' }).waitFor();
    expect(await page.evaluate('window.isSamePage')).toBe(true);
  });
});

describe('a picture that can be read', () => {
  const reader = (label: RegExp) => page.getByRole('slider', { name: label });
  const reading = () => page.locator('.reading:not(:empty)');
  /** What is read of a row of a table. */
  const said = async (id: string, row: number): Promise<string> => {
    const table = page.locator(`#${id}`);
    const names = await table.locator('thead th').allTextContents();
    const [name, ...figures] = await table.locator('tbody tr').nth(row).locator('th, td').allTextContents();
    return [name, ...figures.map((text, at) => `${names[at + 1]}: ${text}`)].join('\n');
  };

  it('says the figures of each year of lines, by keys, pointer and touch', async () => {
    await page.goto(`${harness.url}/indicators/alpha.life_expectancy?countries=${codes}`);
    const lines = reader(/by year$/);
    await lines.focus();
    expect(await reading().innerText()).toBe(await said('lines-table', 0));
    for (const [key, row] of [
      ['Home', -1],
      ['ArrowLeft', -1],
      ['ArrowRight', 1],
      ['End', 0],
    ] as const) {
      await page.keyboard.press(key);
      const text = await said('lines-table', row);
      expect([key, await reading().innerText()]).toEqual([key, text]);
      expect(await lines.getAttribute('aria-valuetext')).toBe(text.split('\n')[0]);
    }
    expect(await reading().getAttribute('aria-live')).toBe('polite');
    await page.keyboard.press('Escape');
    expect(await reading().count()).toBe(0);
    const plot = await page.locator('svg.wide [data-years]').boundingBox();
    if (plot === null) throw new Error('the plot is out of sight');
    const [clientX, clientY] = [plot.x + 1, plot.y + 20];
    await page.mouse.move(clientX, clientY);
    expect(await reading().innerText()).toBe(await said('lines-table', -1));
    await page.mouse.move(0, 0);
    expect(await reading().count()).toBe(0);
    for (const type of ['pointerdown', 'pointerup', 'pointerleave'])
      await lines.dispatchEvent(type, { pointerType: 'touch', clientX, clientY });
    expect(await reading().innerText()).toBe(await said('lines-table', -1));
  });

  it('says the country and the figures of each dot of a scatter plot', async () => {
    await page.goto(
      `${harness.url}/compare?countries=${codes}&indicators=alpha.life_expectancy,alpha.population_total`,
    );
    await reader(/both figures/).focus();
    const count = await page.locator('#scatter-table tbody tr').count();
    const texts: string[] = [];
    await page.keyboard.press('Home');
    for (let at = 0; at < count; at++) {
      texts.push(await reading().innerText());
      await page.keyboard.press('ArrowRight');
    }
    const rows = await Promise.all(Array.from({ length: count }, (_, row) => said('scatter-table', row)));
    expect(texts.toSorted()).toEqual(rows.toSorted());
    const dot = page.locator('svg.wide circle', { hasText: 'Kenya' }).last();
    const { x, y } = (await dot.boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.move(x + 2, y + 2);
    expect(await reading().innerText()).toMatch(/^Kenya\n/);
  });

  it('is none of a display-only series', async () => {
    await page.goto(`${harness.url}/indicators/gamma.reserves`);
    expect(await page.locator('.reader, [data-reading], #lines-table').count()).toBe(0);
    await page.goto(`${harness.url}/compare?indicators=gamma.reserves,alpha.life_expectancy`);
    expect(await page.locator('#scatter-heading').count()).toBe(1);
    expect(await page.locator('#scatter-table, circle title').count()).toBe(0);
  });
});

describe('derived figures', async () => {
  const root = await useDirectory();
  await publishFixture(root, {
    indicators: INVENTED,
    added: { breaks: BREAKS },
    groups: GROUP_FIGURES,
    editionGroups: EDITION_GROUPS,
  });
  const { url } = await useService({ snapshots: root });
  const { id, name } = EDITION_GROUPS.groups[0] ?? { id: '', name: '' };
  const group = `@${id}`;

  it('are chosen by keyboard without a script, and stay chosen when a group is added', async () => {
    const plain = await withoutScripts(browser.context);
    const figures = plain.locator('select[name=transform]');
    await plain.goto(`${url}/indicators/${OUTPUT}`);
    await figures.focus();
    await plain.keyboard.type('Per head');
    await plain.keyboard.press('Tab');
    await plain.keyboard.press('Enter');
    await plain.getByRole('heading', { name: `${OUTPUT}, per head`, exact: true }).waitFor();
    await figures.selectOption('per_head,index:2005');
    await plain.getByRole('button', { name: 'Show these figures' }).click();
    await plain.getByRole('heading', { name: `${OUTPUT}, per head, relative to 2005` }).waitFor();
    await plain.getByLabel('Add a country or group').fill(group);
    await plain.keyboard.press('Enter');
    await plain.waitForURL(/aggregate=declared/);
    const query = new URL(plain.url()).searchParams;
    expect([query.get('transform'), query.get('add')]).toEqual(['per_head,index:2005', group]);
    expect(await plain.locator('#histories .chips').innerText()).toContain(name);
    await plain.goto(
      `${url}/compare?indicators=${OUTPUT},${PEOPLE}&countries=KEN,${group}&aggregate=declared`,
    );
    await figures.selectOption('index:2005');
    await plain.getByRole('button', { name: 'Show these figures' }).click();
    await plain.getByRole('heading', { name: `${PEOPLE}, relative to 2005` }).waitFor();
  });

  it('add a group by the script without a reload', async () => {
    await page.goto(`${url}/indicators/${OUTPUT}?transform=index:2005`);
    await page.evaluate('window.isSamePage = true');
    await page.getByLabel('Add a country or group').fill(group);
    await page.keyboard.press('Enter');
    await page.locator('#histories .chips').getByText(name).waitFor();
    expect(await page.evaluate('window.isSamePage')).toBe(true);
    expect(await page.locator('#derived [name=countries]').inputValue()).toContain(group);
    expect(await page.locator('#embed-section').textContent()).toContain('aggregate=declared');
  });
});
