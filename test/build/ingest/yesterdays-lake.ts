/** Turns the runs of a lake into those of the version that knew neither empty cells nor years ahead of the clock. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProviderLake } from '../../../build/lake/lake.ts';
import { query } from '../parquet-readers.ts';

/** Removes the status of every row, as of a source whose status that version did not read. */
export async function forgetStatus(lake: ProviderLake): Promise<void> {
  for (const id of await lake.runIds()) {
    const { observations: file } = await lake.run(id);
    await query(
      `COPY (SELECT * REPLACE (NULL::VARCHAR AS status) FROM read_parquet('${file}')) TO '${file}.old' (FORMAT parquet)`,
    );
    await rename(`${file}.old`, file);
    const directory = join(lake.directory, id);
    const series = await lake.series(await lake.run(id));
    const aged = Object.entries(series).map(([slug, facts]) => [slug, { ...facts, digest: 'of other rows' }]);
    await writeFile(join(directory, 'series.json'), JSON.stringify(Object.fromEntries(aged)));
  }
}

/** @param newest the newest year of every series, as that version took it from rows without a flag; default: unchanged */
export async function ageRuns(lake: ProviderLake, newest?: number): Promise<void> {
  for (const id of await lake.runIds()) {
    const directory = join(lake.directory, id);
    const { empty_cells: _, ...record } = await lake.record(id);
    await writeFile(join(directory, 'run.json'), JSON.stringify(record));
    const series = await lake.series(await lake.run(id));
    const aged = Object.entries(series).map(([slug, { ahead: __, ...facts }]) => [
      slug,
      { ...facts, newest_year: newest ?? facts.newest_year },
    ]);
    await writeFile(join(directory, 'series.json'), JSON.stringify(Object.fromEntries(aged)));
    const fetches = JSON.parse(await readFile(join(directory, 'fetches.json'), 'utf8'));
    await writeFile(
      join(directory, 'fetches.json'),
      JSON.stringify({ ...fetches, inputs: 'of another version' }),
    );
  }
}
