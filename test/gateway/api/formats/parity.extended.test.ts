/** Every format read by software of others: value by value what the JSON answer to the same call holds. */
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CountryRecord, IndicatorRecord } from '../../../../data/schema/records.ts';
import { FORMATS } from '../../../../gateway/api/encoders/encoders.ts';
import { useDirectory } from '../../../after-tests.ts';
import { installPackages, pythonPath } from '../../../python-packages.ts';
import { buildStarter } from '../../../shared-builds.ts';
import { useService } from '../../service.ts';
import { queryOf } from '../../shape/expected-data.ts';
import { generatedCalls } from '../../shape/generated-calls.ts';

const PACKAGES = [
  'pandas==3.1.1',
  'polars==2.1.0',
  'pyarrow==26.0.1',
  'duckdb==2.0.0',
  'sdmx1==2.28.0',
  'openpyxl==3.1.5',
];
const READER = join(import.meta.dirname, 'read_formats.py');
const CALLS = 200;
/** Of which rankings. */
const RANKINGS = 40;

await installPackages(PACKAGES);
const folder = await useDirectory();
const { snapshots } = await buildStarter();
const service = await useService({ snapshots });
const { key } = await service.account({ credits: 100_000_000 });
const countries: CountryRecord[] = (await service.get('/v1/countries')).json.data;
const indicators: IndicatorRecord[] = (await service.get('/v1/indicators')).json.data;
const calls = fc.sample(generatedCalls({ countries, indicators }), CALLS - RANKINGS);
const open = indicators.filter(({ access_tier, no_rank }) => access_tier === 'open' && !no_rank);
const rankings = open.slice(0, RANKINGS).map(({ id }) => id);

/** Writes the answers to one call, a file for each format that has one. */
async function keep(number: number, url: string): Promise<void> {
  for (const format of FORMATS) {
    const answer = await service.get(`${url}format=${format}`, { key });
    if (answer.status === 422) expect(answer.json.detail[0].loc).toEqual(['query', 'format']);
    else {
      expect(answer.status).toBe(200);
      await writeFile(join(folder, `${number}.${format}`), answer.bytes);
    }
  }
}

test('equal to the JSON answer, nulls and doubles included', async () => {
  const urls = [
    ...calls.map((call) => `/v1/data?${queryOf(call)}&`),
    ...rankings.map((id) => `/v1/rankings/${id}?`),
  ];
  for (const [number, url] of urls.entries()) await keep(number, url);
  const { status, stdout, stderr } = spawnSync(
    'env',
    [`PYTHONPATH=${pythonPath(PACKAGES)}`, 'python3', READER, folder],
    { encoding: 'utf8' },
  );
  expect(status, stderr).toBe(0);
  const compared: Record<string, number> = JSON.parse(stdout);
  for (const cells of Object.values(compared)) expect(cells).toBeGreaterThan(1_000);
  expect(Object.keys(compared).toSorted()).toEqual([
    ...['csv', 'duckdb', 'openpyxl', 'pandas', 'polars', 'pyarrow', 'sdmx1'],
  ]);
});
