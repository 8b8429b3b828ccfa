/** Free files over the whole mirror: the rows of the API, of open series alone, and never a whole series. */
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { linksOf, sectionOf } from './page-text.ts';
import { describeReal } from './real-edition.ts';

const SAMPLE = 60;
const TERMS = ['unit', 'licence', 'attribution', 'edition'] as const;

describeReal('files of what pages show', (real) => {
  const HOUR_MS = 3_600_000;
  /** Fewer than are free in an hour. */
  const FILES_MAX = 4;
  const nextHour = (): void => {
    real.service.clock.ms += HOUR_MS;
  };
  const answer = async (path: string) => real.service.get(path, { key: real.key });
  const records = (text: string): Record<string, string>[] => parse(text, { columns: true });

  /** The file and the call have the same rows, and the file says its terms. @returns how many rows */
  async function expectSame(record: IndicatorRecord, file: string, call: string): Promise<number> {
    const csv = await real.service.get(`${file}`);
    expect([file, csv.status]).toEqual([file, 200]);
    const rows = records(csv.text);
    const plain = rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !TERMS.includes(name as never))),
    );
    expect([file, plain]).toEqual([file, records((await answer(`${call}&format=csv`)).text)]);
    const { unit, licence, attribution } = record;
    const edition = real.service.snapshots.current()?.id;
    for (const row of rows)
      expect(TERMS.map((name) => row[name])).toEqual([unit ?? '', licence, attribution, edition]);
    const xlsx = await real.service.get(file.replace('.csv', '.xlsx'));
    expect([file, xlsx.bytes.equals((await answer(`${call}&format=xlsx`)).bytes)]).toEqual([file, true]);
    return rows.length;
  }

  test('have exactly the rows of the API, for a year and for the places that are drawn', async () => {
    const open = real.records.filter(({ access_tier }) => access_tier === 'open');
    let compared = 0;
    for (const record of real.sample(open, SAMPLE, ({ id }) => id)) {
      nextHour();
      const { id, no_rank } = record;
      const html = await real.page(`/indicators/${id}?countries=KEN,BRA,IND,USA`);
      const files = linksOf(sectionOf(html, 'use')).filter((href) => href.includes('.csv'));
      expect(files.length).toBeLessThanOrEqual(FILES_MAX);
      for (const file of files) {
        const query = new URL(file, 'http://x').searchParams;
        const year = query.get('year');
        const ofYear = no_rank
          ? `/v1/data?indicator=${id}&from=${year}&to=${year}`
          : `/v1/rankings/${id}?year=${year}`;
        const drawn = `/v1/data?indicator=${id}&countries=${query.get('countries')}`;
        compared += await expectSame(record, file, year === null ? drawn : ofYear);
      }
    }
    expect(compared).toBeGreaterThan(10_000);
  });

  test('are of no series for display, whose page leads to the same statistic where it is open', async () => {
    const tiers = new Map(real.records.map(({ id, access_tier }) => [id, access_tier]));
    let led = 0;
    for (const { id, access_tier } of real.records) {
      if (access_tier === 'open') continue;
      nextHour();
      for (const kind of ['ranking.csv', 'ranking.xlsx', 'lines.csv', 'lines.xlsx'])
        expect([id, (await real.service.get(`/indicators/${id}/${kind}`)).status]).toEqual([id, 403]);
      const html = await real.page(`/indicators/${id}`);
      expect([id, /(ranking|lines)\.(csv|xlsx)/.exec(html)]).toEqual([id, null]);
      const twins: { id: string }[] = (await real.json(`/v1/indicators/${id}?include=twins`)).data.twins;
      const open = twins.filter((twin) => tiers.get(twin.id) === 'open').slice(0, 10);
      const offered = linksOf(sectionOf(html, 'use')).filter((href) => href.startsWith('/indicators/'));
      expect([id, offered]).toEqual([id, open.map((twin) => `/indicators/${twin.id}`)]);
      led += open.length;
    }
    expect(led).toBeGreaterThan(0);
  });

  test('are never a whole series', async () => {
    let offered = 0;
    for (const record of real.records) {
      if (record.access_tier !== 'open') continue;
      nextHour();
      const { id } = record;
      const html = sectionOf(await real.page(`/indicators/${id}`), 'use');
      const whole = await answer(`/v1/data?indicator=${id}&missing=omit&dry_run=true`);
      for (const file of linksOf(html).filter((href) => href.includes('.csv'))) {
        const values = records((await real.service.get(file)).text).filter(({ value }) => value !== '');
        expect([file, values.length < whole.json.data.rows]).toEqual([file, true]);
        offered += 1;
      }
    }
    expect(offered).toBeGreaterThan(500);
  });
});
