/** Prices, status, legal texts and lists for search engines. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../../data/runtime/settings.ts';
import { readPacks } from '../../../gateway/commerce/orders/order-store.ts';
import { salesFacts } from '../../../gateway/commerce/sales-facts.ts';
import { legalPages } from '../../../gateway/site/pages/legal.ts';
import { serviceFacts } from '../../../gateway/site/service-facts.ts';
import { directoryOfTest } from '../../after-tests.ts';
import { testService } from './test-service.ts';

const SELLER = 'Example <Institute>\n1 Example Street';
const service = testService({
  settings: {
    FREE_GRANT: '1234',
    INVOICE_FROM: SELLER,
    CONTACT_EMAIL: 'help@example.org',
    NIGHTLY_CRON: '5 3 * * *',
    PUBLIC_URL: 'https://almanac.example/',
  },
});

const numbers = (html: string): string[] =>
  [...html.matchAll(/<data value="([^"]+)"/g)].map(([, value]) => String(value));

describe('/pricing', () => {
  test('shows each pack, the grant and the limits', async () => {
    const { text } = await service.get('/pricing');
    for (const { name, credits, price_minor, currency } of await readPacks('data')) {
      expect(text).toContain(`<h3>${name}</h3>`);
      expect(text).toContain(`${credits.toLocaleString('en')}</span> credits`);
      expect(text).toContain(`${(price_minor / 100).toFixed(2)} ${currency}`);
    }
    expect(text).toContain('1,234</span> credits');
    const { FREE_PER_MINUTE, PAID_PER_DAY } = readSettings({ FREE_PER_MINUTE: '100000' });
    expect(numbers(text)).toEqual(expect.arrayContaining([String(FREE_PER_MINUTE), String(PAID_PER_DAY)]));
  });

  test('works out its examples as the API charges for them', async () => {
    const { text } = await service.get('/pricing');
    const shown = [
      ...text.matchAll(/<code class="call">([^<]*)<\/code><\/th><td class="figure"><data value="(\d+)"/g),
    ];
    expect(shown).toHaveLength(5);
    for (const [, path = '', price] of shown) {
      const { status, headers } = await service.buy(path.replaceAll('&amp;', '&'));
      expect([path, status, headers['x-credits-charged']]).toEqual([path, 200, price]);
    }
  });
});

test('/status names the edition and what the API says of each provider', async () => {
  const { text } = await service.get('/status');
  expect(text).toContain(`<span class="id">${service.snapshots.current()?.id}</span>`);
  expect(text).toContain('every day from 03:05 UTC');
  const { json } = await service.get('/v1/meta/freshness');
  expect(json.data.length).toBeGreaterThan(1);
  for (const { provider_id, last_ok_finished_at, last_ok_rows } of json.data) {
    const [, row = ''] = text.split(`href="/providers/${provider_id}"`);
    if (last_ok_finished_at !== null) expect(row).toContain(`datetime="${last_ok_finished_at}"`);
    if (last_ok_rows !== null) expect(numbers(row)[0]).toBe(String(last_ok_rows));
  }
});

describe('legal texts', () => {
  test.each(['/terms', '/privacy', '/contact'])('%s names the operator', async (path) => {
    const { status, text } = await service.get(path);
    expect([path, status]).toEqual([path, 200]);
    expect(text).toContain('Example &lt;Institute&gt;');
    expect(text).not.toMatch(/\{\{|\{%|has not entered/);
  });

  test('say plainly what the operator has not said', () => {
    const settings = readSettings({});
    const facts = serviceFacts(settings, [], salesFacts(settings));
    expect([facts.seller, facts.contactEmail]).toEqual([[], null]);
    expect(legalPages(facts).map(({ path }) => path)).toEqual(['/terms', '/privacy', '/contact']);
  });

  test('are replaced by files of the operator, and a wrong one stops the start', async () => {
    const curatedDir = await directoryOfTest();
    await mkdir(join(curatedDir, 'pages'));
    const settings = readSettings({ INVOICE_FROM: 'Example Ltd' });
    const file = join(curatedDir, 'pages', 'terms.md');
    await writeFile(file, '# Our terms\n\nThose of {{ facts.seller[0] }}.\n\n## One\n\nText.\n');
    const facts = { ...serviceFacts(settings, [], salesFacts(settings)), curatedDir };
    const [terms] = legalPages(facts);
    const snapshot = service.snapshots.current();
    if (!terms || !snapshot) throw new Error('no page');
    const planned = await terms.plan({ snapshot, path: {}, query: {}, publicUrl: facts.baseUrl });
    const content = planned.kind === 'plan' ? await planned.produce(null) : null;
    expect(content?.kind === 'document' && content.json.toString()).toContain('Those of Example Ltd.');
    await writeFile(file, '# Our terms\n\nThose of {{ facts.nobody }}.\n');
    expect(() => legalPages(facts)).toThrow(file);
  });
});

describe('lists for search engines', () => {
  const locations = (xml: string): string[] =>
    [...xml.matchAll(/<loc>https:\/\/almanac\.example([^<]+)<\/loc>/g)].map(([, path]) => String(path));

  test('robots.txt names the sitemap and keeps readers out of accounts', async () => {
    const { text, headers } = await service.get('/robots.txt');
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(text).toContain('\nSitemap: https://almanac.example/sitemap.xml\n');
    expect(text).toContain('\nDisallow: /account/\n');
  });

  test('the sitemap leads to pages that exist, each once', async () => {
    const { text, headers } = await service.get('/sitemap.xml');
    expect(headers['content-type']).toBe('application/xml; charset=utf-8');
    const lists = locations(text);
    expect(lists.length).toBeGreaterThan(0);
    const listed = (
      await Promise.all(lists.map(async (path) => locations((await service.get(path)).text)))
    ).flat();
    expect(listed).toContain('/pricing');
    expect(new Set(listed).size).toBe(listed.length);
    for (const path of listed) {
      const { status, headers: of } = await service.get(path);
      expect([path, status, of['content-type']]).toEqual([path, 200, 'text/html; charset=utf-8']);
    }
  });
});
