/** `get_data`: figures of some series for some countries and years. */
import { z } from 'zod';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { AsOf, Planned } from '../../operations/operations.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { type Refusal, withFigures } from '../answer.ts';
import { countRows } from '../figure-tables.ts';
import { askFigures, exportRefused, type FiguresAsked, figuresAnswer, missingFigures } from '../figures.ts';
import { findIndicators } from '../indicators.ts';
import { cursorArgument, type Page } from '../pages.ts';
import { type AskedPlaces, findPlaces } from '../places.ts';
import { answerPlan, asOfArgument, defineTool, listArgument } from '../tool.ts';

const INDICATORS_MAX = 10;
export const PLACES_MAX = 60;

export const indicatorsArgument = (max: number) => listArgument(max).describe('Ids from find_indicators');
export const placesDescription =
  'Countries by name or code, and groups such as `@eu`: a group stands for its members. Ambiguous names are asked back';

interface Asked {
  countries?: string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  latest?: number | undefined;
  as_of?: AsOf | undefined;
}

export const getDataTool = defineTool({
  name: 'get_data',
  title: 'Get figures',
  description:
    'Exact figures of up to 10 indicators for countries and years, each with unit, year, status, source and licence. Without ' +
    '`from`, `to` and `latest`: the newest measured figure of each country. What is not held is refused with the nearest ' +
    'years held, and must not be filled in.',
  priceText: '1 credit per figure, at least 1',
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
    as_of: asOfArgument,
    cursor: cursorArgument,
  }),
  answer: z.object(withFigures),
  empty: { figures: [], series: [], refusals: [] },
  asOf: ({ as_of }) => as_of,
  async plan({ snapshot, query: { indicators, ...asked }, publicUrl }, page) {
    const found = await findIndicators(indicators, snapshot);
    const places = asked.countries && findPlaces(asked.countries, snapshot);
    const refusals = [...(places?.refusals ?? []), ...found.refusals];
    const about = { edition: snapshot, publicUrl, as_of: asked.as_of?.sent, groups: places?.groups, page };
    if (found.records.length === 0 || places?.countries.length === 0)
      return answerPlan(figuresAnswer({ ...about, records: [], figures: [], refusals }));
    const restricted = exportRefused(found.records, publicUrl);
    if (restricted !== null) return restricted;
    return planFigures(found.records, question(found.records, asked, places), { ...about, refusals, places });
  },
});

/** Without years, the newest measured ones are meant. */
function question(
  records: readonly IndicatorRecord[],
  { from, to, latest }: Asked,
  places: AskedPlaces | undefined,
): FiguresAsked {
  const newest = from === undefined && to === undefined ? 1 : undefined;
  const indicators = records.map(({ id }) => id);
  return { indicators, countries: places?.countries, from, to, latest: latest ?? newest };
}

interface About {
  edition: Edition;
  publicUrl: string;
  as_of: string | undefined;
  groups: AskedPlaces['groups'] | undefined;
  refusals: Refusal[];
  places: AskedPlaces | undefined;
  page: Page;
}

async function planFigures(records: IndicatorRecord[], asked: FiguresAsked, about: About): Promise<Planned> {
  const { edition, places, page } = about;
  const asking = await askFigures(about, records, asked, page.skip);
  if (asking.kind !== 'figures') return asking;
  const { figures, rows, price, indicators } = asking;
  const missing = await missingFigures(records, asked, asking.held, edition, places);
  const refusals = [...about.refusals, ...missing];
  const answer = figuresAnswer({
    ...about,
    records,
    figures,
    refusals,
    held: { rows, price, asked },
  });
  const given = countRows(answer.figures);
  const charge = { price: given === rows ? price : Math.max(1, given), rows: given, indicators };
  return answerPlan(answer, charge);
}
