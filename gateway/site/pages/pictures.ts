/**
 * Pictures that stand alone, as SVG and PNG for downloads; one of them in a frame for other sites (`/embed/indicators/{id}`);
 * and the pictures of link previews.
 */
import { z } from 'zod';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { type Operation, oneOf, type QuerySchema, text } from '../../api/operations/operations.ts';
import { ASSET_PATHS } from '../assets.ts';
import { countryCard, titleCard } from '../charts/card.ts';
import { measureText } from '../charts/drawing.ts';
import { type Picture, pageChart, pageMap, standAlone } from '../charts/frame.ts';
import { type Asset, defineAsset, definePage, missingPage, type PageInput } from '../page.ts';
import { barsPicture, linesPicture, mapPicture, scatterPicture } from '../pictures.ts';
import { pngAsset } from '../png.ts';
import { chosenCountries, findCountry, picturedCountries, shownIndicator, year } from '../subjects.ts';
import { countryTopics } from './country.ts';

const SVG = 'image/svg+xml';
const size = oneOf(['wide', 'square']).optional();

/** What the address of a picture of one indicator says about it. */
const ASKED = {
  map: { year: year().optional() },
  lines: { countries: picturedCountries().optional() },
  bars: { around: picturedCountries(1).optional() },
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

/** Draws the indicator of the path; undefined where there is nothing to show. */
const ofIndicator =
  <Query, Drawn>(draw: (input: PageInput<Query>, indicator: IndicatorRecord) => Promise<Drawn | undefined>) =>
  async (input: PageInput<Query>): Promise<Drawn | undefined> => {
    const indicator = await shownIndicator(input.edition, input.path.indicator_id);
    return indicator && draw(input, indicator);
  };

const drawLines = ofIndicator(
  async ({ edition, query }: PageInput<{ countries?: string[] | undefined }>, indicator) =>
    linesPicture(edition, indicator, await chosenCountries(edition, indicator, query.countries)),
);

const drawBars = ofIndicator(
  async ({ edition, query }: PageInput<{ around?: string[] | undefined }>, indicator) =>
    barsPicture(edition, indicator, edition.countriesByCode.get(query.around?.[0] ?? '')),
);

const drawMap = (outlines?: string) =>
  ofIndicator(async ({ edition, query }: PageInput<{ year?: number | undefined }>, indicator) =>
    mapPicture(edition, indicator, query.year, outlines),
  );

export const pictures: readonly Operation[] = [
  ...definePicture('/indicators/{indicator_id}/map', z.object({ ...ASKED.map, size }), drawMap()),
  ...definePicture('/indicators/{indicator_id}/lines', z.object({ ...ASKED.lines, size }), drawLines),
  ...definePicture('/indicators/{indicator_id}/bars', z.object({ ...ASKED.bars, size }), drawBars),
  ...definePicture(
    '/compare/scatter',
    z.object({ indicators: text(), ...ASKED.lines, size }),
    async ({ edition, query }) => {
      const [across = '', up = ''] = query.indicators.split(',');
      const both = await Promise.all([shownIndicator(edition, across), shownIndicator(edition, up)]);
      if (both[0] === undefined || both[1] === undefined) return undefined;
      const chosen = await chosenCountries(edition, both[0], query.countries);
      return scatterPicture(edition, [both[0], both[1]], chosen);
    },
  ),
];

const FRAME_ID = 'picture';

export const embed = definePage({
  path: '/embed/indicators/{indicator_id}',
  query: z.object({
    picture: oneOf(['map', 'lines', 'bars']).optional(),
    ...{ ...ASKED.map, ...ASKED.lines, ...ASKED.bars },
  }),
  async show(input) {
    const { edition, path, query } = input;
    const asked = path.indicator_id ?? '';
    const map = query.picture === undefined || query.picture === 'map';
    const drawnMap = map ? await drawMap(ASSET_PATHS.outlines)(input) : undefined;
    const drawn = map ? drawnMap : await (query.picture === 'lines' ? drawLines : drawBars)(input);
    const indicator = await shownIndicator(edition, asked);
    if (indicator === undefined || drawn === undefined)
      return missingPage('indicator', asked, { path: '/indicators', label: 'All indicators' });
    const { labels, drawing } = drawn;
    return {
      template: 'embed.njk',
      title: indicator.name,
      description: labels.title,
      section: 'none',
      isEmbeddable: true,
      data: {
        labels,
        chart: (map ? pageMap : pageChart)(drawing, labels, FRAME_ID),
        legend: drawnMap?.drawing.legend ?? [],
        link: `/indicators/${indicator.id}`,
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
      value === null ? [] : [{ name, text: `${measureText(value, unit)} (${of})` }],
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
    make: ofIndicator((input, indicator) =>
      pngAsset('indicator card', input, async () => {
        const map = await mapPicture(input.edition, indicator, undefined);
        return map ? standAlone(map, 'card') : titleCard(indicator.name, indicator.attribution);
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
