/** GET /data: raw observations of one or several indicators. */
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { type CachedEncoder, type Encoder, isCached } from '../../encoders/encoder.ts';
import { DEFAULT_FORMAT, encoderFor, FORMATS } from '../../encoders/registry.ts';
import type { IndicatorRows, Table } from '../../encoders/tables/table.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import type { RowFilter } from '../../snapshot/rows/indicator-columns.ts';
import type { SelectedRows } from '../../snapshot/rows/selected-rows.ts';
import { countryCodes } from '../catalogue/country-groups.ts';
import { lackingColumns } from '../catalogue/format-columns.ts';
import { indicatorNotFound } from '../catalogue/indicator.ts';
import {
  type Content,
  defineOperation,
  type Planned,
  type Refused,
  refused,
  underAlias,
} from '../operation.ts';
import { dataAnswer } from './data-answer.ts';
import { type Field, USUAL_FIELDS } from './data-columns.ts';
import { type DataQuery, dataQuery } from './data-parameters.ts';
import { longBatches, longColumns } from './long-table.ts';
import { rowBound } from './row-bound.ts';
import { selectSeries } from './series-selection.ts';
import { WideRows, wideBatches, wideColumns } from './wide-table.ts';

export const data = defineOperation({
  name: 'getData',
  path: '/data',
  tag: 'Data',
  summary: 'Observations',
  description:
    'The observations of one indicator, ordered by country and year, or of several, one after the other. Costs a credit ' +
    'per observation, at least one. A missing measurement is a row with null. Codes without data match nothing.',
  needsKey: true,
  priceText: '1 credit per row, at least 1; with `layout=wide`, per row of the long layout',
  isCacheable: false,
  pathParameters: {},
  query: dataQuery,
  answer: dataAnswer,
  formats: FORMATS,
  errors: ['indicator_not_found', 'export_restricted', 'edition_not_found'],
  asOf: ({ as_of }) => as_of,
  async plan({ snapshot, query: sent }): Promise<Planned> {
    const query = { ...sent, countries: sent.countries && countryCodes(sent.countries, snapshot) };
    const encoder = encoderFor(query.format ?? DEFAULT_FORMAT);
    const { countries, from, to } = query;
    const filter = { countries: countries?.toSorted(), from, to };
    if (query.indicators === undefined) {
      const found = await findOpen(snapshot, query.indicator ?? '');
      if ('kind' in found) return found;
      const { record, alias } = found;
      const planned =
        isCached(encoder) && isUsual(query)
          ? planUsual(snapshot, record, encoder, query, filter)
          : planTable(snapshot, [record], encoder, query, filter);
      return underAlias(await planned, alias);
    }
    const found = await findAll(snapshot, query.indicators);
    if ('kind' in found) return found;
    return underAlias(await planTable(snapshot, found.records, encoder, query, filter), found.alias);
  },
});

/** In credits. */
export const priceOfRows = (rows: number): number => Math.max(1, rows);

interface Found {
  record: IndicatorRecord;
  alias: IndicatorAlias | null;
}

/** An indicator whose figures may be exported. */
async function findOpen(snapshot: Edition, asked: string): Promise<Found | Refused> {
  const { id, alias } = snapshot.editions.resolve(asked);
  const found = snapshot.indicator(id);
  const item = found instanceof Promise ? await found : found;
  if (!item) return indicatorNotFound(asked);
  if (item.record.access_tier === 'display') return refused('export_restricted');
  return { record: item.record, alias };
}

/** Each once, also where a former id and that of today were sent. The first former id is told of. */
async function findAll(
  snapshot: Edition,
  ids: readonly string[],
): Promise<{ records: IndicatorRecord[]; alias: IndicatorAlias | null } | Refused> {
  const records = new Map<string, IndicatorRecord>();
  let first: IndicatorAlias | null = null;
  for (const id of ids) {
    const found = await findOpen(snapshot, id);
    if ('kind' in found)
      return found.error.code === 'export_restricted'
        ? refused('export_restricted', `The provider's licence lets '${id}' be shown but not exported.`)
        : found;
    records.set(found.record.id, found.record);
    first ??= found.alias;
  }
  return { records: [...records.values()], alias: first };
}

