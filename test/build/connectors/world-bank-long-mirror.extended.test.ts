/** The World Bank's long set (325 packages, 2,115,952 rows) against DuckDB's reading of the same files. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import { frictionless } from '../../../build/connectors/frictionless.ts';
import { describeWithMirror } from '../../mirror.ts';
import { contextFor, directoryUpstream } from './read-connector.ts';

describeWithMirror('the World Bank long set', (mirror) => {
  const directory = join(mirror, 'world-bank', 'datahub-wdi-long');

  it('is read row by row', async () => {
    const names = readdirSync(join(directory, 'indicators')).sort();
    const database = await DuckDBInstance.create(':memory:');
    const connection = await database.connect();
    const settings = { each: { path: 'indicators/{name}', names } };
    const context = contextFor(frictionless, settings, directoryUpstream(directory));
    let slug = '';
    let actual: string[] = [];
    let total = 0;
    const compare = async (): Promise<void> => {
      if (slug === '') return;
      const file = join(directory, 'indicators', slug, 'data.csv').replaceAll("'", "''");
      const reader = await connection.runAndReadAll(
        `SELECT "Country Code" || '|' || "Year" || '|' || "Value" FROM read_csv('${file}', all_varchar = true, header = true)`,
      );
      const expected = reader.getRows().map(([row]) => String(row));
      expect(actual.length, slug).toBe(expected.length);
      expect(actual.join('\n') === expected.join('\n'), slug).toBe(true);
      total += actual.length;
    };
    for await (const item of frictionless.read(context)) {
      expect(item.kind).not.toBe('failed');
      if (item.kind === 'indicator') {
        await compare();
        slug = item.entry.slug;
        actual = [];
        expect(item.entry.licence).toBe('CC-BY-4.0');
      }
      if (item.kind === 'observations') {
        for (const row of item.rows) actual.push(`${row.place}|${row.year}|${row.value}`);
      }
    }
    await compare();
    connection.closeSync();
    expect(names).toHaveLength(325);
    expect(total).toBe(2_115_952);
  });
});
