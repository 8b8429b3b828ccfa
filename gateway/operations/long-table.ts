/** Observations in rows: one a series, country and year. */
import type { CountryRecord } from '../../data/schema/records.ts';
import { BATCH_ROWS, type Batch, type Column } from '../encoders/table.ts';
import type { Edition } from '../snapshot/edition.ts';
import { detailsOf } from '../snapshot/observation-details.ts';
import { type Dictionaries, type Field, fieldColumn, type RowRefs, type Series } from './data-columns.ts';
import type { Asked, SelectedSeries, SeriesSelection } from './series-selection.ts';

export const longColumns = (fields: readonly Field[]): Column[] =>
  fields.map((name) => ({ name, type: fieldColumn(name).type }));

export async function* longBatches(
  snapshot: Edition,
  fields: readonly Field[],
  { series }: SeriesSelection,
  asked: Asked,
): AsyncGenerator<Batch> {
  const countries = [...snapshot.countriesByCode.values()];
  const dictionaries: Dictionaries = { records: series.map(({ record }) => record), countries };
  const columns = fields.map(fieldColumn);
  const needsDetails = columns.some((column) => column.needsDetails);
  const load = (one: SelectedSeries) => loadSeries(snapshot, one, asked, needsDetails);
  for await (const refs of rowRefs(series, countries, load))
    yield { rows: refs.rows, vectors: columns.map((column) => column.vector(refs, dictionaries)) };
}

async function loadSeries(
  { observations, countriesByCode }: Edition,
  { record, load }: SelectedSeries,
  { filter }: Asked,
  needsDetails: boolean,
): Promise<Series> {
  const selected = await load();
  if (!needsDetails) return { record, selected, details: null };
  const { countries = [...countriesByCode.keys()], from, to } = filter;
  const details = await observations.details(record.id, { countries, from, to });
  return { record, selected, details: detailsOf(selected, details) };
}

type GrowingRefs = RowRefs & { series: Map<number, Series> };

const noRows = (): GrowingRefs => ({
  rows: 0,
  series: new Map(),
  which: new Uint8Array(BATCH_ROWS),
  row: new Uint32Array(BATCH_ROWS),
  country: new Int32Array(BATCH_ROWS),
});

/** All rows in order, as many at a time as a batch takes. */
async function* rowRefs(
  series: readonly SelectedSeries[],
  countries: readonly CountryRecord[],
  load: (series: SelectedSeries) => Promise<Series>,
): AsyncGenerator<RowRefs> {
  const codes = new Map(countries.map(({ iso3 }, code) => [iso3, code]));
  let refs = noRows();
  for (const [number, one] of series.entries()) {
    if (one.rows === 0) continue;
    const loaded = await load(one);
    const { held, at, country } = loaded.selected;
    const codeOf = held.countries.map((iso3) => codes.get(iso3) ?? -1);
    for (let row = 0; row < at.length; row += 1) {
      if (refs.rows === BATCH_ROWS) {
        yield refs;
        refs = noRows();
      }
      refs.series.set(number, loaded);
      refs.which[refs.rows] = number;
      refs.row[refs.rows] = row;
      refs.country[refs.rows] = codeOf[country[row] ?? 0] ?? -1;
      refs.rows += 1;
    }
  }
  if (refs.rows > 0) yield refs;
}
