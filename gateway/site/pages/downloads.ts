/**
 * Files of what the page of an indicator shows, free and without a key: all countries of one year
 * (`/indicators/{indicator_id}/ranking.csv`), or all years of a few places (`lines.csv`), as CSV and as a workbook. They are planned
 * by the operations of the API, so that they have its rows, of series that may be exported alone, as published.
 */
import { z } from 'zod';
import {
  type Column,
  csv,
  type Encoder,
  type Table,
  textVector,
  type Vector,
  xlsx,
} from '../../api/encoders/encoders.ts';
import {
  checkValues,
  data,
  defineOperation,
  findOpen,
  GROUP_MARK,
  type Input,
  type Operation,
  type Plan,
  type Planned,
  type QuerySchema,
  rankings,
  refused,
} from '../../api/operations/operations.ts';
import type { CatalogueEntry, Edition } from '../../api/snapshot/snapshot.ts';
import { FILE_PLACES_MAX, freeFiles } from '../calls.ts';
import { openingYear } from '../series.ts';
import { chosenCountries, picturedPlaces, year } from '../subjects.ts';

/** The call of the API with the rows of a file; undefined where these would be the whole series. */
type Choose<Query> = (edition: Edition, entry: CatalogueEntry, query: Query) => Promise<Chosen | undefined>;

interface Chosen {
  operation: Operation;
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  /** Of the file, after the id of the indicator. */
  name: string;
}

const FORMATS = [csv, xlsx] as const;

/** @param path without its extension */
function defineDownload<Query>(path: string, query: QuerySchema<Query>, choose: Choose<Query>): Operation[] {
  return FORMATS.map((encoder) =>
    defineOperation<Query>({
      name: `${path}.${encoder.name}`,
      path: `${path}.${encoder.name}`,
      tag: 'Page',
      query,
      summary: '',
      description: '',
      needsKey: false,
      priceText: 'free',
      isCacheable: false,
      isDownload: true,
      answer: z.string(),
      plan: (input) => planFile(input, encoder, choose),
    }),
  );
}

async function planFile<Query>(
  { snapshot, path: { indicator_id = '' }, query, publicUrl }: Input<Query>,
  encoder: Encoder,
  choose: Choose<Query>,
): Promise<Planned> {
  const found = await findOpen(snapshot, indicator_id);
  if ('kind' in found) return found;
  const chosen = await choose(snapshot, found.entry, query);
  if (chosen === undefined) return refused('not_found', WHOLE);
  const checked = checkValues(chosen.operation.query, { ...chosen.query, format: encoder.name });
  if (!checked.ok) return { kind: 'invalid', detail: checked.detail };
  const { id } = found.entry.record;
  const planned = await chosen.operation.plan({
    snapshot,
    path: chosen.path,
    query: checked.values,
    publicUrl,
  });
  return planned.kind === 'plan' ? freely(planned, `${id}.${chosen.name}`) : planned;
}

const WHOLE =
  'These are all figures of the series, which come with a key: /v1/data has them, and the page of the indicator says what they cost.';

/** The plan without its price. */
const freely = ({ produce, rows }: Plan, name: string): Plan => ({
  kind: 'plan',
  price: 0,
  rows,
  async produce(caller) {
    const content = await produce(caller);
    if (content.kind !== 'table') throw new Error('a download is a table');
    const { table, encoder } = content;
    const named = { ...table, name };
    return { ...content, isUnlisted: true, table: encoder === csv ? withTerms(named) : named };
  },
});

const TERMS = ['unit', 'licence', 'attribution', 'edition'] as const;
const TERM_COLUMNS: readonly Column[] = TERMS.map((name) => ({ name, type: 'text' }));

/** With columns that say in each row what the sheet `About` of a workbook does: CSV has no other place. */
function withTerms({ keptText: _ofOtherColumns, ...table }: Table): Table {
  const [record] = table.indicators;
  if (record === undefined) throw new Error('a file of figures has an indicator');
  const { unit, licence, attribution } = record;
  const said = [unit, licence, attribution, table.edition].map((text) => textVector([text]));
  return {
    ...table,
    columns: [...table.columns, ...TERM_COLUMNS],
    async *batches() {
      for await (const { rows, vectors } of table.batches()) {
        const repeated = said.map(
          (vector): Vector => ({ ...vector, codes: new Int32Array(rows).fill(vector.codes[0] ?? 0) }),
        );
        yield { rows, vectors: [...vectors, ...repeated] };
      }
    },
  };
}

/** Of what is not ranked, the rows of the year. */
const ranking: Choose<{ year?: number | undefined }> = async (edition, { record }, { year: asked }) => {
  const { id, no_rank } = record;
  const chosen = asked ?? (await openingYear(edition, record));
  if (freeFiles(record, chosen, []).ranking === null) return undefined;
  const shown = String(chosen);
  if (no_rank)
    return { operation: data, path: {}, query: { indicator: id, from: shown, to: shown }, name: shown };
  return { operation: rankings, path: { indicator: id }, query: { year: shown }, name: shown };
};

const lines: Choose<{ countries?: string[] | undefined }> = async (edition, { record }, { countries }) => {
  const asked = countries?.filter((code) => !code.startsWith(GROUP_MARK));
  const codes = (await chosenCountries(edition, record, asked)).toSorted();
  if (freeFiles(record, null, codes).lines === null) return undefined;
  const query = { indicator: record.id, countries: codes.join() };
  return { operation: data, path: {}, query, name: codes.join('-') };
};

export const downloads: readonly Operation[] = [
  ...defineDownload('/indicators/{indicator_id}/ranking', z.object({ year: year().optional() }), ranking),
  ...defineDownload(
    '/indicators/{indicator_id}/lines',
    z.object({ countries: picturedPlaces(FILE_PLACES_MAX).optional() }),
    lines,
  ),
];
