/** GET /data: raw observations of one or several indicators. */
import { z } from 'zod';
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { creditOf, DEFAULT_FORMAT, type Encoder, FORMATS, type Table } from '../../encoders/encoders.ts';
import type { CatalogueEntry, Edition, SelectedRows } from '../../snapshot/snapshot.ts';
import {
  creditOfOne,
  defineOperation,
  encoderOf,
  findOpen,
  type Invalid,
  type Planned,
  type Refused,
  rowBound,
  tablePlan,
  underAlias,
  withUnmatched,
} from '../operation.ts';
import { asOf } from '../parameters/as-of.ts';
import { checkYears, fail, integer, oneOf, parsed, text, yearFilter } from '../parameters/parameters.ts';
import { GROUP_MARK } from '../parameters/place-names.ts';
import { countryCodes, ownGroup, selection } from '../parameters/places.ts';
import { transforms } from '../parameters/transforms.ts';
import type { Failure } from '../parameters/validation.ts';
import { type AskedGroups, findGroups } from './asked-groups.ts';
import { dataAnswer } from './data-answer.ts';
import { type DerivedSeries, deriveSeries } from './derived-series.ts';
import { GroupRows } from './group-rows.ts';
import {
  FIELDS,
  FIELDS_WITH_GROUPS,
  type Field,
  longBatches,
  longColumns,
  publishedRows,
  type SelectedSeries,
  selectSeries,
  USUAL_FIELDS,
} from './long-table.ts';
import type { RowSource } from './row-source.ts';
import { WideRows, wideBatches, wideColumns } from './wide-table.ts';

const INDICATORS_MAX = 50;

/** Distinct words of a comma-separated list, in the order sent. */
const listed = (sent: string): string[] => sent.split(',').map((part) => part.trim());

const indicatorList = parsed((sent, ctx): string[] => {
  const ids = listed(sent);
  const blank = ids.indexOf('');
  if (blank >= 0)
    return fail(ctx, { type: 'string_too_short', ctx: { min_length: 1 }, input: '', at: blank });
  const distinct = [...new Set(ids)];
  if (distinct.length <= INDICATORS_MAX) return distinct;
  const bounds = { max_length: INDICATORS_MAX, actual_length: distinct.length };
  return fail(ctx, { type: 'too_long', ctx: bounds });
}).meta({ type: 'string', pattern: `^[^,\\s]+(,[^,\\s]+){0,${INDICATORS_MAX - 1}}$` });

const fieldList = text()
  .transform((sent, ctx): Field[] => {
    const fields: Field[] = [];
    for (const [at, word] of listed(sent).entries()) {
      const field = FIELDS.find((candidate) => candidate === word);
      if (field === undefined) {
        const expected = FIELDS.map((candidate) => `'${candidate}'`).join(' or ');
        return fail(ctx, { type: 'literal_error', ctx: { expected }, input: word, at });
      }
      if (fields.includes(field))
        return fail(ctx, { type: 'value_error', ctx: { error: `${field} is named twice` }, input: word, at });
      fields.push(field);
    }
    return fields;
  })
  .meta({ type: 'string', pattern: `^(${FIELDS.join('|')})(,(${FIELDS.join('|')}))*$` });

const { indicator, ...rowSelection } = selection;

