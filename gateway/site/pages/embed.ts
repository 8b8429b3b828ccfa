/** `/embed/indicators/{indicator_id}`: one picture of an indicator, for frames of other sites. */
import { z } from 'zod';
import type { IndicatorRecord } from '../../../data/schema/records.ts';
import { oneOf } from '../../api/operations/parameters/parameters.ts';
import { ASSET_PATHS } from '../assets.ts';
import { type Labels, pageChart, pageMap } from '../charts/frame.ts';
import type { LegendEntry } from '../charts/map.ts';
import { missingPage } from '../missing.ts';
import { definePage, type PageInput } from '../page.ts';
import { picturedCountries, year } from '../parameters.ts';
import { barsPicture, linesPicture, mapPicture } from '../pictures.ts';
import { chosenCountries, shownIndicator } from '../subjects.ts';

const ID = 'picture';

const query = z.object({
  picture: oneOf(['map', 'lines', 'bars']).optional(),
  year: year().optional(),
  countries: picturedCountries().optional(),
  around: picturedCountries(1).optional(),
});
type Input = PageInput<z.output<typeof query>>;

interface Embedded {
  labels: Labels;
  /** `svg` elements. */
  chart: string;
  legend: readonly LegendEntry[];
}

export const embed = definePage({
  path: '/embed/indicators/{indicator_id}',
  pathParameters: { indicator_id: { description: 'Indicator id', schema: { minLength: 1 } } },
  query,
  async show(input) {
    const asked = input.path.indicator_id ?? '';
    const indicator = await shownIndicator(input.edition, asked);
    const shown = indicator && (await draw(input, indicator));
    if (indicator === undefined || shown === undefined)
      return missingPage('indicator', asked, { path: '/indicators', label: 'All indicators' });
    return {
      template: 'embed.njk',
      title: indicator.name,
      description: shown.labels.title,
      section: 'none',
      isEmbeddable: true,
      data: { ...shown, link: `/indicators/${indicator.id}` },
    };
  },
});

/** Undefined where there is nothing to show. */
async function draw(
  { edition, query: sent }: Input,
  indicator: IndicatorRecord,
): Promise<Embedded | undefined> {
  if (sent.picture === 'lines') {
    const chosen = await chosenCountries(edition, indicator, sent.countries);
    return onPage(await linesPicture(edition, indicator, chosen));
  }
  if (sent.picture === 'bars') {
    const around = edition.countriesByCode.get(sent.around?.[0] ?? '');
    return onPage(await barsPicture(edition, indicator, around));
  }
  const map = await mapPicture(edition, indicator, { year: sent.year, outlines: ASSET_PATHS.outlines });
  if (map === undefined) return undefined;
  const { drawing, labels } = map;
  return { labels, chart: pageMap(drawing, labels, ID), legend: drawing.legend };
}

const onPage = (picture: Awaited<ReturnType<typeof linesPicture>>): Embedded | undefined =>
  picture && {
    labels: picture.labels,
    chart: pageChart(picture.drawing, picture.labels, ID),
    legend: [],
  };
