/**
 * What licences forbid, on the pages of the real edition: series for display are shown and cannot be taken, and series
 * that are withheld are in no byte of any page, picture, list or suggestion.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { escapedXml } from '../../../gateway/api/encoders/documents/xml.ts';
import { linksOf, structuredOf, textOf, valuesOf } from './page-text.ts';
import { chartsIn, mapIn } from './read-charts.ts';
import { describeReal } from './real-edition.ts';

const ASKED_FOR = 60;
const SHORT_NAME = 12;

interface Series {
  id: string;
  name: string;
}

const digitsOf = (value: number): number => String(value).replaceAll(/[^\d]/g, '').replace(/^0+/, '').length;

describeReal('licences on pages of the real edition', (real) => {
  describe('a series for display', () => {
    let display: IndicatorRecord[];
    beforeAll(() => {
      display = real.records.filter(({ access_tier }) => access_tier === 'display');
      expect(display.length).toBeGreaterThan(50);
    });

    test('has no download, no call for its figures and no price on its page', async () => {
      for (const { id } of display) {
        const html = await real.page(`/indicators/${id}`);
        const main = html.slice(html.indexOf('<main'), html.indexOf('</main>'));
        expect([id, textOf(main).includes('No download')]).toEqual([id, true]);
        expect([
          id,
          /\/v1\/(data|rankings|files|bundles|revisions)|\.parquet|format=/.exec(main)?.[0],
        ]).toEqual([id, undefined]);
        expect(structuredOf(html)).not.toHaveProperty('distribution');
        for (const href of linksOf(main).filter((path) => path.startsWith('/v1/')))
          expect([href, await figuresAt(href)]).toEqual([href, 0]);
      }
    });

    test('shows figures of one year, and those of other years in pictures only', async () => {
      for (const record of display) {
        const { id, coverage } = record;
        const latest = await real.opened(record);
        const year = (latest[0]?.year ?? 0) - 1;
        const before = await real.history(record, { from: year, to: year });
        const html = await real.page(`/indicators/${id}?year=${year}&countries=KEN,BRA,IND,USA,CHN,DEU`);
        const known = new Set(latest.flatMap(({ value, ci_lo, ci_hi }) => [value, ci_lo, ci_hi]));
        expect([id, valuesOf(html).filter((value) => !known.has(value))]).toEqual([id, []]);
        const titles = [...mapIn(chartsIn(html, 'map')[0] ?? '').values()].flatMap(
          ({ title }) => title ?? [],
        );
        if (year >= (coverage?.yr_min ?? year)) expect([id, titles]).toEqual([id, []]);
        // Shown figures have four digits, and places in pictures fewer: longer numbers are exact values.
        const numbers = new Set(html.match(/-?\d+(?:\.\d+)?(?:e[-+]?\d+)?/g));
        const exact = before.map(({ value }) => value).filter((value) => digitsOf(value) > 5);
        expect([id, exact.filter((value) => numbers.has(String(value)) && !known.has(value))]).toEqual([
          id,
          [],
        ]);
      }
    });

    /** How many rows of figures an answer without a key has. */
    async function figuresAt(path: string): Promise<number> {
      const { status, text } = await real.service.get(path);
      expect([path, status]).toEqual([path, 200]);
      return text.match(/"value":/g)?.length ?? 0;
    }
  });

  describe('a withheld series', () => {
    let withheld: Series[];
    let ids: Set<string>;
    /** Those that are long enough to tell, and that no published record contains. */
    let names: string[];
    beforeAll(async () => {
      const published = new Set(real.records.map(({ id }) => id));
      withheld = (await readLake()).filter(({ id }) => !published.has(id));
      ids = new Set(withheld.map(({ id }) => id));
      expect(ids.size).toBeGreaterThan(250);
      const records = JSON.stringify(real.records).toLowerCase();
      names = withheld
        .map(({ name }) => name)
        .filter((name) => name.length >= SHORT_NAME)
        .filter((name) => !records.includes(JSON.stringify(name).slice(1, -1).toLowerCase()))
        .map(escapedXml);
      expect(names.length).toBeGreaterThan(80);
    });

    async function readLake(): Promise<Series[]> {
      const found: Series[] = [];
      for (const provider of await readdir(real.built.lake)) {
        const run = await readFile(join(real.built.lake, provider, 'current'), 'utf8').catch(() => null);
        if (run === null) continue;
        const file = join(real.built.lake, provider, run.trim(), 'catalogue.json');
        const catalogue: { slug: string; name: string }[] = JSON.parse(await readFile(file, 'utf8'));
        found.push(...catalogue.map(({ slug, name }) => ({ id: `${provider}.${slug}`, name })));
      }
      return found;
    }

    /** Ids as whole words, names anywhere. */
    function namedIn(text: string): string[] {
      const mentioned = (text.match(/[\w-]+(?:\.[\w-]+)+/g) ?? []).filter((word) => ids.has(word));
      return [...mentioned, ...names.filter((name) => text.includes(name))];
    }

    test('is in no list, profile, sitemap or page of a published series', async () => {
      const paths = await listedPaths();
      expect(paths.length).toBeGreaterThan(1_100);
      for (const path of paths) expect([path, namedIn(await real.page(path))]).toEqual([path, []]);
    });

    /** Every page of the sitemap, every numbered page of lists, and pictures of some series. */
    async function listedPaths(): Promise<string[]> {
      const lists = locations(await real.page('/sitemap.xml'));
      const listed = (await Promise.all(lists.map((list) => real.page(list)))).flatMap(locations);
      const found = ['/sitemap.xml', '/robots.txt', ...lists, ...listed];
      for (const path of listed.filter((one) => /^\/(indicators|(topics|providers)\/[^/]+)$/.test(one)))
        found.push(...(await numberedPages(path)));
      for (const { id } of real.sample(real.records, ASKED_FOR, (record) => record.id))
        found.push(...['map.svg', 'lines.svg', 'bars.svg'].map((name) => `/indicators/${id}/${name}`));
      return [...new Set(found)];
    }

    /** The last page is linked from the first one. */
    async function numberedPages(path: string): Promise<string[]> {
      const numbers = linksOf(await real.page(path)).map((href) =>
        Number(/[?&]page=(\d+)$/.exec(href)?.[1] ?? 1),
      );
      return Array.from({ length: Math.max(1, ...numbers) - 1 }, (_, at) => `${path}?page=${at + 2}`);
    }

    const locations = (xml: string): string[] =>
      [...xml.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, address = '']) => new URL(address).pathname);

    test('has no page and no picture', async () => {
      for (const { id } of real.sample(withheld, ASKED_FOR, (series) => series.id)) {
        const paths = [
          `/indicators/${id}`,
          ...['map.svg', 'lines.svg', 'bars.svg', 'card.png'].map((file) => `/indicators/${id}/${file}`),
          `/embed/indicators/${id}`,
        ];
        for (const path of paths) {
          const { status, text } = await real.service.get(path);
          expect([path, status]).toEqual([path, 404]);
          // Only what was asked for is repeated.
          expect([path, namedIn(text).filter((word) => word !== id)]).toEqual([path, []]);
        }
        const compared = await real.page(`/compare?indicators=${id}`);
        expect(compared).toContain(`There is no indicator “${id.slice(0, 60)}”.`);
      }
    });

    test('is found by no search and offered by no suggestion', async () => {
      for (const { id, name } of real.sample(withheld, ASKED_FOR, (series) => series.id))
        for (const sent of [id, name]) {
          const offered = await real.page(`/suggest?q=${encodeURIComponent(sent)}`);
          expect([sent, namedIn(offered)]).toEqual([sent, []]);
          const html = await real.page(`/indicators?q=${encodeURIComponent(sent)}`);
          const links = linksOf(html).filter((href) => href.startsWith('/indicators/'));
          expect(
            links.filter((href) => withheld.some((series) => href === `/indicators/${series.id}`)),
          ).toEqual([]);
        }
    });
  });
});
