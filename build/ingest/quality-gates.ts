/**
 * Quality gates: a run that differs suspiciously from the last good one is held for an operator.
 *
 * Whole provider: rows or countries drop by more than the definition allows. Each series: the newest observed year goes
 * back, the median changes tenfold, or a stated unit changes. A first run and new series pass.
 */
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import type { SeriesFacts, SeriesFile } from '../lake/series-facts.ts';

const MEDIAN_FACTOR = 10;
/** The reason names this many series and counts the rest. */
const MAX_NAMED = 5;

interface RunFacts {
  record: Pick<RunRecord, 'rows_written' | 'countries'>;
  series: SeriesFile;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function checkDrop(what: string, before: number, after: number, allowed: number): string[] {
  if (before === 0) return [];
  const share = 1 - after / before;
  if (share <= allowed) return [];
  return [`${what} fell by ${percent(share)} (${before} to ${after}; ${percent(allowed)} is allowed)`];
}

/** Why one series is suspicious, or null. */
function checkSeries(before: SeriesFacts, after: SeriesFacts): string | null {
  if (before.newest_year !== null && (after.newest_year === null || after.newest_year < before.newest_year)) {
    return `newest year went back from ${before.newest_year} to ${after.newest_year ?? 'none'}`;
  }
  if (before.unit !== null && before.unit !== after.unit) {
    return `unit changed from "${before.unit}" to "${after.unit ?? ''}"`;
  }
  const ratio = Math.abs((after.median ?? 0) / (before.median ?? 0));
  const comparable = Number.isFinite(ratio) && ratio > 0;
  if (comparable && (ratio >= MEDIAN_FACTOR || ratio <= 1 / MEDIAN_FACTOR)) {
    return `median went from ${before.median} to ${after.median}`;
  }
  return null;
}

/** Why a run is held, as a sentence for the operator; null when it passes. */
export function holdReason(
  gates: ProviderDefinition['gates'],
  before: RunFacts,
  after: RunFacts,
): string | null {
  const whole = [
    ...checkDrop('rows', before.record.rows_written, after.record.rows_written, gates.max_row_drop),
    ...checkDrop('countries', before.record.countries, after.record.countries, gates.max_country_drop),
  ];
  const single = Object.entries(after.series).flatMap(([slug, facts]) => {
    const previous = before.series[slug];
    const suspicion = previous && checkSeries(previous, facts);
    return suspicion ? [`${slug}: ${suspicion}`] : [];
  });
  const named = [...whole, ...single.slice(0, MAX_NAMED)];
  if (named.length === 0) return null;
  const rest = single.length > MAX_NAMED ? `; and ${single.length - MAX_NAMED} more series` : '';
  return `Held against the last good run: ${named.join('; ')}${rest}.`;
}