const parameters = z.object({
  indicator: indicator.optional().describe('Indicator id; or send `indicators`'),
  indicators: indicatorList
    .optional()
    .describe(
      `Indicator ids separated by commas, at most ${INDICATORS_MAX}, instead of \`indicator\`: rows then have the column \`indicator\``,
    ),
  ...rowSelection,
  fields: fieldList
    .optional()
    .describe(
      `Columns of the rows, in the order wanted: ${FIELDS.map((field) => `\`${field}\``).join(', ')}`,
    ),
  layout: oneOf(['long', 'wide'])
    .optional()
    .describe('`wide`: a row per country and year with a column of values for each indicator')
    .meta({ default: 'long' }),
  latest: integer({ min: 1 })
    .optional()
    .describe(
      'Only the newest so many observed values of each country and indicator, within the years asked for',
    ),
  transform: transforms().optional(),
  group: ownGroup(),
  aggregate: oneOf(['declared', 'median', 'min', 'max'])
    .optional()
    .describe(
      '`declared`: a group in `countries` is one place, with the figure that the snapshot has of it. `median`, `min`, `max`: of `group`',
    ),
  missing: oneOf(['null', 'omit'])
    .optional()
    .describe('`omit`: rows without a value are left out, and not charged')
    .meta({ default: 'null' }),
  format: oneOf(FORMATS).optional().describe('Default `json`').meta({ default: DEFAULT_FORMAT }),
  as_of: asOf().optional(),
});

type DataQuery = z.infer<typeof parameters>;

function checkShape(
  { indicator: one, indicators, countries, group, transform, fields, layout, aggregate }: DataQuery,
  ctx: z.core.$RefinementCtx,
): void {
  const fault = (path: string, failure: Failure) =>
    ctx.addIssue({ code: 'custom', path: [path], params: { failure } });
  const excludes = (error: string): Failure => ({ type: 'value_error', ctx: { error } });
  if (one === undefined && indicators === undefined) fault('indicator', { type: 'missing' });
  if (one !== undefined && indicators !== undefined)
    fault('indicators', excludes('indicators must not be sent together with indicator'));
  if (fields !== undefined && layout === 'wide')
    fault('fields', excludes('fields must not be sent together with layout=wide'));
  if (aggregate === undefined && group === undefined) return;
  const path = group === undefined ? 'aggregate' : 'group';
  if (layout === 'wide') fault(path, excludes(`${path} must not be sent together with layout=wide`));
  if (group !== undefined && transform !== undefined)
    fault('group', excludes('group must not be sent together with transform'));
  const hasGroups = countries?.some((place) => place.startsWith(GROUP_MARK)) ?? false;
  if (group === undefined && !hasGroups) fault('aggregate', excludes('aggregate needs a group in countries'));
  if (aggregate !== undefined && aggregate !== 'declared' && (group === undefined || hasGroups))
    fault('aggregate', excludes(`aggregate=${aggregate} needs group, and countries without groups`));
}

export const data = defineOperation({
  name: 'getData',
  path: '/data',
  tag: 'Data',
  summary: 'Observations',
  description:
    'The observations of one indicator, ordered by country and year, or of several, one after the other. Costs a credit ' +
    'per observation, at least one. A missing measurement is a row with null. Codes without data match nothing, and X-Unmatched-Countries ' +
    'names those that no country has.',
  needsKey: true,
  priceText:
    '1 credit per row, at least 1; with `layout=wide`, per row of the long layout; with `transform`, times 2 or 4 where it divides; with `group`, per figure of a member',
  query: parameters.superRefine(checkYears).superRefine(checkShape),
  answer: dataAnswer,
  formats: FORMATS,
  errors: ['indicator_not_found', 'export_restricted', 'edition_not_found', 'not_in_edition'],
  async plan({ snapshot, query }): Promise<Planned> {
    const found = await findRows(snapshot, query);
    if ('kind' in found) return found;
    const { alias, countries, own } = found;
    const planned = await planRows(snapshot, found, { ...query, countries });
    const codes = [...(countries ?? []), ...(own ?? [])].filter((code) => !code.startsWith(GROUP_MARK));
    return withUnmatched(underAlias(planned, alias), codes, snapshot);
  },
});

/** Whose rows a question asks for, and where they come from. */
export type FoundRows = Exclude<Awaited<ReturnType<typeof findRows>>, Refused | Invalid>;

/** @throws {SnapshotUnreadable} */
export async function findRows(snapshot: Edition, query: DataQuery) {
  const { aggregate, transform } = query;
  const hasGroups = aggregate !== undefined || query.group !== undefined;
  /** Codes, in the order sent. */
  const countries = query.countries && countryCodes(query.countries, snapshot, hasGroups);
  const found = await findAll(snapshot, query);
  if ('kind' in found) return found;
  const { entries, alias } = found;
  /** Members of a group of one's own. */
  const own = query.group && countryCodes(query.group, snapshot);
  const method = aggregate ?? 'declared';
  const asked = { places: countries ?? [], own, method, transforms: transform ?? [] };
  const groups = hasGroups ? await findGroups(snapshot, entries, asked) : undefined;
  if (groups && 'kind' in groups) return groups;
  const derived = transform && (await deriveSeries(snapshot, entries, transform));
  if (derived && 'kind' in derived) return derived;
  /** Of the rows: what is derived has a unit and a direction of its own. */
  const indicators: readonly IndicatorRecord[] = derived?.records ?? entries.map(({ record }) => record);
  const ofCountries = derived?.rows ?? publishedRows(snapshot);
  const grouped = groups && new GroupRows(snapshot, groups.groups, ofCountries, derived?.rows);
  const source: RowSource = grouped ?? ofCountries;
  /** All that are credited: those of the rows, divisors and weights. */
  const all = credited(indicators, derived, groups);
  return { alias, countries, own, derived, groups, grouped, indicators, credited: all, source };
}

/** In credits. */
export const priceOfRows = (rows: number): number => Math.max(1, rows);

/** Each once, even if both its former and its current id were sent. Headers name the first former id. */
async function findAll(
  snapshot: Edition,
  { indicator: one = '', indicators }: DataQuery,
): Promise<{ entries: CatalogueEntry[]; alias: IndicatorAlias | null } | Refused> {
  const entries = new Map<string, CatalogueEntry>();
  let first: IndicatorAlias | null = null;
  for (const id of indicators ?? [one]) {
    const found = await findOpen(snapshot, id, indicators !== undefined);
    if ('kind' in found) return found;
    entries.set(found.entry.record.id, found.entry);
    first ??= found.alias;
  }
  return { entries: [...entries.values()], alias: first };
}

/** Whether the rows have the usual columns and none is left out: then their text is kept. */
const isUsual = ({ layout, missing, ...query }: DataQuery): boolean => {
  const chosen = (['indicators', 'transform', 'aggregate', 'group', 'fields', 'latest'] as const).some(
    (name) => query[name] !== undefined,
  );
  return !chosen && layout !== 'wide' && missing !== 'omit';
};

async function planRows(
  snapshot: Edition,
  { indicators, credited, source, derived, groups, grouped }: FoundRows,
  query: DataQuery,
): Promise<Planned> {
  const encoder = encoderOf(query.format);
  const { countries, latest, missing, layout } = query;
  const filter = { countries: placesOf(countries, groups), ...yearFilter(query) };
  const wide = layout === 'wide' ? new WideRows() : null;
  const asked = { filter, omission: { latest, missing: missing === 'omit' } };
  let figures = 0;
  const look = (read: SelectedRows): void => {
    wide?.add(read);
    figures += grouped?.priceOf(read) ?? 0;
  };
  const { series, rows } = await selectSeries(source, indicators, asked, wide || grouped ? look : null);
  const tooMany = rowBound(rows, encoder);
  if (tooMany !== null) return tooMany;
  const count = wide?.count ?? rows;
  const [only] = query.indicators === undefined ? indicators : [];
  const about = {
    ...(only === undefined ? { indicators: indicators.map(creditOf) } : creditOfOne(only)),
    ...groups?.meta,
    ...(derived && { ...derived.meta(only !== undefined), transform: derived.words }),
  };
  const fields = query.fields ?? usualFields(query, encoder);
  const table: Table = {
    columns: wide === null ? longColumns(fields) : wideColumns(indicators),
    rows: count,
    batches: () =>
      wide === null ? longBatches(snapshot, fields, series, filter, source) : wideBatches(series, wide),
    indicators: credited,
    meta: buildMeta(snapshot, count, about, query),
    edition: snapshot.id,
    name: only?.id ?? 'almanac-data',
    ...(encoder.fromKept && isUsual(query) && { keptText: keptText(snapshot, fields, series) }),
  };
  const ids = table.indicators.map(({ id }) => id);
  const price = priceOfRows(grouped ? figures : rows) * (derived?.figuresPerRow ?? 1);
  return tablePlan(table, encoder, { price, indicators: ids });
}

/** Sorted. */
const placesOf = (countries: string[] | undefined, groups: AskedGroups | undefined): string[] | undefined =>
  groups === undefined
    ? countries?.toSorted()
    : [...new Set([...(countries ?? []), ...groups.groups.map(({ code }) => code)])].sort();

/** Each once. */
function credited(
  indicators: readonly IndicatorRecord[],
  derived: DerivedSeries | undefined,
  groups: AskedGroups | undefined,
): readonly IndicatorRecord[] {
  if (derived === undefined && groups === undefined) return indicators;
  const all = [...indicators, ...(derived?.others ?? []), ...(groups?.others ?? [])];
  return all.filter(({ id }, at) => all.findIndex((one) => one.id === id) === at);
}

/** The text of all rows of a series, of which an answer takes its own. */
const keptText =
  (
    snapshot: Edition,
    fields: readonly Field[],
    [series]: readonly SelectedSeries[],
  ): NonNullable<Table['keptText']> =>
  async (format, make) => {
    if (series === undefined) return [];
    const selected = await series.load();
    return selected.text(format, (all) => {
      const whole = { record: series.record, rows: all.count, load: () => all };
      const rows = publishedRows(snapshot);
      return make({ rows: all.count, batches: () => longBatches(snapshot, fields, [whole], {}, rows) });
    });
  };

const usualFields = (
  { indicators, aggregate, group }: DataQuery,
  { namesIndicator }: Encoder,
): readonly Field[] => {
  const fields = (aggregate ?? group) === undefined ? USUAL_FIELDS : FIELDS_WITH_GROUPS;
  return indicators !== undefined || namesIndicator ? ['indicator', ...fields] : fields;
};

/** What was not sent is undefined, and absent in JSON. */
const buildMeta = (
  { generatedAt }: Edition,
  count: number,
  about: Record<string, unknown>,
  { countries, from, to, years, fields, layout, latest, missing, format, as_of }: DataQuery,
): Record<string, unknown> => ({
  generated_at: generatedAt,
  count,
  ...about,
  countries,
  from,
  to,
  years,
  fields,
  layout,
  latest,
  missing,
  format,
  as_of: as_of?.sent,
});
