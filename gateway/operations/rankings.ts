/** GET /rankings/{indicator}: every country ranked on one indicator for one year. */
import { z } from 'zod';
import type { IndicatorRecord } from '../../data/schema/records.ts';
import { JSON_TYPE } from '../http/representation.ts';
import { type IndicatorColumns, NO_DELTA, NO_RANK } from '../snapshot/indicator-columns.ts';
import type { MadeAnswer, Snapshot } from '../snapshot/snapshot.ts';
import { rankingsAnswer } from './answers.ts';
import { indicatorNotFound } from './indicator.ts';
import { defineRoute, type Outcome } from './operation.ts';
import { fail, text } from './parameters.ts';

const PRICE = 1;
const LATEST = 'latest';
const FOUR_DIGITS = /^[0-9]{4}$/;

const year = text()
  .transform((sent, ctx): number | typeof LATEST => {
    if (sent === LATEST) return LATEST;
    if (FOUR_DIGITS.test(sent)) return Number(sent);
    return fail(ctx, {
      type: 'string_pattern_mismatch',
      ctx: { expected: "'latest' or a year of four digits" },
    });
  })
  .meta({ type: 'string', pattern: '^(latest|[0-9]{4})$' });

export const rankings = defineRoute({
  template: '/rankings/{indicator}',
  operation: 'getRanking',
  tag: 'Data',
  summary: 'Ranking of one indicator',
  description:
    'Every country: measured ones by rank, then name; the others by name, with null. Equal values share a rank. ' +
    'A year without any observation gives an empty array.',
  key: 'required',
  price: '1 credit',
  tagged: false,
  path: {
    indicator: {
      description: 'Indicator id, exact and case-sensitive',
      example: 'gapminder.life_expectancy_years',
    },
  },
  query: z.object({
    year: year
      .optional()
      .describe('A year, or `latest`: the newest observed one')
      .meta({ default: LATEST, example: LATEST }),
  }),
  answer: rankingsAnswer,
  refusals: ['indicator_not_found', 'not_rankable'],
  async handle({ snapshot, path, query }): Promise<Outcome> {
    const id = path.indicator ?? '';
    const item = snapshot.catalogue.indicators.get(id);
    if (!item) return indicatorNotFound(id);
    if (item.record.no_rank) return { kind: 'refusal', code: 'not_rankable' };
    const asked = query.year ?? LATEST;
    const resolved = asked === LATEST ? latestYear(item.record, snapshot.catalogue.generatedAt) : asked;
    const made = snapshot.answers.get(`ranking ${id} ${resolved}`, () =>
      rank(snapshot, item.record, resolved),
    );
    const { bytes, rows } = made instanceof Promise ? await made : made;
    return { kind: 'answer', body: { kind: 'bytes', type: JSON_TYPE, chunks: [bytes] }, price: PRICE, rows };
  },
});

/**
 * The newest observed year. A series that has none resolves to its newest forecast, and an empty one to the year of
 * the snapshot, so that the answer always names a year.
 */
function latestYear({ coverage }: IndicatorRecord, generatedAt: string): number {
  return coverage?.latest_year ?? coverage?.yr_max ?? Number(generatedAt.slice(0, 4));
}

interface Row {
  rank: number | null;
  iso3: string;
  name: string;
  value: number | null;
  ci_lo: number | null;
  ci_hi: number | null;
  rank_delta_1y: number | null;
  projected: boolean;
}

async function rank(snapshot: Snapshot, record: IndicatorRecord, resolved: number): Promise<MadeAnswer> {
  const { catalogue, observations } = snapshot;
  const slice = await observations.year(record.id, resolved);
  // The catalogue's countries are in name order, and sorting keeps the order of equals.
  const rows = catalogue.countries.map(({ record: { iso3, name } }) => toRow(slice, iso3, name, resolved));
  const held = catalogue.countries.some(({ record: { iso3 } }) => slice.rowOf(iso3, resolved) >= 0);
  const data = held ? rows.sort(byRank) : [];
  const meta = {
    generated_at: catalogue.generatedAt,
    count: data.length,
    ranked: data.filter((row) => row.rank !== null).length,
    indicator: record.id,
    name: record.name,
    unit: record.unit,
    higher_is_better: record.higher_is_better,
    year: resolved,
    licence: record.licence,
    licence_url: record.licence_url,
    attribution: record.attribution,
  };
  return { bytes: Buffer.from(JSON.stringify({ data, meta })), rows: data.length };
}

/** Measured countries without a rank cannot be; should one come, it stands with the unmeasured. */
const byRank = (a: Row, b: Row): number => (a.rank ?? Infinity) - (b.rank ?? Infinity) || 0;

const orNull = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : value;

function toRow(slice: IndicatorColumns, iso3: string, name: string, resolved: number): Row {
  const at = slice.rowOf(iso3, resolved);
  const { value, ciLo, ciHi, rank: ranks, rankDelta, projected } = slice.columns;
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
