/** Pictures that stand alone, for downloads and for other sites. */
import { z } from 'zod';
import type { Operation, QuerySchema } from '../../api/operations/operation.ts';
import { oneOf, text } from '../../api/operations/parameters/parameters.ts';
import { type Picture, standAlone } from '../charts/frame.ts';
import { type Asset, defineAsset, type PageInput } from '../page.ts';
import { picturedCountries, year } from '../parameters.ts';
import { barsPicture, linesPicture, mapPicture, scatterPicture } from '../pictures.ts';
import { pngAsset } from '../png-asset.ts';
import { chosenCountries, shownIndicator } from '../subjects.ts';

const SVG = 'image/svg+xml';
const size = oneOf(['wide', 'square']).optional();
const ofIndicator = { indicator_id: { description: 'Indicator id' } };

interface Sized {
  size?: 'wide' | 'square' | undefined;
}

interface PictureDefinition<Query> {
  /** Without its extension. */
  path: string;
  pathParameters?: typeof ofIndicator;
  query: QuerySchema<Query>;
  draw(input: PageInput<Query>): Promise<Picture | undefined>;
}

function definePicture<Query extends Sized>({
  path,
  draw,
  ...definition
}: PictureDefinition<Query>): Operation[] {
  const document = async (input: PageInput<Query>): Promise<string | undefined> => {
    const picture = await draw(input);
    return picture && standAlone(picture, input.query.size ?? 'wide');
  };
  const svg = async (input: PageInput<Query>): Promise<Asset | undefined> => {
    const text = await document(input);
    return text === undefined ? undefined : { bytes: Buffer.from(text), mediaType: SVG };
  };
  return [
    defineAsset({ ...definition, path: `${path}.svg`, make: svg }),
    defineAsset({
      ...definition,
      path: `${path}.png`,
      make: (input) => pngAsset(path, input, () => document(input)),
    }),
  ];
}

const map = definePicture({
  path: '/indicators/{indicator_id}/map',
  pathParameters: ofIndicator,
  query: z.object({ year: year().optional(), size }),
  async draw({ edition, path, query }) {
    const indicator = await shownIndicator(edition, path.indicator_id);
    return indicator && mapPicture(edition, indicator, query);
  },
});

const lines = definePicture({
  path: '/indicators/{indicator_id}/lines',
  pathParameters: ofIndicator,
  query: z.object({ countries: picturedCountries().optional(), size }),
  async draw({ edition, path, query }) {
    const indicator = await shownIndicator(edition, path.indicator_id);
    if (indicator === undefined) return undefined;
    return linesPicture(edition, indicator, await chosenCountries(edition, indicator, query.countries));
  },
});

const bars = definePicture({
  path: '/indicators/{indicator_id}/bars',
  pathParameters: ofIndicator,
  query: z.object({ around: picturedCountries(1).optional(), size }),
  async draw({ edition, path, query }) {
    const indicator = await shownIndicator(edition, path.indicator_id);
    const around = edition.countriesByCode.get(query.around?.[0] ?? '');
    return indicator && barsPicture(edition, indicator, around);
  },
});

const scatter = definePicture({
  path: '/compare/scatter',
  query: z.object({ indicators: text(), countries: picturedCountries().optional(), size }),
  async draw({ edition, query }) {
    const [across = '', up = ''] = query.indicators.split(',');
    const both = await Promise.all([shownIndicator(edition, across), shownIndicator(edition, up)]);
    if (both[0] === undefined || both[1] === undefined) return undefined;
    const chosen = await chosenCountries(edition, both[0], query.countries);
    return scatterPicture(edition, [both[0], both[1]], chosen);
  },
});

export const pictures: readonly Operation[] = [...map, ...lines, ...bars, ...scatter];
