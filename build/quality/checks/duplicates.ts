/** Equal figures under two names, where nothing says that the series are one concept. */
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { CheckContext, QualityCheck } from '../check.ts';
import { twinPairs } from '../twin-pairs.ts';
import { figure } from '../wording.ts';

const EQUAL_LATEST = readSql(import.meta.url, 'sql/equal-latest.sql');
const EQUAL_FIGURES = readSql(import.meta.url, 'sql/equal-figures.sql');

/** Copies differ in a few revised or rounded values. */
const EQUAL_SHARE = 0.9;

const pair = z.object({ a: z.string(), b: z.string() });
const comparison = pair.extend({ common: z.int(), equal: z.int() });

/** Fewer equal figures may be chance. */
const FEWEST_VALUES = 20;

/** Pairs of which all figures are equal, down to the last digit: scores and classes as well. */
function equalDigests({ series }: CheckContext): z.infer<typeof pair>[] {
  const large = [...series.values()].filter(({ statistics }) => statistics.values >= FEWEST_VALUES);
  const groups = Map.groupBy(large, ({ statistics }) => statistics.digest);
  return [...groups.values()].flatMap((group) => {
    const ids = group.map(({ record }) => record.id).sort();
    return ids.flatMap((a, at) => ids.slice(at + 1).map((b) => ({ a, b })));
  });
}

async function findDuplicates(context: CheckContext): Promise<FoundDoubt[]> {
  const { duck, series } = context;
  const linked = new Set(twinPairs(context).map(({ a, b }) => `${a.record.id} ${b.record.id}`));
  const found = [...z.array(pair).parse(await duck.rows(EQUAL_LATEST)), ...equalDigests(context)];
  const candidates = [...new Map(found.map((one) => [`${one.a} ${one.b}`, one]))]
    .filter(([key]) => !linked.has(key))
    .map(([, one]) => one);
  if (candidates.length === 0) return [];
  const ids = [...new Set(candidates.flatMap(({ a, b }) => [a, b]))];
  const rows = await duck.rows(EQUAL_FIGURES, {
    a: listValue(candidates.map(({ a }) => a)),
    b: listValue(candidates.map(({ b }) => b)),
    files: context.files(ids),
  });
  return z
    .array(comparison)
    .parse(rows)
    .filter(({ common, equal }) => equal >= EQUAL_SHARE * common)
    .flatMap(({ a, b, common, equal }): FoundDoubt[] => {
      const [one, other] = [series.get(a), series.get(b)];
      if (!one || !other) return [];
      return [
        {
          kind: 'duplicate_series',
          provider: one.planned.providerId,
          indicator: a,
          other: b,
          countries: [],
          years: null,
          extent: equal,
          message: `"${one.record.name}" and "${other.record.name}" are equal in ${figure(equal)} of ${figure(common)} common values.`,
        },
      ];
    });
}

export const duplicates: QualityCheck = { kinds: ['duplicate_series'], find: findDuplicates };
