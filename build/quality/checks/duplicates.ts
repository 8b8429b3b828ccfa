/** Equal figures under two names, where nothing says that the series are one concept. */
import { listValue } from '@duckdb/node-api';
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import type { CheckContext, QualityCheck } from '../check.ts';
import { figure } from '../wording.ts';

const EQUAL_LATEST = readSql(import.meta.url, 'sql/equal-latest.sql');
const EQUAL_FIGURES = readSql(import.meta.url, 'sql/equal-figures.sql');

/** Copies differ in a few revised or rounded values. */
const EQUAL_SHARE = 0.9;

const pair = z.object({ a: z.string(), b: z.string() });
const comparison = pair.extend({ common: z.int(), equal: z.int() });

async function findDuplicates(context: CheckContext): Promise<FoundDoubt[]> {
  const { duck, concepts, series } = context;
  const linked = new Set(concepts.flatMap(({ a, b }) => [`${a} ${b}`, `${b} ${a}`]));
  const candidates = z
    .array(pair)
    .parse(await duck.rows(EQUAL_LATEST))
    .filter(({ a, b }) => !linked.has(`${a} ${b}`));
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
