/**
 * Quality gates: a run that looks unlike the last good one is held for an operator instead of being served.
 *
 * Whole provider: rows or countries fall by more than the definition allows. Each series: the newest observed year
 * goes backwards, the median moves by ten times or more in either direction, the unit changes. What the gates cannot
 * judge (a first run, a new series, a unit that nobody had stated before) passes.
 */
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import type { SeriesFacts, SeriesFile } from '../lake/series-facts.ts';

const MEDIAN_JUMP = 10;
/** So many series are named in the reason; the rest are counted. */
const NAMED = 5;

interface Side {
  record: Pick<RunRecord, 'rows_written' | 'countries'>;
  series: SeriesFile;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function fall(what: string, before: number, after: number, allowed: number): string[] {
  if (before === 0) return [];
  const share = 1 - after / before;
  if (share <= allowed) return [];
  return [`${what} fell by ${percent(share)} (${before} to ${after}; ${percent(allowed)} is allowed)`];
}

/** Why one series looks unlike its last good self, or null. */
function suspicionOf(before: SeriesFacts, after: SeriesFacts): string | null {
  if (before.newest_year !== null && (after.newest_year === null || after.newest_year < before.newest_year)) {
    return `newest year went back from ${before.newest_year} to ${after.newest_year ?? 'none'}`;
  }
  if (before.unit !== null && before.unit !== after.unit) {
    return `unit changed from "${before.unit}" to "${after.unit ?? ''}"`;
  }
  const ratio = Math.abs((after.median ?? 0) / (before.median ?? 0));
  const comparable = Number.isFinite(ratio) && ratio > 0;
  if (comparable && (ratio >= MEDIAN_JUMP || ratio <= 1 / MEDIAN_JUMP)) {
    return `median went from ${before.median} to ${after.median}`;
  }
  return null;
}

/** Why a run is held, in a sentence for the operator; null when nothing speaks against it. */
export function holdReason(gates: ProviderDefinition['gates'], before: Side, after: Side): string | null {
  const whole = [
    ...fall('rows', before.record.rows_written, after.record.rows_written, gates.max_row_drop),
    ...fall('countries', before.record.countries, after.record.countries, gates.max_country_drop),
  ];
  const single = Object.entries(after.series).flatMap(([slug, facts]) => {
    const previous = before.series[slug];
    const suspicion = previous && suspicionOf(previous, facts);
    return suspicion ? [`${slug}: ${suspicion}`] : [];
  });
  const named = [...whole, ...single.slice(0, NAMED)];
  if (named.length === 0) return null;
  const rest = single.length > NAMED ? `; and ${single.length - NAMED} more series` : '';
  return `Held against the last good run: ${named.join('; ')}${rest}.`;
}
