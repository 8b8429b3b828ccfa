/**
 * A page of another origin calls the service from a real browser, with a key and conditionally, and reads what comes back; and
 * shows pictures in frames.
 */
import { expect, it } from 'vitest';
import { TOOLS } from '../../gateway/api/mcp/tools/registry.ts';
import { stopAfterTests } from '../after-tests.ts';
import { envelope } from '../gateway/api/mcp/mcp-client.ts';
import { PUBLIC_URL, useService } from '../gateway/service.ts';
import { sectionOf, textOf } from '../gateway/site/page-text.ts';
import { screenshotPath, startSite, useBrowser } from './browser.ts';

interface Call {
  path: string;
  headers: Record<string, string>;
  /** Sent by POST. */
  body?: string;
}

const service = await useService();
const owner = await service.account({ credits: 100 });
const browser = await useBrowser();
const site = await stopAfterTests(startSite());
const page = await browser.context.newPage();
await page.goto(site.localUrl);

/** Runs in the page: what a script of it can see of an answer. */
const fetchThere = ({ path, headers, body }: Call) =>
  page.evaluate(
    async ({ url, sent, body }) => {
      const method = body === null ? 'GET' : 'POST';
      const answer = await fetch(url, { method, headers: sent, body, cache: 'no-store' });
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers.entries()),
        text: await answer.text(),
      };
    },
    { url: service.url + path, sent: headers, body: body ?? null },
  );

it('makes a keyed call and reads its price and its limits', async () => {
  const { status, headers, text } = await fetchThere({
    path: '/v1/data?indicator=alpha.life_expectancy&countries=KEN',
    headers: {
      Authorization: `Bearer ${owner.key}`,
      'Idempotency-Key': 'once',
      'X-Request-Id': 'from-a-page',
    },
  });
  expect([status, JSON.parse(text).data[0].iso3]).toEqual([200, 'KEN']);
  expect(headers['x-credits-charged']).toBe(String(JSON.parse(text).meta.count));
  expect(headers['x-request-id']).toBe('from-a-page');
  for (const name of ['x-ratelimit-remaining', 'ratelimit', 'ratelimit-policy', 'x-snapshot']) {
    expect(headers[name]).toMatch(/\w/);
  }
});

it('makes a conditional keyed call', async () => {
  const authorization = { Authorization: `Bearer ${owner.key}` };
  const first = await fetchThere({ path: '/v1/indicators', headers: authorization });
  const tag = first.headers.etag ?? '';
  const again = await fetchThere({
    path: '/v1/indicators',
    headers: { ...authorization, 'If-None-Match': tag },
  });
  expect([first.status, again.status, again.text]).toEqual([200, 304, '']);
});

it('asks that nothing be ignored, and reads why it is refused', async () => {
  const { status, text, headers } = await fetchThere({
    path: '/v1/topics?a=1',
    headers: { Prefer: 'handling=strict' },
  });
  expect([status, JSON.parse(text).detail[0].type]).toEqual([422, 'extra_forbidden']);
  expect(headers['preference-applied']).toBe('handling=strict');
  const refused = await fetchThere({ path: '/v1/ping', headers: { Authorization: 'Bearer nonsense' } });
  expect([refused.status, refused.headers['www-authenticate']]).toEqual([
    401,
    'Bearer error="invalid_token"',
  ]);
});

it('asks /mcp as a host that runs in a browser, and reads where to sign in', async () => {
  const ask = (method: string, sent: Record<string, unknown>, more: Record<string, string> = {}) => {
    const { headers, params } = envelope(method, sent, '2026-07-28');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return fetchThere({ path: '/mcp', headers: { ...headers, ...more }, body });
  };
  const listed = await ask('tools/list', {}, { Authorization: `Bearer ${owner.key}` });
  expect([listed.status, JSON.parse(listed.text).result.tools.length]).toEqual([200, TOOLS.length]);
  const figures = { name: 'get_data', arguments: { indicators: ['alpha.life_expectancy'] } };
  const refused = await ask('tools/call', figures);
  expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer']);
});

/** Pixels that do not fit, across and down. */
const OVERFLOW =
  '(({ scrollWidth, scrollHeight, clientWidth, clientHeight }) => [scrollWidth - clientWidth, scrollHeight - clientHeight])(document.documentElement)';

it.each([320, 800])('shows frames that fit and say their figures, %d pixels wide', async (width) => {
  const { text } = await service.get('/indicators/alpha.child_mortality?countries=KEN,DEU&year=2019');
  const codes = textOf(sectionOf(text, 'embed')).match(/<iframe .*?<\/iframe>/g) ?? [];
  expect(codes).toHaveLength(3);
  const other = await browser.context.newPage();
  await other.setViewportSize({ width, height: 900 });
  for (const [at, code] of codes.entries()) {
    await other.goto(site.localUrl);
    await other.setContent(code.replace(PUBLIC_URL, service.url));
    const [, frame] = other.frames();
    await frame?.waitForLoadState();
    expect([code, await frame?.evaluate(OVERFLOW)]).toEqual([code, [0, 0]]);
    if (code.includes('picture=lines')) {
      await frame?.locator('[role=slider]').press('ArrowLeft');
      expect(await frame?.locator('.reading').textContent()).toMatch(/Kenya.*Germany/);
    } else if (!code.includes('picture=')) {
      await frame?.locator('.world use').first().dispatchEvent('pointermove', { clientX: 9, clientY: 9 });
      expect(await frame?.locator('.tooltip').textContent()).toMatch(/^\w.*: [\d.]+/);
    }
    await other.screenshot({ path: screenshotPath(`frame-${at}-${width}`) });
  }
  await other.close();
});
