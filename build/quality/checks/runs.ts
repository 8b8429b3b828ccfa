/** What the newest run of a provider lost, left out or could not read. */
import { z } from 'zod';
import type { PlaceTable } from '../../../data/curated/curated.ts';
import { readSql } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import { INDICATOR_ID, iso3 } from '../../../data/schema/records.ts';
import type { PlannedProvider } from '../../editions/plan/plan-snapshot.ts';
import { type CheckContext, counted, countryName, doubtAbout, type QualityCheck } from '../check.ts';

const PROVIDER_PLACES = readSql(import.meta.url, 'sql/provider-places.sql');

/** Schemes that mean the same place in every source. */
const COMMON_SCHEMES = ['iso3', 'names'];
/** A message names this many and counts the rest. */
const MAX_NAMED = 20;

function list(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

type Places = ReadonlyMap<string, ReadonlySet<string>>;

async function readPlaces({ duck }: CheckContext, coverage: string): Promise<Places> {
  const row = z.object({ provider: z.string(), countries: z.array(iso3) });
  const rows = await duck.select(row, PROVIDER_PLACES, { coverage });
  return new Map(rows.map(({ provider, countries }) => [provider, new Set(countries)]));
}

/** Codes of the last run that no scheme of its definition knows: those that name a country all the same, and others. */
function unknownPlaces(
  { run }: PlannedProvider,
  places: PlaceTable,
): { countries: string[]; others: string[]; distinct: number; rows: number } {
  const { samples = [], distinct = 0, rows = 0 } = run?.record.rejects.unknown_place ?? {};
  const resolved = samples.map((code) => ({ code, place: places.resolve(COMMON_SCHEMES, code) }));
  const countries = resolved.flatMap(({ place }) => (place.kind === 'country' ? [place.iso3] : []));
  const others = resolved.flatMap(({ code, place }) => (place.kind === 'country' ? [] : [code]));
  return { countries, others, distinct: distinct - countries.length, rows };
}

/** Lost since the snapshot before, or known to be lost and not back since; and those that the run names as unknown. */
async function findPlaces(context: CheckContext): Promise<FoundDoubt[]> {
  const { curated, providers, coverageBefore } = context;
  const now = await readPlaces(context, context.coverage);
  const before: Places = coverageBefore === null ? new Map() : await readPlaces(context, coverageBefore);
  const enabled = new Set(curated.countries.filter((one) => one.enabled).map((one) => one.iso3));
  const known = context.known.filter(({ kind }) => kind === 'provider_places_lost');
  return providers.flatMap((provider) => {
    const { id } = provider.definition;
    const present = now.get(id);
    // A provider without any figure is a matter of its runs.
    if (!present) return [];
    const unknown = unknownPlaces(provider, curated.places);
    const candidates = [
      ...(before.get(id) ?? []),
      ...known.filter((one) => one.provider === id).flatMap(({ countries }) => countries),
      ...unknown.countries,
    ];
    const lost = [...new Set(candidates)].filter((code) => enabled.has(code) && !present.has(code)).sort();
    const unmapped = lost.filter((code) => unknown.countries.includes(code));
    return [...lostDoubt(context, provider, lost, unmapped), ...unknownDoubt(provider, unknown)];
  });
}

function lostDoubt(
  { curated }: CheckContext,
  { definition: { id, name } }: PlannedProvider,
  lost: string[],
  unmapped: readonly string[],
): FoundDoubt[] {
  if (lost.length === 0) return [];
  const names = (codes: readonly string[]): string => list(codes.map((code) => countryName(curated, code)));
  const reasons =
    unmapped.length > 0
      ? ` Its files have rows of ${names(unmapped)} under codes that no scheme of its definition knows.`
      : '';
  const message = `${name} has no figures of ${names(lost)}.${reasons}`;
  return [doubtAbout('provider_places_lost', id, message, lost.length, { countries: lost })];
}

function unknownDoubt(
  { definition: { id } }: PlannedProvider,
  { others, distinct, rows }: ReturnType<typeof unknownPlaces>,
): FoundDoubt[] {
  if (distinct <= 0) return [];
  const places = counted(distinct, 'place is', 'places are');
  const message = `${places} on no list, among ${counted(rows, 'row', 'rows')} left out: ${list(others)}.`;
  return [doubtAbout('provider_places_unknown', id, message, distinct)];
}

function findRuns({ providers }: CheckContext): FoundDoubt[] {
  return providers.flatMap(({ definition: { id, name }, newest }): FoundDoubt[] => {
    if (newest?.status !== 'suspicious' && newest?.status !== 'failed') return [];
    const isHeld = newest.status === 'suspicious';
    const reason = newest.reason ?? 'The run record says no more.';
    const message = `Run ${newest.run_id} of ${name} ${isHeld ? 'is held' : 'failed'}. ${reason}`;
    return [doubtAbout(isHeld ? 'run_held' : 'run_failed', id, message)];
  });
}

/** Series that the published run could not read. */
function findSeries({ providers }: CheckContext): FoundDoubt[] {
  return providers.flatMap(({ definition: { id }, run }) => {
    const carried = new Set(run?.record.carried_indicators);
    const failed = run?.record.failed_indicators.filter(({ slug }) => INDICATOR_ID.test(`${id}.${slug}`));
    return (failed ?? []).map(({ slug, reason, rows = 0 }): FoundDoubt => {
      const published = carried.has(slug) ? 'Figures of an earlier run stand.' : 'No figures are published.';
      const message = `The series could not be read: ${reason}. ${published}`;
      return doubtAbout('series_failed', `${id}.${slug}`, message, rows);
    });
  });
}

/** Fields of a run's record that name what was left out of single series. */
const LEFT_OUT = { values_out_of_bounds: 'out_of_bounds', values_unreadable: 'unreadable' } as const;

function findLeftOut({ providers, published }: CheckContext, kind: keyof typeof LEFT_OUT): FoundDoubt[] {
  return providers.flatMap(({ definition: { id }, run }) =>
    (run?.record[LEFT_OUT[kind]] ?? [])
      .filter(({ slug }) => published.has(`${id}.${slug}`))
      .map(({ slug, reason, rows }) => doubtAbout(kind, `${id}.${slug}`, `Left out: ${reason}.`, rows)),
  );
}

function findYearsAhead({ published }: CheckContext): FoundDoubt[] {
  return [...published.values()].flatMap(({ planned: { id, flaggedByClock } }) => {
    const [first, last] = [flaggedByClock.at(0), flaggedByClock.at(-1)];
    if (first === undefined || last === undefined) return [];
    const years = first === last ? `${first} is` : `${first} to ${last} are`;
    const settings = '`projected_from` or `future_years`';
    const message = `${years} projected only by the clock: no ${settings} of the definition says so.`;
    const { length: extent } = flaggedByClock;
    return [doubtAbout('years_flagged_by_clock', id, message, extent, { years: [first, last] })];
  });
}

export const runs: QualityCheck = {
  kinds: [
    ...(['provider_places_lost', 'provider_places_unknown', 'run_held', 'run_failed'] as const),
    ...(['series_failed', 'values_out_of_bounds', 'values_unreadable', 'years_flagged_by_clock'] as const),
  ],
  find: async (context) => [
    ...(await findPlaces(context)),
    ...findRuns(context),
    ...findSeries(context),
    ...findLeftOut(context, 'values_out_of_bounds'),
    ...findLeftOut(context, 'values_unreadable'),
    ...findYearsAhead(context),
  ],
};
