/** Pictures of an indicator that stand alone: map and lines. */
import { z } from 'zod';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { oneOf } from '../../../operations/parameters.ts';
import type { Edition } from '../../../snapshot/edition.ts';
import { labelsOf, standAlone } from '../charts/frame.ts';
import { lineChart } from '../charts/lines.ts';
import { worldMap } from '../charts/map.ts';
import { defineAsset } from '../page.ts';
import { countryCodes, year } from '../parameters.ts';
import { histories, latestYear, yearFigures } from '../series.ts';
import { chosenCountries, shownIndicator } from '../subjects.ts';

const SVG = 'image/svg+xml';
const pathParameters = { indicator_id: { description: 'Indicator id' } };
const size = oneOf(['wide', 'square']).optional();

type PictureSize = 'wide' | 'square';

interface MapQuery {
  year?: number | undefined;
  size?: PictureSize | undefined;
}

/** Undefined where no country has a figure of the year. */
async function drawMap(
  edition: Edition,
  indicator: IndicatorRecord,
  { year: asked, size: shape = 'wide' }: MapQuery,
): Promise<string | undefined> {
  const latest = latestYear(indicator);
  const shown = asked ?? latest;
  if (shown === null) return undefined;
  const figures = await yearFigures(edition, indicator, shown);
  if (figures.figures.length === 0) return undefined;
  const map = worldMap(figures, { unit: indicator.unit, outlines: undefined, hasTitles: shown === latest });
  return standAlone(map, labelsOf(indicator, [shown, shown]), shape);
}

interface LinesQuery {
  countries?: string[] | undefined;
  size?: PictureSize | undefined;
}

/** Undefined where none of the countries has a figure. */
async function drawLines(
  edition: Edition,
  indicator: IndicatorRecord,
  { countries, size: shape = 'wide' }: LinesQuery,
): Promise<string | undefined> {
  const chosen = await chosenCountries(edition, indicator, countries);
  const shown = (await histories(edition, indicator, chosen)).filter(({ points }) => points.length > 0);
  if (shown.length === 0) return undefined;
  const years = shown.flatMap(({ points }) => points.map((point) => point.year));
  const labels = labelsOf(indicator, [Math.min(...years), Math.max(...years)]);
  return standAlone(lineChart(shown, indicator.unit), labels, shape);
}

const asSvg = (text: string | undefined) =>
  text === undefined ? undefined : { bytes: Buffer.from(text), mediaType: SVG };

const mapPicture = defineAsset({
  path: '/indicators/{indicator_id}/map.svg',
  pathParameters,
  query: z.object({ year: year().optional(), size }),
  async make({ edition, path, query }) {
    const indicator = await shownIndicator(edition, path.indicator_id);
    return indicator && asSvg(await drawMap(edition, indicator, query));
  },
});

const linesPicture = defineAsset({
  path: '/indicators/{indicator_id}/lines.svg',
  pathParameters,
  query: z.object({ countries: countryCodes().optional(), size }),
  async make({ edition, path, query }) {
    const indicator = await shownIndicator(edition, path.indicator_id);
    return indicator && asSvg(await drawLines(edition, indicator, query));
  },
});

export const pictures = [mapPicture, linesPicture];
