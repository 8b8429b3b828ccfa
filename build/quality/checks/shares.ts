/** Shares of a whole with values that no share can have. */
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import { iso3 } from '../../../data/schema/records.ts';
import type { CheckContext, CheckedSeries, QualityCheck } from '../check.ts';
import { counted, countryName, figure } from '../wording.ts';

const SHARE_SUSPECTS = readSql(import.meta.url, 'sql/share-suspects.sql');

/** Parts that were rounded one by one may exceed their whole by this much. */
const SLACK = 0.1;

/** A whole that its part cannot exceed: the labour force, all exports, a day. GDP is none: trade is more than all of it. */
const WHOLE =
  /(?:%|percent(?:age)?|share|proportion) (?:of |ages )(?:[\p{L}\d+-]+[ -]){0,5}?(?:total|population|people|adults?|employment|labou?r force|workers|wom[ae]n|m[ae]n|(?:fe)?males?|girls|boys|children|infants|births|deaths|pregnancies|households|firms|schools|teachers|students|cohort|enrol?lment|land|area|exports|imports|income|electricity|energy|output|production|consumption|expenditure|expense|budget|seats|deprivations|day|time|world)\b/iu;
/** A part that is not taken out of the whole that it is compared with. */
const NOT_A_PART =
  /\b(?:growth|change|ratio|gross|debt|aid|oda|gdp|gni|withdrawals?, total|per (?:person|capita|student))\b/iu;

/** Whether a series is labelled as the share of a whole, in per cent. */
export function isShare({ name, unit }: { name: string; unit: string | null }): boolean {
  const isPercent = /%|percent/i.test(unit ?? '');
  const labels = [name, unit ?? ''];
  return (
    isPercent && labels.some((label) => WHOLE.test(label)) && !labels.some((label) => NOT_A_PART.test(label))
  );
}

const suspect = z.object({
  id: z.string(),
  found: z.int(),
  countries: z.array(iso3),
  first_year: z.int(),
  last_year: z.int(),
  worst: z.object({ iso3, year: z.int(), value: z.number() }),
});

function isSuspect({ record, statistics: { negative, above_100 } }: CheckedSeries): boolean {
  return (negative > 0 || above_100 > 0) && isShare(record);
}

async function findSharesOutOfRange(context: CheckContext): Promise<FoundDoubt[]> {
  const ids = [...context.series.values()].filter(isSuspect).map(({ record }) => record.id);
  if (ids.length === 0) return [];
  const rows = await context.duck.rows(SHARE_SUSPECTS, { files: context.files(ids), slack: SLACK });
  return z
    .array(suspect)
    .parse(rows)
    .map(({ id, found, countries, first_year, last_year, worst }) => {
      const where = counted(countries.length, 'country', 'countries');
      const all = found > 1 ? `; ${figure(found)} values of ${where} lie outside 0 to 100 %` : '';
      return {
        kind: 'share_out_of_range',
        provider: context.series.get(id)?.planned.providerId ?? '',
        indicator: id,
        other: null,
        countries,
        years: [first_year, last_year],
        extent: found,
        message: `${countryName(context.curated, worst.iso3)} is ${figure(worst.value)} % in ${worst.year}${all}.`,
      };
    });
}

export const shares: QualityCheck = { kinds: ['share_out_of_range'], find: findSharesOutOfRange };
