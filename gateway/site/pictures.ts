/** Pictures of what an edition holds. Each is undefined where there is nothing to show. */
import type { IndicatorRecord } from '../../data/schema/records.ts';
import type { Edition } from '../api/snapshot/snapshot.ts';
import { barChart } from './charts/bars.ts';
import { type Picture, pictureLabels } from './charts/frame.ts';
import { lineChart } from './charts/lines.ts';
import { classifier, type MapOptions, type WorldMap, worldMap } from './charts/map.ts';
import { type Pair, pairFigures, scatterChart } from './charts/scatter.ts';
import { nameWithUnit } from './figures.ts';
import {
  type DrawnPlace,
  type History,
  openingFigures,
  type ShownSeries,
  type YearFigures,
  yearFigures,
} from './series.ts';

type MapPicture = Picture & { drawing: WorldMap };

/**
 * @param asked a year; default the one that pages open on
 * @param outlines path of the file of outlines; default: they stand in the picture
 */
export async function mapPicture(
  edition: Edition,
  series: ShownSeries,
  asked: number | undefined,
  outlines?: string,
): Promise<MapPicture | undefined> {
  const opening = await openingFigures(edition, series);
  if (opening === null) return undefined;
  const isOpening = asked === undefined || asked === opening.year;
  const held = isOpening ? opening : await yearFigures(edition, series, asked);
  return mapOfYear(series, held, opening, { outlines });
}

/** In the classes of the year that pages open on. The map of a series that may only be shown says figures of that year alone. */
export function mapOfYear(
  series: ShownSeries,
  held: YearFigures,
  opening: YearFigures,
  options: Partial<Pick<MapOptions, 'outlines' | 'notes' | 'group'>> = {},
): MapPicture | undefined {
  const { year, figures } = held;
  if (figures.length === 0) return undefined;
  const { unit, access_tier } = series.record;
  const hasTitles = access_tier === 'open' || year === opening.year;
  return {
    drawing: worldMap(held, {
      unit,
      outlines: undefined,
      hasTitles,
      ...options,
      classed: opening.figures.map(({ value }) => value),
    }),
    labels: pictureLabels(series, [year, year]),
  };
}

/**
 * The class of each country in the years that have any figure, for maps that move through them: by ISO3 a digit a year, or `-` without
 * a figure. Undefined for a series that may only be shown: no file tells of its other years.
 */
export async function mapClasses(edition: Edition, series: ShownSeries) {
  const opening = await openingFigures(edition, series);
  if (opening === null || series.record.access_tier !== 'open') return undefined;
  const held = await series.columns({});
  const { year, value } = held.columns;
  const classOf = classifier(opening.figures.map((figure) => figure.value));
  const years = [...new Set(year.filter((_, row) => !Number.isNaN(value[row])))].sort((a, b) => a - b);
  const classAt = (iso3: string, one: number): number | '-' => {
    const found = value[held.rowOf(iso3, one)] ?? Number.NaN;
    return Number.isNaN(found) ? '-' : classOf(found);
  };
  const codes = edition.countries.map(({ record: { iso3 } }) => iso3);
  const classes = Object.fromEntries(
    codes.map((iso3) => [iso3, years.map((one) => classAt(iso3, one)).join('')]),
  );
  return { edition: edition.id, years, classes };
}

/** What an address says of lines: their years and their scale. */
export interface LinesView {
  from?: number | undefined;
  to?: number | undefined;
  scale?: 'linear' | 'log' | undefined;
}

/** What is drawn of lines, and what is asked for and makes no sense, as sentences. */
export function viewLines(
  all: readonly History[],
  { from = -Infinity, to = Infinity, scale = 'linear' }: LinesView,
) {
  const isRange = from <= to;
  const held = all.map(({ place, points }) => ({
    place,
    points: isRange ? points.filter(({ year }) => year >= from && year <= to) : points,
  }));
  const below = held.find(({ points }) => points.some(({ value }) => value <= 0));
  const isAsked = scale === 'log';
  return {
    held,
    isLog: isAsked && below === undefined,
    problems: [
      ...(isRange ? [] : [`The year ${from} is after ${to}: all years are shown.`]),
      ...(isAsked && below
        ? [`A log scale needs figures above 0, and ${below.place.name} has others: the scale is linear.`]
        : []),
    ],
  };
}

export function linesPicture(
  series: ShownSeries,
  held: readonly History[],
  isLog = false,
): Picture | undefined {
  const years = held.flatMap(({ points }) => points.map(({ year }) => year));
  if (years.length === 0) return undefined;
  return {
    drawing: lineChart(held, series.record.unit, series.record.access_tier === 'open', isLog),
    labels: pictureLabels(series, [Math.min(...years), Math.max(...years)]),
  };
}

/** @param asked a year; default the one that pages open on. @param around ISO3 of the country in the middle; default the first ones of the ranking */
export async function barsPicture(
  edition: Edition,
  series: ShownSeries,
  around: string | undefined,
  asked?: number,
): Promise<Picture | undefined> {
  const isOpen = series.record.access_tier === 'open';
  const held =
    asked !== undefined && isOpen
      ? await yearFigures(edition, series, asked)
      : await openingFigures(edition, series);
  if (held === null || held.figures.length === 0) return undefined;
  return {
    drawing: barChart(held, { unit: series.record.unit, around }),
    labels: pictureLabels(series, [held.year, held.year]),
  };
}

/**
 * The newest year that both indicators have, and the countries that have both figures of it.
 * @param chosen countries that are named
 */
export async function scatterPicture(
  edition: Edition,
  [across, up]: readonly [ShownSeries, ShownSeries],
  chosen: readonly DrawnPlace[],
): Promise<(Picture & { year: number; pairs: readonly Pair[] }) | undefined> {
  const [first, second] = [across.opening, up.opening];
  if (first === null || second === null) return undefined;
  const year = Math.min(first, second);
  const [figuresAcross, figuresUp] = await Promise.all([
    yearFigures(edition, across, year),
    yearFigures(edition, up, year),
  ]);
  const pairs = pairFigures(figuresAcross, figuresUp);
  if (pairs.length === 0) return undefined;
  const codes = chosen.map(({ code }) => code);
  return {
    year,
    pairs,
    drawing: scatterChart(pairs, {
      across: axisTitle(across.record),
      up: axisTitle(up.record),
      chosen: codes,
      hasTitles: [across, up].every(({ record }) => record.access_tier === 'open'),
    }),
    labels: pictureLabels(
      {
        record: { ...up.record, name: `${up.record.name} and ${across.record.name}`, unit: null },
        credited: [...across.credited, ...up.credited],
      },
      [year, year],
    ),
  };
}

export const axisTitle = ({ name, unit }: IndicatorRecord): string => nameWithUnit(name, unit);
