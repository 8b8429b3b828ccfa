/** Why countries and groups have no figure among those that were asked for, and the years for which there is one. */
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import type { FoundRows, RowDetail, RowSource } from '../operations/operations.ts';
import type { Edition, SelectedRows } from '../snapshot/snapshot.ts';
import { NO_ESTIMATE, type Refusal } from './answer.ts';
import { type FiguresAsked, pairOf } from './figures.ts';
import type { AskedPlaces } from './places.ts';

interface HeldYears {
  /** Ascending. */
  measured: number[];
  projected: number[];
}

/** The years for which a series has values, by country or group. @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function heldYears(
  source: RowSource,
  record: IndicatorRecord,
  places: readonly string[],
): Promise<Map<string, HeldYears>> {
  const selected = await source.select(record, { countries: places.toSorted() }, { missing: true });
  const years = new Map<string, HeldYears>(places.map((code) => [code, { measured: [], projected: [] }]));
  for (const { iso3, year, projected } of rowsHeld(selected))
    years.get(iso3)?.[projected ? 'projected' : 'measured'].push(year);
  return years;
}

function* rowsHeld({ held, at, country }: SelectedRows) {
  for (const [row, position] of at.entries())
    yield {
      iso3: held.countries[country[row] ?? 0] ?? '',
      year: held.columns.year[position] ?? 0,
      projected: held.columns.projected[position] === 1,
    };
}

/** The held year before and the one after what was asked for. @param years in any order */
export function nearestYears(
  years: readonly number[],
  { from, to }: Pick<FiguresAsked, 'from' | 'to'>,
): number[] {
  // Infinite where there is none.
  const before = Math.max(...years.filter((year) => to === undefined || year <= to));
  const after = Math.min(...years.filter((year) => from === undefined || year >= from));
  return [...new Set([before, after])].filter(Number.isFinite).sort((a, b) => a - b);
}

const asText = ({ from, to }: Pick<FiguresAsked, 'from' | 'to'>): string => {
  if (from === undefined && to === undefined) return '';
  if (from === to) return ` for ${from}`;
  return ` for${from === undefined ? '' : ` from ${from}`}${to === undefined ? '' : ` to ${to}`}`;
};

/** Why a place of a series has no figure among those that were asked for. */
function noData(
  record: IndicatorRecord,
  country: { iso3: string; name: string },
  { measured, projected }: HeldYears,
  asked: Pick<FiguresAsked, 'from' | 'to' | 'latest'>,
): Refusal {
  const held = asked.latest === undefined ? [...measured, ...projected] : measured;
  const nearest_years = nearestYears(held, asked);
  const known =
    nearest_years.length > 0
      ? `The nearest years held are ${nearest_years.join(' and ')}.`
      : held.length === 0 && projected.length > 0
        ? `Only forecasts are held, of ${Math.min(...projected)} to ${Math.max(...projected)}.`
        : 'It has none for any year.';
  return {
    reason: 'no_data',
    message: `Almanac holds no figure of “${record.name}” for ${country.name}${asText(asked)}. ${known} ${NO_ESTIMATE}`,
    place: country.iso3,
    indicator: record.id,
    nearest_years,
  };
}

type Reason = NonNullable<RowDetail['reason']>;

const REASONS: Readonly<Record<Reason, string>> = {
  gap: 'a year that is needed has no figure',
  no_base: 'the year or the series to compare with has no figure',
  break: 'the series breaks between the years, which are not comparable',
  zero: 'the divisor is 0',
  not_positive: 'a figure that has to be above 0 is not',
  coverage: 'too small a part of the group has a figure, or other members than in the year to compare with',
  territory: 'the figure of one member may include that of another',
  withheld: 'a member has a figure that may not be published',
  overflow: 'the result is too large',
};

/** Why there is none for any of the years asked for; empty where there is no row. */
async function reasonsFor(
  source: RowSource,
  record: IndicatorRecord,
  code: string,
  { from, to }: Pick<FiguresAsked, 'from' | 'to'>,
): Promise<string> {
  const filter = { countries: [code], from, to };
  const details = await source.details(record, await source.select(record, filter, {}), filter);
  const reasons = new Set(details.flatMap(({ reason }) => reason ?? []));
  return [...reasons].map((reason) => `\`${reason}\` (${REASONS[reason]})`).join(' and ');
}

/** A refusal for each place without any figure of a series; members of groups are not missed. */
export async function missingFigures(
  { source, indicators }: FoundRows,
  asked: FiguresAsked,
  held: ReadonlySet<string>,
  edition: Edition,
  places: Pick<AskedPlaces, 'named'> | undefined,
): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  for (const record of indicators) {
    const missing = (places?.named ?? []).filter((code) => !held.has(pairOf(record.id, code)));
    refusals.push(...(await missingIn(source, record, asked, missing, edition)));
  }
  return refusals;
}

/** A refusal for each of these places, which have none of the figures asked for. */
export async function missingIn(
  source: RowSource,
  record: IndicatorRecord,
  asked: Pick<FiguresAsked, 'from' | 'to' | 'latest'>,
  missing: readonly string[],
  { countriesByCode }: Edition,
): Promise<Refusal[]> {
  if (missing.length === 0) return [];
  const names = new Map(source.groups?.map(({ group = '', name }) => [group, name]));
  const years = await heldYears(source, record, missing);
  const refusals: Refusal[] = [];
  for (const [code, own] of years) {
    const name = countriesByCode.get(code)?.name ?? names.get(code) ?? code;
    const refusal = noData(record, { iso3: code, name }, own, asked);
    const reasons = await reasonsFor(source, record, code, asked);
    refusals.push(reasons === '' ? refusal : { ...refusal, message: `${refusal.message} Why: ${reasons}.` });
  }
  return refusals;
}