/** Whether the rows have the usual columns and none is left out: then their text is kept. */
const isUsual = ({ fields, layout, latest, missing }: DataQuery): boolean =>
  fields === undefined && layout !== 'wide' && latest === undefined && missing !== 'omit';

async function planUsual(
  snapshot: Edition,
  indicator: IndicatorRecord,
  encoder: CachedEncoder,
  query: DataQuery,
  filter: RowFilter,
): Promise<Planned> {
  const rows = await snapshot.observations.select(indicator.id, filter);
  const table: IndicatorRows = {
    indicator,
    rows,
    meta: () => metaOf(snapshot, rows.count, creditOf(indicator), query),
  };
  return {
    kind: 'plan',
    price: priceOfRows(rows.count),
    rows: rows.count,
    indicators: [indicator.id],
    produce: () => ({ kind: 'observations', table, encoder }),
  };
}

async function planTable(
  snapshot: Edition,
  indicators: readonly IndicatorRecord[],
  encoder: Encoder,
  query: DataQuery,
  filter: RowFilter,
): Promise<Planned> {
  const isWide = query.layout === 'wide';
  const wideRows = new WideRows();
  const asked = { filter, omission: { latest: query.latest, missing: query.missing === 'omit' } };
  const look = isWide ? (rows: SelectedRows) => wideRows.add(rows) : null;
  const selection = await selectSeries(snapshot, indicators, asked, look);
  const tooMany = rowBound(selection.rows, encoder);
  if (tooMany !== null) return tooMany;
  const count = isWide ? wideRows.count : selection.rows;
  const [only] = query.indicators === undefined ? indicators : [];
  const about = only === undefined ? { indicators: indicators.map(listedCredit) } : creditOf(only);
  const fields = query.fields ?? usualFields(query, encoder);
  const columns = isWide ? wideColumns(indicators) : longColumns(fields);
  const lacking = lackingColumns(columns, encoder);
  if (lacking !== null) return lacking;
  const table: Table = {
    columns,
    rows: count,
    batches: () =>
      isWide ? wideBatches(selection, wideRows) : longBatches(snapshot, fields, selection, asked),
    indicators,
    meta: metaOf(snapshot, count, about, query),
    edition: snapshot.id,
    name: only?.id ?? 'almanac-data',
  };
  const price = priceOfRows(selection.rows);
  const ids = indicators.map(({ id }) => id);
  const produce = (): Content => ({ kind: 'table', table, encoder });
  return { kind: 'plan', price, rows: count, indicators: ids, produce };
}

const usualFields = ({ indicators }: DataQuery, { namesIndicator }: Encoder): readonly Field[] =>
  indicators !== undefined || namesIndicator ? ['indicator', ...USUAL_FIELDS] : USUAL_FIELDS;

const creditOf = ({ id: indicator, name, unit, licence, licence_url, attribution }: IndicatorRecord) => ({
  ...{ indicator, name, unit, licence, licence_url, attribution },
});

const listedCredit = ({ id, name, unit, licence, licence_url, attribution }: IndicatorRecord) => ({
  ...{ id, name, unit, licence, licence_url, attribution },
});

/** What was not sent is undefined, and absent in JSON. */
const metaOf = (
  { generatedAt }: Edition,
  count: number,
  about: Record<string, unknown>,
  { countries, from, to, fields, layout, latest, missing, format, as_of }: DataQuery,
): Record<string, unknown> => ({
  generated_at: generatedAt,
  count,
  ...about,
  ...{ countries, from, to, fields, layout, latest, missing, format, as_of: as_of?.sent },
});
