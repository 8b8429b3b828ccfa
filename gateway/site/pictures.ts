/** Pictures of what an edition holds. Each is undefined where there is nothing to show. */
import type { CountryRecord, IndicatorRecord } from '../../data/schema/records.ts';
import type { Edition } from '../api/snapshot/snapshot.ts';
import { barChart } from './charts/bars.ts';
import { type Picture, pictureLabels } from './charts/frame.ts';
import { lineChart } from './charts/lines.ts';
import { type WorldMap, worldMap } from './charts/map.ts';
import { pairFigures, scatterChart } from './charts/scatter.ts';
import { isSaidBy } from './figures.ts';
import { histories, openingFigures, openingYear, type YearFigures, yearFigures } from './series.ts';

type MapPicture = Picture & { drawing: WorldMap };

/**
 * @param asked a year; default the one that pages open on
 * @param outlines path of the file of outlines; default: they stand in the picture
 */
export async function mapPicture(
  edition: Edition,
  indicator: IndicatorRecord,
  asked: number | undefined,
  outlines?: string,
): Promise<MapPicture | undefined> {
  const opening = await openingFigures(edition, indicator);
  if (opening === null) return undefined;
  const isOpening = asked === undefined || asked === opening.year;
  const held = isOpening ? opening : await yearFigures(edition, indicator, asked);
  return mapOfYear(indicator, held, opening, outlines);
}

/** In the classes of the year that pages open on. The map of a series that may only be shown says figures of that year alone. */
export function mapOfYear(
  indicator: IndicatorRecord,
  held: YearFigures,
  opening: YearFigures,
  outlines?: string,
): MapPicture | undefined {
  const { year, figures } = held;
  if (figures.length === 0) return undefined;
  const { unit, access_tier } = indicator;
  const hasTitles = access_tier === 'open' || year === opening.year;
  return {
    drawing: worldMap(held, {
      unit,
      outlines,
      hasTitles,
      classed: opening.figures.map(({ value }) => value),
    }),
    labels: pictureLabels(indicator, [year, year]),
  };
}

export async function linesPicture(
  edition: Edition,
  indicator: IndicatorRecord,
  countries: readonly CountryRecord[],
): Promise<Picture | undefined> {
  const held = await histories(edition, indicator, countries);
  const years = held.flatMap(({ points }) => points.map(({ year }) => year));
  if (years.length === 0) return undefined;
  return {
    drawing: lineChart(held, indicator.unit),
    labels: pictureLabels(indicator, [Math.min(...years), Math.max(...years)]),
  };
}

/** @param around the country in the middle; default the first ones of the ranking */
export async function barsPicture(
  edition: Edition,
  indicator: IndicatorRecord,
  around: CountryRecord | undefined,
): Promise<Picture | undefined> {
  const held = await openingFigures(edition, indicator);
  if (held === null) return undefined;
  return {
    drawing: barChart(held, { unit: indicator.unit, around: around?.iso3 }),
    labels: pictureLabels(indicator, [held.year, held.year]),
  };
}

/**
 * The newest year that both indicators have, and how many countries have both figures of it.
 * @param chosen countries that are named
 */
export async function scatterPicture(
  edition: Edition,
  [across, up]: readonly [IndicatorRecord, IndicatorRecord],
  chosen: readonly CountryRecord[],
): Promise<(Picture & { year: number; count: number }) | undefined> {
  const [first, second] = await Promise.all([openingYear(edition, across), openingYear(edition, up)]);
  if (first === null || second === null) return undefined;
  const year = Math.min(first, second);
  const [figuresAcross, figuresUp] = await Promise.all([
    yearFigures(edition, across, year),
    yearFigures(edition, up, year),
  ]);
  const pairs = pairFigures(figuresAcross, figuresUp);
  if (pairs.length === 0) return undefined;
  const codes = chosen.map(({ iso3 }) => iso3);
  const sources = new Set([across, up].map((each) => pictureLabels(each, [year, year]).source));
  return {
    year,
    count: pairs.length,
    drawing: scatterChart(pairs, { across: axisTitle(across), up: axisTitle(up), chosen: codes }),
    labels: {
      title: `${up.name} and ${across.name}`,
      subtitle: String(year),
      source: [...sources].join('; '),
    },
  };
}

const axisTitle = ({ name, unit }: IndicatorRecord): string =>
  unit === null || isSaidBy(unit, name) ? name : `${name} (${unit})`;
