/** Observations in rows: one a series, country and year. */
import type { CountryRecord } from '../../../../data/schema/records.ts';
import { BATCH_ROWS, type Batch, type Column } from '../../encoders/tables/table.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import { detailsOf } from '../../snapshot/rows/observation-details.ts';
import {
  type Dictionaries,
  type Field,
  fieldColumn,
  type RowRefs,
  type Run,
  type Series,
} from './data-columns.ts';
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

interface GrowingRefs extends RowRefs {
  runs: Run[];
}

const noRows = (left: number): GrowingRefs => ({
  rows: 0,
  runs: [],
  country: new Int32Array(Math.min(left, BATCH_ROWS)),
});

/** All rows in order, as many at a time as a batch takes. */
async function* rowRefs(
  selected: readonly SelectedSeries[],
  countries: readonly CountryRecord[],
  load: (series: SelectedSeries) => Promise<Series>,
): AsyncGenerator<RowRefs> {
  const codes = new Map(countries.map(({ iso3 }, code) => [iso3, code]));
  let left = selected.reduce((sum, { rows }) => sum + rows, 0);
  let refs = noRows(left);
  for (const [which, one] of selected.entries()) {
    if (one.rows === 0) continue;
    const series = await load(one);
    const { held, country } = series.selected;
    const codeOf = held.countries.map((iso3) => codes.get(iso3) ?? -1);
    for (let first = 0; first < country.length; ) {
      if (refs.rows === BATCH_ROWS) {
        yield refs;
        left -= refs.rows;
        refs = noRows(left);
      }
      const start = refs.rows;
      const end = Math.min(BATCH_ROWS, start + country.length - first);
      for (let row = start; row < end; row += 1)
        refs.country[row] = codeOf[country[row - start + first] ?? 0] ?? -1;
      refs.runs.push({ series, which, start, end, first });
      refs.rows = end;
      first += end - start;
    }
  }
  if (refs.rows > 0) yield refs;
}
