/** What a run left out, as lines for the person at the terminal. */
import type { LostPlace, RejectReason, RunRecord } from '../../data/schema/lake.ts';

const REASONS: Record<RejectReason, string> = {
  unknown_place: 'places that are unknown',
  aggregate_place: 'groups of countries',
  historical_place: 'former states',
  bad_year: 'years that cannot be read',
  bad_number: 'values that are no numbers',
  duplicate_key: 'a country and year that occur twice',
  out_of_bounds: 'values out of bounds',
  withdrawn: 'rows that upstream has withdrawn',
  other_dimension: 'another part of the population',
};
/** Lists are cut here; the record has more. */
const SHOWN = 20;

/** The first of a list, and how many more there are. */
export const listed = (items: readonly string[], total = items.length): string =>
  items.slice(0, SHOWN).join(', ') + (total > SHOWN ? ` and ${total - SHOWN} more` : '');

/** @param recordFile where the whole record lies. */
export function runReport(record: RunRecord, recordFile: string): string[] {
  const { provider_id: id, status, reason, rows_written: rows, indicators, countries } = record;
  return [
    `${id}: ${status}, ${rows} rows of ${indicators} indicators and ${countries} countries${reason ? ` (${reason})` : ''}`,
    ...leftOut(record),
    ...lostPlaces(id, record.lost_places),
    ...listSeries('failed', record.failed_indicators),
    ...listSeries('out of bounds', record.out_of_bounds ?? []),
    ...(record.unused_settings ?? []).slice(0, SHOWN).map((one) => `  ${one}`),
    ...cut('settings without a series', record.unused_settings?.length ?? 0),
    ...(status === 'suspicious' ? [heldAdvice(id, record.run_id)] : []),
    `  record: ${recordFile}`,
  ];
}

const cut = (what: string, total: number): string[] =>
  total > SHOWN ? [`  … ${total - SHOWN} more ${what}`] : [];

const leftOut = ({ rejects }: RunRecord): string[] =>
  Object.entries(rejects).map(
    ([reason, { rows, samples, distinct }]) =>
      `  left out: ${rows} rows of ${REASONS[reason as RejectReason]}: ${listed(samples, distinct)}`,
  );

/** The command that accepts a held run. */
export const heldAdvice = (provider: string, run: string): string =>
  `  to accept it: npm run build-data -- accept --provider ${provider} --run ${run}`;

export function lostPlaces(provider: string, lost: readonly LostPlace[] = []): string[] {
  if (lost.length === 0) return [];
  const countries = new Set(lost.map(({ iso3 }) => iso3)).size;
  const names = lost.map(({ place, name }) => `"${place}" (${name}?)`);
  return [
    `  lost: ${countries} countries of the list without a row: ${listed(names)}`,
    `  to keep them: name their scheme in \`places\` of data/providers/${provider}.yaml, or add the places to data/places.csv`,
  ];
}

const listSeries = (what: string, series: readonly { slug: string; reason: string }[]): string[] => [
  ...series.slice(0, SHOWN).map(({ slug, reason }) => `  ${what}: ${slug}: ${reason}`),
  ...cut(`${what} series`, series.length),
];
