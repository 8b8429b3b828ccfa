/** UNICEF's responses against an independent reading: every row with its bounds, and rows for other parts of the population. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { sdmxCsv } from '../../../build/connectors/sdmx-csv.ts';
import { describeWithMirror } from '../../mirror.ts';
import { directoryUpstream, type ReadProvider, readAll } from './read-connector.ts';

type Row = Record<string, string>;

describeWithMirror('UNICEF', (mirror) => {
  const { mirror: definition } = parseYaml(readFileSync('data/providers/unicef.yaml', 'utf8'));
  const directory = join(mirror, definition.path);
  let read: ReadProvider;
  let upstream: Row[];
  beforeAll(async () => {
    read = await readAll(sdmxCsv, definition.source, directoryUpstream(directory));
    const files = definition.source.files.map(({ path }: { path: string }) =>
      readFileSync(join(directory, path)),
    );
    upstream = files.flatMap((file: Buffer): Row[] => parse(file, { columns: true }));
  });

  it('reads every row of the ten files', () => {
    expect(read.failed.size).toBe(0);
    expect(upstream).toHaveLength(1_015);
    for (const [slug, series] of read.series) {
      const expected = upstream
        .filter((row) => row.INDICATOR === slug)
        .map((row) => {
          const bounds =
            'LOWER_BOUND' in row ? { ci_lo: row.LOWER_BOUND || null, ci_hi: row.UPPER_BOUND || null } : {};
          const other =
            row.SEX !== undefined && row.SEX !== '_T'
              ? { other_dimension: `SEX=${row.SEX}` }
              : row.WEALTH_QUINTILE !== undefined && row.WEALTH_QUINTILE !== '_T'
                ? { other_dimension: `WEALTH_QUINTILE=${row.WEALTH_QUINTILE}` }
                : {};
          return {
            place: row.REF_AREA,
            year: row.TIME_PERIOD,
            value: row.OBS_VALUE || null,
            ...bounds,
            status: row.OBS_STATUS || null,
            ...other,
          };
        });
      expect(series.rows, slug).toEqual(expected);
    }
    expect([...read.series.values()].flatMap(({ rows }) => rows)).toHaveLength(1_015);
  });

  it('takes names and units from the label columns', () => {
    for (const [slug, { entry }] of read.series) {
      const row = upstream.find((one) => one.INDICATOR === slug);
      expect([entry.name, entry.unit]).toEqual([row?.Indicator, row?.['Unit of measure']]);
    }
  });
});
