/** Looks up what is held about a claim, no more than its verdict needs, and has it judged. */
import type { IndicatorRecord, IndicatorTwin } from '../../../../../data/schema/records.ts';
import type { Edition } from '../../../snapshot/snapshot.ts';
import { type ClaimedNumber, inUnit } from './claimed-number.ts';
import {
  diagnose,
  type EarlierFigure,
  type Figure,
  type Judgement,
  judge,
  type Reason,
  type TwinFigure,
} from './judge.ts';

export interface Claim {
  /** As sent. */
  text: string;
  /** By the id of today. */
  indicator: string;
  iso3: string;
  year: number;
  number: ClaimedNumber;
}

export type CheckedClaim =
  | { verdict: 'unknown'; unknown: 'indicator' | 'iso3' }
  | (Judgement & {
      record: IndicatorRecord;
      /** As claimed, in the unit of the indicator. */
      number: ClaimedNumber;
      /** The figure of today; null where there is none. */
      value: number | null;
      projected: boolean | null;
      /** The newest edition that changed unit or definition. */
      redefined: Awaited<ReturnType<Edition['editions']['history']['lastRedefinition']>>;
      reasons: Reason[];
    });

/** @throws {QueryTimeout} {QueueFull} {SnapshotUnreadable} */
export async function checkClaim(served: Edition, claim: Claim): Promise<CheckedClaim> {
  const { indicator, iso3, year } = claim;
  const entry = await served.indicator(indicator);
  if (entry === undefined) return { verdict: 'unknown', unknown: 'indicator' };
  if (!served.countriesByCode.has(iso3)) return { verdict: 'unknown', unknown: 'iso3' };
  const { record } = entry;
  const number = inUnit(claim.number, record.unit);
  const history = await figuresOfCountry(served, indicator, iso3);
  const own = history.find((figure) => figure.year === year) ?? null;
  const value = own?.value ?? null;
  const redefined = await served.editions.history.lastRedefinition(indicator);
  const about = { record, number, value, projected: own?.projected ?? null, redefined };
  const now = judge(claim.number, value, [], record.unit);
  if (isSettled(now)) return { ...now, ...about, reasons: [] };
  const judged = judge(claim.number, value, await earlierFigures(served, claim), record.unit);
  // A reason tells where a figure is found: of a display-only series that would be as good as the figure.
  const wasRight = judged.verdict === 'superseded' || judged.verdict === 'redefined';
  if (wasRight || record.access_tier === 'display') return { ...judged, ...about, reasons: [] };
  const reasons = diagnose(number, {
    own,
    twins: await figuresOfTwins(served, claim),
    otherYears: history
      .filter((figure) => figure !== own)
      .sort((a, b) => Math.abs(a.year - year) - Math.abs(b.year - year)),
    otherCountries: (await figuresOfYear(served, indicator, year)).filter((figure) => figure.iso3 !== iso3),
  });
  return { ...judged, ...about, reasons };
}

const isSettled = ({ verdict }: Judgement): boolean => verdict === 'exact' || verdict === 'rounded';

/** What editions before the served one had for the figure; newest first. */
async function earlierFigures(
  { editions: { chain, history } }: Edition,
  { indicator, iso3, year }: Claim,
): Promise<EarlierFigure[]> {
  const filter = { countries: [iso3], from: year, to: year, after: -1 };
  const revisions = await history.revisions(indicator, filter);
  return revisions.toReversed().flatMap(({ old, oldUnit: unit, edition: at }) => {
    const [before, edition] = [chain[at - 1], chain[at]];
    return old && before && edition
      ? [{ value: old.value, unit, edition: before.edition, superseded_by: edition.edition }]
      : [];
  });
}

async function figuresOfCountry(served: Edition, indicator: string, iso3: string) {
  const filter = { countries: [iso3] };
  const held = await served.observations.columns(indicator, filter);
  const { year, value, projected } = held.columns;
  const figures: (Figure & { projected: boolean })[] = [];
  for (const { start, end } of held.select(filter)) {
    for (let row = start; row < end; row += 1) {
      const [in_year, figure] = [year[row], value[row]];
      if (in_year === undefined || figure === undefined || Number.isNaN(figure)) continue;
      figures.push({ indicator, iso3, year: in_year, value: figure, projected: projected[row] === 1 });
    }
  }
  return figures;
}

/** @param countries default all */
async function figuresOfYear(
  served: Edition,
  indicator: string,
  year: number,
  countries?: readonly string[],
): Promise<Figure[]> {
  const held = await served.observations.columns(indicator, { countries, from: year, to: year });
  return (countries ?? held.countries).flatMap((iso3) => {
    const value = held.columns.value[held.rowOf(iso3, year)];
    return value === undefined || Number.isNaN(value) ? [] : [{ indicator, iso3, year, value }];
  });
}

/** The figures of the same place and year in other series of the concept that are published today. */
async function figuresOfTwins(served: Edition, { indicator, iso3, year }: Claim): Promise<TwinFigure[]> {
  const lists = await served.additions(['twins'], [indicator]);
  const twins: IndicatorTwin[] = JSON.parse(lists.json('twins', indicator));
  const figures: TwinFigure[] = [];
  for (const { id, factor } of twins) {
    if ((await served.indicator(id)) === undefined) continue;
    const found = await figuresOfYear(served, id, year, [iso3]);
    figures.push(...found.map((figure) => ({ ...figure, factor })));
  }
  return figures;
}
