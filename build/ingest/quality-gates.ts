/**
 * Quality gates: a run that differs suspiciously from the last good one is held for an operator.
 *
 * Whole provider: rows or countries drop by more than the definition allows. Each series: the newest observed year goes
 * back, the median changes tenfold, or a stated unit changes. A first run and new series pass.
 *
 * Years ahead of the clock: also a first run is held when upstream sends figures for them, does not flag them, and the
 * definition has no rule that tells forecasts from observations. What an operator accepted is not held again.
 */
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import { yearsWithoutRule } from '../lake/projection-rule.ts';
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

/** Whether only the clock kept the newest observed year of a run from being later, or nothing did. */
const isDecidedByClock = ({ ahead }: SeriesFacts, currentYear: number): boolean =>
  unruledYears(ahead, currentYear).length > 0;

/** Why one series is suspicious, or null. */
function checkSeries(before: SeriesFacts, after: SeriesFacts, currentYear: number): string | null {
  const hasGoneBack =
    before.newest_year !== null && (after.newest_year === null || after.newest_year < before.newest_year);
  if (hasGoneBack && !isDecidedByClock(before, currentYear)) {
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
  currentYear: number,
): string | null {
  const whole = [
    ...checkDrop('rows', before.record.rows_written, after.record.rows_written, gates.max_row_drop),
    ...checkDrop('countries', before.record.countries, after.record.countries, gates.max_country_drop),
  ];
  const single = Object.entries(after.series).flatMap(([slug, facts]) => {
    const previous = before.series[slug];
    const suspicion = previous && checkSeries(previous, facts, currentYear);
    return suspicion ? [`${slug}: ${suspicion}`] : [];
  });
  if (whole.length + single.length === 0) return null;
  return `Held against the last good run: ${[...whole, ...nameSome(single)].join('; ')}.`;
}

/** The first reasons, and the number of the others. */
function nameSome(reasons: readonly string[]): string[] {
  const more = reasons.length - MAX_NAMED;
  return more > 0 ? [...reasons.slice(0, MAX_NAMED), `and ${more} more series`] : [...reasons];
}

/**
 * Why a run is held because of figures ahead of the clock, as a sentence that names the settings to make; null when it
 * passes.
 * @param before the series of the last good run, whose years ahead were accepted
 */
export function yearsAheadReason(
  providerId: string,
  before: SeriesFile,
  after: SeriesFile,
  currentYear: number,
): string | null {
  const found = Object.entries(after).flatMap(([slug, { ahead }]) => {
    const years = unruledYears(ahead, currentYear);
    const [first, last] = [years.at(0), years.at(-1)];
    const accepted = unruledYears(before[slug]?.ahead ?? null, currentYear).at(-1) ?? currentYear;
    if (first === undefined || last === undefined || last <= accepted) return [];
    return [first === last ? `${slug} (${first})` : `${slug} (${first} to ${last})`];
  });
  if (found.length === 0) return null;
  return (
    `Held because of years after ${currentYear} that upstream does not flag as projected: ` +
    `${nameSome(found).join('; ')}. ` +
    'Set `projected_from` to the first forecast year, or `future_years` to `projected` or `observed`: ' +
    `for single series in overlay/${providerId}.csv, for all in providers/${providerId}.yaml. ` +
    'Accepting the run serves them as projected.'
  );
}

const unruledYears = (ahead: SeriesFacts['ahead'], currentYear: number): number[] =>
  ahead ? yearsWithoutRule(ahead.rule, ahead.years, currentYear) : [];
