/** `get_data`: figures of some series for some countries and years. */
import { z } from 'zod';
import { withFigures } from '../answer.ts';
import { countRows } from '../figure-tables.ts';
import { askFigures, exportRefused, figuresAnswer, priceOfOne, sourceOf } from '../figures.ts';
import { findIndicators } from '../indicators.ts';
import { missingFigures } from '../missing-figures.ts';
import { cursorArgument } from '../pages.ts';
import { aggregateOf, findPlaces } from '../places.ts';
import { answerPlan, asOfArgument, defineTool, derivedArguments, listArgument } from '../tool.ts';

const INDICATORS_MAX = 10;
export const PLACES_MAX = 60;

export const indicatorsArgument = (max: number) => listArgument(max).describe('Ids from find_indicators');
export const placesDescription =
  'Countries by name or code, and groups such as `@eu`. Ambiguous names are asked back';

export const getDataTool = defineTool({
  name: 'get_data',
  title: 'Get figures',
  description:
    'Exact figures of up to 10 indicators for countries and years, each with unit, year, status, source and licence. Without ' +
    '`from`, `to` and `latest`: the newest measured figure of each country. What is not held is refused with the nearest ' +
    'years held, and must not be filled in.',
  priceText: '1 credit per figure, at least 1; 2 with per_head or per',
  arguments: z.object({
    indicators: indicatorsArgument(INDICATORS_MAX),
    countries: listArgument(PLACES_MAX).optional().describe(`${placesDescription}. Default: all countries`),
    from: z.int().optional().describe('First year'),
    to: z.int().optional().describe('Last year'),
    latest: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe('Only so many of the newest measured years of each country'),
    ...derivedArguments,
    as_of: asOfArgument,
    cursor: cursorArgument,
  }),
  answer: z.object(withFigures),
  empty: { figures: [], series: [], refusals: [] },
  async plan({ snapshot, query: { indicators, ...asked }, publicUrl }, page) {
    const found = await findIndicators(indicators, snapshot);
    const places = asked.countries && findPlaces(asked.countries, snapshot, asked.groups);
    const refusals = [...(places?.refusals ?? []), ...found.refusals];
    const about = { edition: snapshot, publicUrl, as_of: asked.as_of?.sent, groups: places?.groups, page };
    if (found.records.length === 0 || places?.countries.length === 0)
      return answerPlan(figuresAnswer({ ...about, records: [], figures: [], refusals }));
    const restricted = exportRefused(found.records, publicUrl);
    if (restricted !== null) return restricted;
    const { from, to, transform } = asked;
    // Without years, the newest measured ones are meant.
    const newest = from === undefined && to === undefined ? 1 : undefined;
    const question = {
      indicators: found.records.map(({ id }) => id),
      countries: places?.countries,
      from,
      to,
      latest: asked.latest ?? newest,
      transform,
      aggregate: aggregateOf(places, asked.groups),
    };
    const answered = await askFigures(about, question, page.skip);
    if (answered.kind !== 'figures') return answered;
    const { rows, price, figures } = answered;
    const missing = await missingFigures(answered.found, question, answered.held, snapshot, places);
    const answer = figuresAnswer({
      ...about,
      ...sourceOf(answered.found),
      figures,
      refusals: [...refusals, ...missing],
      held: { rows, price, asked: question },
    });
    const given = countRows(answer.figures);
    const charge = { price: Math.max(1, given) * priceOfOne(answered), rows: given };
    return answerPlan(answer, { ...charge, indicators: answered.indicators });
  },
});
