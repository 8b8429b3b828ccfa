/** Bundles: what they hold, and when one is taken over. */
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { writeBundles } from '../../../build/editions/tables/bundles.ts';
import type { BaseEdition } from '../../../build/editions/tables/file-writer.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { hashFile } from '../../../data/runtime/durable-files.ts';
import {
  bundleFile,
  type FileList,
  OBSERVATION_COLUMNS,
  observationsFile,
} from '../../../data/schema/snapshot.ts';
import { useDirectory } from '../../after-tests.ts';
import { query, readObservations, readWithHyparquet, readWithParquetjs } from '../parquet-readers.ts';

/** Rows by indicator; `one.hidden` is for display. */
const ROWS: Record<string, number> = { 'one.a': 30, 'one.b': 0, 'one.c': 40, 'one.hidden': 5, 'two.z': 7 };
const INDICATORS = Object.keys(ROWS)
  .toReversed()
  .map((id) => ({
    id,
    providerId: id.split('.')[0] ?? '',
    record: { access_tier: id.endsWith('hidden') ? ('display' as const) : ('open' as const) },
  }));

const directory = await useDirectory();
const duck = await DuckSession.open({ scratch: join(directory, '.scratch') });
await mkdir(join(directory, 'observations'));
const kept: FileList = {};
for (const [id, rows] of Object.entries(ROWS)) await writeSeries(id, rows);
afterAll(() => duck.close());

/** Of years of one country, with gaps. */
async function writeSeries(id: string, rows: number, factor = 0.1): Promise<void> {
  const made: Record<string, string> = {
    indicator: `'${id}'`,
    iso3: "'KEN'",
    year: '1900 + i',
    value: `CASE WHEN i % 7 = 3 THEN NULL ELSE i * ${factor}::DOUBLE END`,
    projected: 'i > 20',
    status: "CASE WHEN i % 2 = 0 THEN 'A' END",
  };
  const columns = Object.entries(OBSERVATION_COLUMNS).map(
    ([name, type]) => `(${made[name] ?? 'NULL'})::${type} AS ${name}`,
  );
  const file = join(directory, observationsFile(id));
  await duck.run(
    `COPY (SELECT ${columns.join()} FROM range(${rows}) AS t(i)) TO '${file}' (FORMAT parquet, PARQUET_VERSION v1)`,
  );
  kept[observationsFile(id)] = await hashFile(file);
}

const write = (base: BaseEdition | null = null) => writeBundles(duck, INDICATORS, { directory, kept, base });
const pathOf = (provider: string): string => join(directory, bundleFile(provider));

it('holds the files of all open indicators, one after the other, for every reader', async () => {
  const inputs = await write();
  expect([...inputs.keys()].sort()).toEqual([bundleFile('one'), bundleFile('two')]);
  const files = ['one.a', 'one.b', 'one.c'].map((id) =>
    readObservations(join(directory, observationsFile(id))),
  );
  const rows = (await Promise.all(files)).flat();
  expect(rows).toHaveLength(70);
  for (const read of [readObservations, readWithHyparquet, readWithParquetjs])
    expect(await read(pathOf('one'))).toEqual(rows);
  const [filtered] = await query(
    `SELECT count(*)::INTEGER AS n FROM '${pathOf('one')}' WHERE indicator = 'one.c' AND value IS NOT NULL`,
  );
  expect(filtered).toEqual({ n: 34 });
});

it('is taken over from the base edition while no figure of it changed, and was not damaged', async () => {
  const inputs = await write();
  const before = join(directory, '.before');
  await cp(join(directory, 'bundles'), join(before, 'bundles'), { recursive: true });
  const tables: FileList = {};
  for (const [name, hash] of inputs) tables[name] = { ...(await hashFile(join(before, name))), inputs: hash };
  const base = { directory: before, kept: {}, tables } as unknown as BaseEdition;
  await rm(join(directory, 'bundles'), { recursive: true });
  await writeSeries('two.z', 7, 0.3);
  expect(await write(base)).not.toEqual(inputs);
  const isSame = async (provider: string): Promise<boolean> =>
    (await hashFile(pathOf(provider))).sha256 === tables[bundleFile(provider)]?.sha256;
  expect([await isSame('one'), await isSame('two')]).toEqual([true, false]);
  const [row] = (await readObservations(pathOf('two'))).filter(({ year }) => year === 1901);
  expect(row).toMatchObject({ indicator: 'two.z', value: 0.3 });
});
