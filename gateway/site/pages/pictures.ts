/**
 * Pictures that stand alone, as SVG and PNG for downloads; one of them in a frame for other sites (`/embed/indicators/{id}`);
 * and the pictures of link previews.
 */
import { z } from 'zod';
import { type Operation, oneOf, type QuerySchema, text } from '../../api/operations/operations.ts';
import { ASSET_PATHS } from '../assets.ts';
import { countryCard, titleCard } from '../charts/card.ts';
import { measureText } from '../charts/drawing.ts';
import { type Picture, pageChart, pageMap, standAlone } from '../charts/frame.ts';
import { DERIVED, type ShownFigures, showFigures } from '../derived.ts';
import { isSaidBy } from '../figures.ts';
import { drawnLines } from '../indicator/shown-figures.ts';
import { withQuery } from '../lists.ts';
import { type Asset, defineAsset, definePage, missingPage, type PageInput } from '../page.ts';
import {
  barsPicture,
  type LinesView,
  linesPicture,
  mapClasses,
  mapPicture,
  scatterPicture,
  viewLines,
} from '../pictures.ts';
import { pngAsset } from '../png.ts';
import { histories, type ShownSeries } from '../series.ts';
import { chosenPlaces, findCountry, linesView, picturedPlaces, year } from '../subjects.ts';
import { countryTopics } from './country.ts';

const SVG = 'image/svg+xml';
const FRAME_ID = 'picture';
const size = oneOf(['wide', 'square']).optional();

/** What the address of a picture of one indicator says about it. */
const ASKED = {
  map: { year: year().optional(), ...DERIVED },
  lines: { countries: picturedPlaces().optional(), ...linesView(), ...DERIVED },
  bars: { around: picturedPlaces(1).optional(), year: year().optional(), ...DERIVED },
};

type Draw<Query> = (input: PageInput<Query>) => Promise<Picture | undefined>;

/** @param path without its extension */
function definePicture<Query extends { size?: 'wide' | 'square' | undefined }>(
  path: string,
  query: QuerySchema<Query>,
  draw: Draw<Query>,
): Operation[] {
  const document = async (input: PageInput<Query>): Promise<string | undefined> => {
    const picture = await draw(input);
    return picture && standAlone(picture, input.query.size ?? 'wide');
  };
  const svg = async (input: PageInput<Query>): Promise<Asset | undefined> => {
    const drawn = await document(input);
    return drawn === undefined ? undefined : { bytes: Buffer.from(drawn), mediaType: SVG };
  };
  const png = (input: PageInput<Query>) => pngAsset(path, input, () => document(input));
  return [
    defineAsset({ path: `${path}.svg`, query, make: svg }),
    defineAsset({ path: `${path}.png`, query, make: png }),
  ];
}

interface Sent {
  transform?: string | undefined;
  aggregate?: string | undefined;
  countries?: string[] | undefined;
}

/**
 * The figures of some indicators, by their ids of today or former ones; undefined where one may not be shown, or what is asked
 * of it makes no sense.
 */
async function picturedFigures(
  { edition, query }: PageInput<Sent>,
  ids: readonly (string | undefined)[],
): Promise<ShownFigures | undefined> {
  const found = await Promise.all(ids.map((id = '') => edition.indicator(edition.resolve(id).id)));
  const entries = found.filter((entry) => entry !== undefined);
  if (entries.length < ids.length) return undefined;
  const shown = await showFigures(edition, entries, query, query.countries);
  return shown.problems.length === 0 ? shown : undefined;
}

/** Draws the indicator of the path; undefined where there is nothing to show. */
const ofIndicator =
  <Query extends Sent, Drawn>(
    draw: (input: PageInput<Query>, series: ShownSeries, shown: ShownFigures) => Promise<Drawn | undefined>,
  ) =>
  async (input: PageInput<Query>): Promise<Drawn | undefined> => {
    const shown = await picturedFigures(input, [input.path.indicator_id]);
    const [series] = shown?.series ?? [];
    return shown && series && draw(input, series, shown);
  };

const drawLines = ofIndicator(async ({ edition, query }: PageInput<Sent & LinesView>, series, shown) => {
  const places = await chosenPlaces(edition, shown, query.countries);
  const { held, isLog, problems } = viewLines(await histories(series, places), query);
  return problems.length === 0 ? linesPicture(series, held, isLog) : undefined;
});

/** With the table from which a script reads them. */
const drawReadableLines = ofIndicator(async (input: PageInput<Sent & LinesView>, series, shown) => {
  const { edition, query } = input;
  const places = await chosenPlaces(edition, shown, query.countries);
  const lines = await drawnLines(series, places, FRAME_ID, query);
  const picture = await drawLines(input);
  return picture && { ...picture, lines, record: series.record, isExact: shown.formula === null };
});

const drawBars = ofIndicator(
  async (
    { edition, query }: PageInput<Sent & { around?: string[] | undefined; year?: number | undefined }>,
    series,
  ) => barsPicture(edition, series, query.around?.[0], query.year),
);

