/** Pictures for link previews: of the service, of an indicator and of a country. */

import { type CardFigure, countryCard, titleCard } from '../charts/card.ts';
import { measureText } from '../charts/drawing.ts';
import { standAlone } from '../charts/frame.ts';
import { findCountry, type ProfileTopic, readProfile } from '../country-profile.ts';
import { defineAsset } from '../page.ts';
import { mapPicture } from '../pictures.ts';
import { pngAsset } from '../png-asset.ts';
import { shownIndicator } from '../subjects.ts';

const service = defineAsset({
  path: '/card.png',
  make: (input) =>
    pngAsset('card', input, async () => {
      const { edition } = input;
      const { indicators } = await edition.wholeCatalogue();
      const counts = `${indicators.size} indicators of ${edition.countries.length} countries, each figure with its source`;
      return titleCard('Country data you can cite, compare and compute with', counts);
    }),
});

const indicator = defineAsset({
  path: '/indicators/{indicator_id}/card.png',
  pathParameters: { indicator_id: { description: 'Indicator id' } },
  async make(input) {
    const { edition, path } = input;
    const record = await shownIndicator(edition, path.indicator_id);
    if (record === undefined) return undefined;
    return pngAsset('indicator card', input, async () => {
      const map = await mapPicture(edition, record, {});
      return map ? standAlone(map, 'card') : titleCard(record.name, record.attribution);
    });
  },
});

const country = defineAsset({
  path: '/countries/{iso3}/card.png',
  pathParameters: { iso3: { description: 'ISO3, ISO2 or M49 code' } },
  async make(input) {
    const { edition, path } = input;
    const record = findCountry(edition, path.iso3 ?? '');
    if (record === undefined) return undefined;
    return pngAsset('country card', input, async () =>
      countryCard(record, cardFigures(await readProfile(edition, record.iso3, 1))),
    );
  },
});

/** One of each topic, featured ones first. */
const cardFigures = (topics: readonly ProfileTopic[]): CardFigure[] =>
  topics
    .flatMap(({ items }) => items)
    .toSorted((a, b) => Number(b.featured) - Number(a.featured))
    .flatMap(({ name, unit, year, value }) =>
      value === null ? [] : [{ name, text: `${measureText(value, unit)} (${year})` }],
    );

export const cards = [service, indicator, country];
