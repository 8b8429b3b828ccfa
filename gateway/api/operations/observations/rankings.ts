/** GET /rankings/{indicator}: every country ranked on one indicator for one year. */
import { z } from 'zod';
import { type IndicatorRecord, indicatorId, rankingRow } from '../../../../data/schema/records.ts';
import {
  columnsOf,
  DEFAULT_FORMAT,
  type Encoder,
  FORMATS,
  recordTable,
  type Table,
} from '../../encoders/encoders.ts';
import { type Edition, type IndicatorColumns, NO_DELTA, NO_RANK } from '../../snapshot/snapshot.ts';
import { count, credit, envelope } from '../envelope.ts';
import {
  type Content,
  defineOperation,
  encoderOf,
  findIndicator,
  idInPath,
  type Planned,
  refused,
  sentOnly,
  tablePlan,
  underAlias,
  withMeta,
} from '../operation.ts';
import { asOf, asOfEcho } from '../parameters/as-of.ts';
import { fail, oneOf, parsed } from '../parameters/parameters.ts';
import { derivation, transformEcho, transforms } from '../parameters/transforms.ts';
import { rankDerived } from './derived-ranking.ts';
import { type DerivedSeries, deriveSeries } from './derived-series.ts';

export const RANKING_PRICE = 1;
const LATEST = 'latest';
const FOUR_DIGITS = /^[0-9]{4}$/;

const year = parsed((sent, ctx): number | typeof LATEST => {
  if (sent === LATEST) return LATEST;
  if (FOUR_DIGITS.test(sent)) return Number(sent);
  return fail(ctx, {
    type: 'string_pattern_mismatch',
    ctx: { expected: "'latest' or a year of four digits" },
  });
}).meta({ type: 'string', pattern: '^(latest|[0-9]{4})$' });

export const rankings = defineOperation({
  name: 'getRanking',
  path: '/rankings/{indicator}',
  tag: 'Data',
  summary: 'Ranking of one indicator',
  description:
    'Every country: measured ones by rank, then name; the others by name, with null. Equal values share a rank. ' +
    'A year without any observation gives an empty array.',
  needsKey: true,
  priceText: '1 credit; with `transform`, times 2 or 4 where it divides',
  pathParameters: { indicator: idInPath('Indicator') },
  query: z.object({
    transform: transforms().optional(),
    year: year.optional().describe('A year, or `latest`: the newest observed one').meta({ default: LATEST }),
    format: oneOf(FORMATS).optional().describe('Default `json`').meta({ default: DEFAULT_FORMAT }),
    as_of: asOf().optional(),
  }),
  formats: FORMATS,
  answer: envelope(z.array(rankingRow), {
    count,
    ranked: z.int().describe('How many rows have a rank'),
    indicator: indicatorId,
    name: z.string(),
    unit: z.string().nullable(),
    higher_is_better: z.boolean().nullable(),
    year: z.int().describe('The year that `latest` stands for, or the one asked for'),
    licence_url: z.string().nullable(),
    ...credit,
    ...transformEcho,
    derivation: derivation.optional(),
    format: z.enum(FORMATS).optional(),
    ...asOfEcho,
  }),
  errors: ['indicator_not_found', 'not_rankable', 'export_restricted', 'edition_not_found', 'not_in_edition'],
  async plan({ snapshot, path, query }): Promise<Planned> {
    const found = await findIndicator(snapshot, path.indicator ?? '');
    if ('kind' in found) return found;
    const { entry, alias } = found;
    if (entry.record.no_rank) return refused('not_rankable');
    const { format, as_of, transform } = query;
    const encoder = encoderOf(format);
    // Shown, and not exported: as JSON only, and nothing is derived from it.
    const isExport = encoder.name !== DEFAULT_FORMAT || transform !== undefined;
    if (entry.record.access_tier === 'display' && isExport) return refused('export_restricted');
    const derived = transform && (await deriveSeries(snapshot, [entry], transform));
    if (derived && 'kind' in derived) return derived;
    const ranking = await findRanking(snapshot, entry.record, query.year ?? LATEST, derived);
    const echo = sentOnly({ format, as_of: as_of?.sent });
    const indicators = [entry.record.id, ...(derived?.others.map(({ id }) => id) ?? [])];
    const charge = { price: RANKING_PRICE * (derived?.figuresPerRow ?? 1), indicators };
    if (encoder.name !== DEFAULT_FORMAT)
      return underAlias(tablePlan(buildTable(ranking, encoder, echo), encoder, charge), alias);
    const produce = (): Content => {
      const json = ranking.json();
      return Object.keys(echo).length === 0 ? { kind: 'document', json } : withMeta(json, echo);
    };
    return underAlias({ kind: 'plan', ...charge, rows: ranking.rows, produce }, alias);
  },
});

