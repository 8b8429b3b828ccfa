/** GET /almanac.duckdb: the catalogue as a DuckDB database, with macros that read the files of its edition. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { readSql } from '../../../../data/runtime/sql-files.ts';
import { DUCKDB_TYPE, databaseFile } from '../../encoders/encoders.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { defineOperation, type Planned, type WholeFile } from '../operation.ts';
import { catalogueTables } from './catalogue-tables.ts';

const STATEMENTS = readSql(import.meta.url, 'sql/catalogue-database.sql');

export const database = defineOperation({
  name: 'getDatabase',
  path: '/almanac.duckdb',
  tag: 'Catalogue',
  summary: 'The catalogue as a DuckDB database',
  description:
    'For `ATTACH`: tables `indicators`, `providers`, `topics`, `countries`, `groups` and `edition`, and the macros ' +
    '`observations(id)` and `bundle(id)`, which read the file of an indicator or of a provider, as of this snapshot. ' +
    'Reading those needs a key.',
  needsKey: false,
  priceText: 'free',
  // No whole answer is kept: most ask for a part.
  isCacheable: false,
  isFile: true,
  pathParameters: {},
  query: z.object({}),
  answer: z.string().describe('A DuckDB database, for DuckDB 1.2 and later'),
  mediaType: DUCKDB_TYPE,
  errors: [],
  async plan({ snapshot, publicUrl }): Promise<Planned> {
    const file = await keptDatabase(snapshot, publicUrl);
    const content = {
      kind: 'whole',
      file,
      mediaType: DUCKDB_TYPE,
      name: 'almanac.duckdb',
      credits: [],
    } as const;
    return { kind: 'plan', price: 0, rows: 0, file, produce: () => content };
  },
});

/** Kept with the edition, because a client reads it part by part. A process has one address. */
const kept = new WeakMap<Edition, Promise<WholeFile>>();

function keptDatabase(snapshot: Edition, url: string): Promise<WholeFile> {
  const known = kept.get(snapshot);
  if (known !== undefined) return known;
  const made = makeDatabase(snapshot, url);
  kept.set(snapshot, made);
  made.catch(() => kept.delete(snapshot));
  return made;
}

async function makeDatabase(snapshot: Edition, url: string): Promise<WholeFile> {
  const literal = url.replaceAll("'", "''");
  const statements = STATEMENTS.replaceAll('{url}', () => literal).replaceAll('{edition}', snapshot.id);
  const held = await databaseFile(statements, await catalogueTables(snapshot, url));
  return { sha256: hash('sha256', held), bytes: held.length, held };
}
