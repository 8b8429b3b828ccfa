/** What planters of faults share: how they see a series, and how they change it. */
import type { PlannedIndicator } from '../../../../build/editions/plan/plan-snapshot.ts';
import type { Concepts } from '../../../../data/curated/concepts.ts';
import type { Random } from '../../../seeded-random.ts';
import type { Edit, Row, Upstream, UpstreamSeries } from './upstream.ts';

export interface PlantedFault {
  kind: string;
  /** Every series that the fault touches; the first is the one that is wrong. */
  series: string[];
  note: string;
  edits: Edit[];
  /** Upstream leaves the series out on the night before. */
  vanishesBefore?: true;
}
export interface Surroundings {
  random: Random;
  upstream: Upstream;
  /** Series that may be planted, in random order. */
  free: readonly UpstreamSeries[];
  concepts: Concepts;
  /** What is published of each series before the faults, by id. */
  published: ReadonlyMap<string, PlannedIndicator['record']>;
}
export type Planting = Omit<PlantedFault, 'kind'>;
export type Plant = (series: UpstreamSeries, around: Surroundings) => Planting | null;
export interface FaultKind {
  what: string;
  /** Whether anybody could tell it without the night before and without a second series of the same statistic. */
  alone: boolean;
  plant: Plant;
}

export const COLUMN_YEARS = 12;
const STEADY = 1.35;
export const number = ({ text }: Row): number => Number(text);
export const isFigure = ({ text }: Row): boolean => text.trim() !== '' && Number.isFinite(Number(text));
const shown = (value: number): string => String(Number(value.toPrecision(12)));
export const times =
  (factor: number) =>
  (row: Row): Row =>
    isFigure(row) ? { ...row, text: shown(number(row) * factor) } : row;

/** Rows of a place, by year. */
export function placesOf({ rows }: UpstreamSeries): Map<string, Row[]> {
  return Map.groupBy(
    rows.filter(isFigure).toSorted((a, b) => a.year - b.year),
    ({ place }) => place,
  );
}
export const isNation = (place: string): boolean => /^[a-z]{3}$/.test(place);
/** Places whose figures are positive and change little from year to year. */
export function steadyPlaces(series: UpstreamSeries): [string, Row[]][] {
  return [...placesOf(series)].filter(
    ([place, rows]) =>
      isNation(place) &&
      rows.length >= COLUMN_YEARS &&
      rows.every((row, at) => {
        const before = number(rows[Math.max(0, at - 1)] ?? row);
        return number(row) > 0 && number(row) / before < STEADY && before / number(row) < STEADY;
      }),
  );
}
export const isSteady = (series: UpstreamSeries): boolean => steadyPlaces(series).length >= 20;
export const isPositive = (series: UpstreamSeries): boolean =>
  series.rows.filter(isFigure).every((row) => number(row) >= 0) && placesOf(series).size >= 30;
export const maximum = (series: UpstreamSeries): number =>
  series.rows.filter(isFigure).reduce((most, row) => Math.max(most, number(row)), 0);
/** The newest year up to 2018 that most places have; later ones are forecasts in many series. */
export function fullYear(series: UpstreamSeries): number | null {
  const counts = [...Map.groupBy(series.rows.filter(isFigure), ({ year }) => year)];
  const full = counts.filter(([year, rows]) => year <= 2018 && rows.length >= 30).map(([year]) => year);
  return full.length < 8 ? null : Math.max(...full);
}
export const edited = (series: UpstreamSeries, note: string, rows: readonly Row[]): Planting => ({
  series: [series.id],
  note,
  edits: [{ series: series.id, rows }],
});
/** With the chosen rows changed. */
export const changed = (
  series: UpstreamSeries,
  note: string,
  isChosen: (row: Row) => boolean,
  change: (row: Row) => Row,
): Planting =>
  edited(
    series,
    note,
    series.rows.map((row) => (isChosen(row) ? change(row) : row)),
  );
export const labelled = (series: UpstreamSeries, label: NonNullable<Edit['label']>): Planting => ({
  series: [series.id],
  note: `${JSON.stringify(series.label)} became ${JSON.stringify(label)}`,
  edits: [{ series: series.id, label }],
});

export const isPercentage = (series: UpstreamSeries): boolean =>
  /^(percent$|% of)/.test(series.label.unit) && maximum(series) > 20;
export const isCount = (series: UpstreamSeries): boolean =>
  /^(people|deaths|new cases|births|subscriptions)$/.test(series.label.unit);
