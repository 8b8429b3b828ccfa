/** Gapminder's definition and overlay, compared with its files. */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { loadCurated } from '../../data/curated/curated.ts';
import { type IndicatorOverlay, TOPIC_SLUGS } from '../../data/schema/curated.ts';
import { query } from '../build/parquet-readers.ts';
import { describeWithMirror } from '../mirror.ts';

const curated = await loadCurated('data');

const rows: Array<Record<string, string>> = parse(readFileSync('data/overlay/gapminder.csv'), {
  columns: true,
});
const bySlug = new Map(rows.map((row) => [row.slug ?? '', row]));
const served = rows.filter(({ enabled }) => enabled !== 'false');

/** The settings of a series as its rules, its concept and its row give them together. */
const settingsOf = (slug: string): IndicatorOverlay => {
  const entry = { slug, name: slug, description: null, unit: null, source: null, source_url: null, tags: [] };
  return curated.overlay('gapminder', { ...entry, licence: null });
};

/** The edition of 2026-03 holds no complete year after this one. */
const LAST_POSSIBLE_YEAR = 2025;

describe("Gapminder's overlay", () => {
  it('fills every topic without duplicate orders, featured series and those with a preferred twin first', () => {
    const all = served.map(({ slug = '' }) => ({ slug, ...settingsOf(slug) }));
    for (const topic of TOPIC_SLUGS) {
      const inTopic = all.filter((one) => one.topic === topic);
      expect(inTopic.length, topic).toBeGreaterThan(0);
      const places = inTopic.map(({ order }) => order);
      expect(new Set(places).size, topic).toBe(places.length);
      const first = Math.max(...inTopic.map(({ featured, order = 0 }) => (featured ? order : 0)));
      const before = inTopic.filter(({ featured, order = 0 }) => !featured && order < first);
      expect(
        before.filter(({ slug, preferred }) => preferred || !curated.concepts.of(`gapminder.${slug}`)),
        topic,
      ).toEqual([]);
    }
  });

  it('contains every series of the curated links', () => {
    const linked = curated.links.flatMap(({ from, to }) => [from, to]);
    const unknown = linked.filter(
      (id) => id.startsWith('gapminder.') && !bySlug.has(id.slice('gapminder.'.length)),
    );
    expect(unknown).toEqual([]);
  });

  it('is open, with the attribution that Gapminder requires', () => {
    expect(curated.providers.get('gapminder')).toMatchObject({
      licence: 'CC BY 4.0',
      attribution: 'Based on free material from GAPMINDER.ORG, CC-BY LICENSE',
      redistributable: true,
      access_tier: 'open',
    });
  });
});

/** The newest year of every datapoint file and the number of its values that are not finite, by slug. */
async function readExtents(dir: string): Promise<Map<string, { last: number; texts: number }>> {
  const extents = await query(`
    SELECT
      any_value(value) FILTER (geo = 'geo') AS slug,
      max(try_cast(time AS INTEGER)) AS last,
      count(*) FILTER (
        geo <> 'geo' AND value <> '' AND NOT coalesce(isfinite(try_cast(value AS DOUBLE)), false)
      )::INTEGER AS texts
    FROM read_csv('${dir}/*.csv', header = false, filename = true, delim = ',', quote = '"', escape = '"',
      columns = {geo: 'VARCHAR', time: 'VARCHAR', value: 'VARCHAR'})
    GROUP BY filename`);
  return new Map(
    extents.map(({ slug, last, texts }) => [String(slug), { last: Number(last), texts: Number(texts) }]),
  );
}

describeWithMirror("Gapminder's files", (mirror) => {
  const dir = join(mirror, 'gapminder', 'countries-etc-datapoints');
  const slugsOf = async () =>
    (await readdir(dir)).flatMap((name) => /^ddf--datapoints--(.+)--by--/.exec(name)?.[1] ?? []);

  it('match the overlay rows one to one', async () => {
    expect((await slugsOf()).toSorted()).toEqual([...bySlug.keys()].toSorted());
  });

  it('beyond the edition have a first projected year within their range', async () => {
    const bad: string[] = [];
    const extents = await readExtents(dir);
    expect([...extents.keys()].toSorted()).toEqual((await slugsOf()).toSorted());
    for (const [slug, { last, texts }] of extents) {
      const row = bySlug.get(slug);
      if (row?.enabled === 'false') {
        expect(texts, slug).toBeGreaterThan(0);
        continue;
      }
      expect(texts, slug).toBe(0);
      const from = settingsOf(slug).projected_from ?? Number.POSITIVE_INFINITY;
      if (last > LAST_POSSIBLE_YEAR && from > LAST_POSSIBLE_YEAR) bad.push(slug);
      if (row?.projected_from && Number(row.projected_from) > last) bad.push(slug);
    }
    expect(bad).toEqual([]);
  });
});