const drawMap = (outlines?: string) =>
  ofIndicator(async ({ edition, query }: PageInput<Sent & { year?: number | undefined }>, series) =>
    mapPicture(edition, series, query.year, outlines),
  );

export const pictures: readonly Operation[] = [
  ...definePicture('/indicators/{indicator_id}/map', z.object({ ...ASKED.map, size }), drawMap()),
  ...definePicture('/indicators/{indicator_id}/lines', z.object({ ...ASKED.lines, size }), drawLines),
  ...definePicture('/indicators/{indicator_id}/bars', z.object({ ...ASKED.bars, size }), drawBars),
  ...definePicture(
    '/compare/scatter',
    z.object({ indicators: text(), ...ASKED.lines, size }),
    async (input) => {
      const { edition, query } = input;
      const shown = await picturedFigures(input, query.indicators.split(',', 2));
      const [across, up] = shown?.series ?? [];
      if (shown === undefined || across === undefined || up === undefined) return undefined;
      return scatterPicture(edition, [across, up], await chosenPlaces(edition, shown, query.countries));
    },
  ),
];

/** The classes of a map in all years. */
export const mapClassesFile = defineAsset({
  path: '/indicators/{indicator_id}/classes.json',
  query: z.object(DERIVED),
  make: ofIndicator(async ({ edition }, series) => {
    const found = await mapClasses(edition, series);
    return (
      found && { bytes: Buffer.from(JSON.stringify(found)), mediaType: 'application/json; charset=utf-8' }
    );
  }),
});

export const embed = definePage({
  path: '/embed/indicators/{indicator_id}',
  query: z.object({
    picture: oneOf(['map', 'lines', 'bars']).optional(),
    ...ASKED.map,
    ...ASKED.lines,
    ...ASKED.bars,
  }),
  async show(input) {
    const { edition, path, query } = input;
    const asked = path.indicator_id ?? '';
    const { picture = 'map' } = query;
    const drawnMap = picture === 'map' ? await drawMap(ASSET_PATHS.outlines)(input) : undefined;
    const readable = picture === 'lines' ? await drawReadableLines(input) : undefined;
    const drawn = drawnMap ?? readable ?? (picture === 'bars' ? await drawBars(input) : undefined);
    const { id } = edition.resolve(asked);
    if (drawn === undefined)
      return missingPage('indicator', asked, { path: '/indicators', label: 'All indicators' });
    const { labels, drawing } = drawn;
    return {
      template: 'embed.njk',
      title: labels.title,
      description: labels.title,
      section: 'none',
      isEmbeddable: true,
      data: {
        labels,
        chart: drawnMap ? pageMap(drawnMap.drawing, labels, FRAME_ID) : pageChart(drawing, labels, FRAME_ID),
        readable: readable ?? null,
        legend: drawnMap?.drawing.legend ?? [],
        link: withQuery(`/indicators/${id}`, {
          ...query,
          picture: '',
          around: '',
          countries: query.countries?.join(),
        }),
      },
    };
  },
});

/** The figures of a country's card: one of each topic, featured ones first. */
async function cardFigures({ edition }: PageInput<unknown>, iso3: string) {
  const topics = await countryTopics(edition, iso3);
  return topics
    .flatMap(({ first }) => first(1))
    .toSorted((a, b) => Number(b.featured) - Number(a.featured))
    .flatMap(({ name, unit, year: of, value }) =>
      value === null
        ? []
        : [{ name, text: `${measureText(value, unit && isSaidBy(unit, name) ? null : unit)} (${of})` }],
    );
}

/** Pictures for link previews: of the service, of an indicator and of a country. */
export const cards: readonly Operation[] = [
  defineAsset({
    path: '/card.png',
    make: (input) =>
      pngAsset('card', input, async () => {
        const { indicators } = await input.edition.wholeCatalogue();
        const counts = `${indicators.size} indicators of ${input.edition.countries.length} countries, each figure with its source`;
        return titleCard('Country data you can cite, compare and compute with', counts);
      }),
  }),
  defineAsset({
    path: '/indicators/{indicator_id}/card.png',
    query: z.object(ASKED.map),
    make: ofIndicator((input: PageInput<Sent & { year?: number | undefined }>, series) =>
      pngAsset('indicator card', input, async () => {
        const map = await mapPicture(input.edition, series, input.query.year);
        const { name, attribution } = series.record;
        return map ? standAlone(map, 'card') : titleCard(name, attribution);
      }),
    ),
  }),
  defineAsset({
    path: '/countries/{iso3}/card.png',
    async make(input) {
      const country = findCountry(input.edition, input.path.iso3 ?? '');
      if (country === undefined) return undefined;
      return pngAsset('country card', input, async () =>
        countryCard(country, await cardFigures(input, country.iso3)),
      );
    },
  }),
];
