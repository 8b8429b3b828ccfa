/**
 * Twins: the other published series of an indicator's concept, side by side with it. All is computed from the published
 * observations. Figures are compared only where both series may be exported, as a difference tells a value.
 */
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import type { ConceptMember, Concepts } from '../../../data/curated/concepts.ts';
import { readSql } from '../../../data/runtime/sql-files.ts';
import { type IndicatorRecord, type IndicatorTwin, iso3 } from '../../../data/schema/records.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import type { DuckSession } from '../../runtime/duckdb.ts';

const TWINS = readSql(import.meta.url, 'sql/twins.sql');

const comparison = z.object({
  a: z.string(),
  b: z.string(),
  countries: z.int(),
  years: z.int(),
  median: z.number(),
  largest: z.object({
    rank: z.number(),
    iso3,
    year: z.int(),
    a_value: z.number(),
    b_value: z.number(),
  }),
});
type Comparison = z.infer<typeof comparison>;

/** A series of a concept with its public record. */
interface Published extends ConceptMember {
  record: IndicatorRecord;
}

/** The twins of each indicator that has any, the preferred one first. */
export async function findTwins(
  duck: DuckSession,
  directory: string,
  concepts: Concepts,
  records: readonly IndicatorRecord[],
): Promise<Map<string, IndicatorTwin[]>> {
  const byId = new Map(records.map((record) => [record.id, record]));
  const groups = [...concepts.members.values()]
    .map((members) =>
      members.flatMap((member): Published[] => {
        const record = byId.get(member.series.indicator);
        return record ? [{ ...member, record }] : [];
      }),
    )
    .filter((members) => members.length > 1);
  const compared = await compare(duck, directory, groups.flat());
  return new Map(
    groups.flatMap((members) =>
      members.map((own) => {
        const others = members.filter((other) => other !== own);
        return [own.record.id, others.map((other) => twinOf(own, other, compared))] as const;
      }),
    ),
  );
}

const pairKey = (a: string, b: string): string => (a < b ? `${a} ${b}` : `${b} ${a}`);

async function compare(
  duck: DuckSession,
  directory: string,
  members: readonly Published[],
): Promise<Map<string, Comparison>> {
  if (members.length === 0) return new Map();
  const series = members.map(({ concept, series: { factor }, record: { id } }) => ({
    id,
    concept: concept.id,
    factor,
  }));
  const rows = await duck.rows(TWINS, {
    files: listValue(series.map(({ id }) => join(directory, observationsFile(id)))),
    series: JSON.stringify(series),
  });
  const found = z.array(comparison).parse(rows);
  return new Map(found.map((one) => [pairKey(one.a, one.b), one]));
}

function twinOf(own: Published, other: Published, compared: ReadonlyMap<string, Comparison>): IndicatorTwin {
  const { id, name, unit, provider, licence, preferred, coverage } = other.record;
  const found = compared.get(pairKey(own.record.id, id));
  const isShown = own.record.access_tier === 'open' && other.record.access_tier === 'open';
  return {
    ...{ id, name, unit, provider: provider.id, licence, preferred },
    factor: other.series.factor / own.series.factor,
    yr_min: coverage?.yr_min ?? null,
    yr_max: coverage?.yr_max ?? null,
    common_countries: found?.countries ?? 0,
    common_years: found?.years ?? 0,
    difference: found && isShown ? differenceOf(own.record.id, found) : null,
    deviations: [own, other].flatMap(({ record, series: { deviates, reason } }) =>
      reason === null ? [] : [{ indicator: record.id, deviates, reason }],
    ),
  };
}

function differenceOf(ownId: string, { a, median, largest }: Comparison): IndicatorTwin['difference'] {
  const { rank, iso3: country, year, a_value, b_value } = largest;
  const [value, twin_value] = ownId === a ? [a_value, b_value] : [b_value, a_value];
  return { median, largest: { difference: -rank || 0, iso3: country, year, value, twin_value } };
}