async function findRanking(
  snapshot: Edition,
  published: IndicatorRecord,
  sent: number | typeof LATEST,
  derived: DerivedSeries | undefined,
) {
  const record = derived?.records[0] ?? published;
  /** Whose figures they are: the ranked one first. */
  const records = [record, ...(derived?.others ?? [])];
  const year = sent === LATEST ? latestYear(record, snapshot.generatedAt) : sent;
  // Of what is derived, the latest year is known only then.
  const key = derived === undefined ? `${record.id} ${year}` : [record.id, sent, ...derived.words].join(' ');
  const kept = snapshot.rankings.get(key);
  if (kept) return { snapshot, records, rows: kept.rows, json: () => kept.json };
  const { columns, resolved } =
    derived === undefined
      ? { columns: await snapshot.observations.columns(record.id, { from: year, to: year }), resolved: year }
      : await rankDerived(derived, record, sent === LATEST ? null : sent, year);
  const isHeld = snapshot.countries.some(({ record: { iso3 } }) => columns.rowOf(iso3, resolved) >= 0);
  const rows = isHeld ? snapshot.countries.length : 0;
  /** The answer as JSON, which is kept. */
  const make = (): Buffer => {
    const json = rank(snapshot, record, isHeld ? columns : null, resolved, derived);
    snapshot.rankings.set(key, { json, rows });
    return json;
  };
  return { snapshot, records, rows, json: make };
}

const COLUMNS = columnsOf(rankingRow);
/** What is kept without `meta` says which indicator and year it is of. */
const FILE_COLUMNS = columnsOf(z.object({ indicator: indicatorId, year: z.int() })).concat(COLUMNS);

function buildTable(
  { snapshot, records, json }: Awaited<ReturnType<typeof findRanking>>,
  { namesIndicator }: Encoder,
  echo: Record<string, unknown>,
): Table {
  const indicator = records[0]?.id ?? '';
  const { data, meta } = JSON.parse(json().toString()) as { data: Row[]; meta: { year: number } };
  const name = `${indicator}.${meta.year}`;
  const about = { indicators: records, meta: { ...meta, ...echo }, edition: snapshot.id, name };
  const columns = namesIndicator ? FILE_COLUMNS : COLUMNS;
  return recordTable(columns, data, about, (row) => ({ indicator, year: meta.year, ...row }));
}

/**
 * The newest observed year; the newest forecast of a series without observations; the snapshot's year for an empty
 * series, so that `meta.year` is always a year.
 */
function latestYear({ coverage }: IndicatorRecord, generatedAt: string): number {
  return coverage?.latest_year ?? coverage?.yr_max ?? Number(generatedAt.slice(0, 4));
}

type Row = z.infer<typeof rankingRow>;

/** @param columns null when nothing is held for the year. */
function rank(
  { countries, generatedAt }: Edition,
  record: IndicatorRecord,
  columns: IndicatorColumns | null,
  resolved: number,
  derived: DerivedSeries | undefined,
): Buffer {
  // Countries come by name, and sorting is stable: equal ranks stay in name order.
  const data =
    columns === null
      ? []
      : countries.map(({ record: { iso3, name } }) => toRow(columns, iso3, name, resolved)).sort(byRank);
  const { id: indicator, name, unit, higher_is_better, licence, licence_url, attribution } = record;
  const ranked = data.filter((row) => row.rank !== null).length;
  const meta = {
    generated_at: generatedAt,
    count: data.length,
    ranked,
    indicator,
    name,
    unit,
    higher_is_better,
    year: resolved,
    licence,
    licence_url,
    attribution,
    ...(derived && { transform: derived.words, ...derived.meta(true) }),
  };
  return Buffer.from(JSON.stringify({ data, meta }));
}

/** Rows without a rank come last. */
const byRank = (a: Row, b: Row): number => (a.rank ?? Infinity) - (b.rank ?? Infinity) || 0;

const orNull = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : value;

function toRow(held: IndicatorColumns, iso3: string, name: string, resolved: number): Row {
  const at = held.rowOf(iso3, resolved);
  const { value, ciLo, ciHi, rank: ranks, rankDelta, projected } = held.columns;
  const found = ranks[at] ?? NO_RANK;
  const delta = rankDelta[at] ?? NO_DELTA;
  return {
    rank: found === NO_RANK ? null : found,
    iso3,
    name,
    value: orNull(value[at]),
    ci_lo: orNull(ciLo?.[at]),
    ci_hi: orNull(ciHi?.[at]),
    rank_delta_1y: delta === NO_DELTA ? null : delta,
    projected: projected[at] === 1,
  };
}
