/** `get_data`: figures of some series for some countries and years. */
import { z } from 'zod';
import type { AsOf, Planned } from '../../operations/operations.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { type Refusal, withFigures } from '../answer.ts';
import { countRows } from '../figure-tables.ts';
import {
  askFigures,
  exportRefused,
  type FiguresAsked,
  figuresAnswer,
  priceOfOne,
  sourceOf,
} from '../figures.ts';
import { findIndicators } from '../indicators.ts';
import { missingFigures } from '../missing-figures.ts';
import { cursorArgument, type Page } from '../pages.ts';
import { type AskedPlaces, aggregateOf, findPlaces, type GroupsAs } from '../places.ts';
import { answerPlan, asOfArgument, defineTool, derivedArguments, listArgument } from '../tool.ts';

const INDICATORS_MAX = 10;
export const PLACES_MAX = 60;

export const indicatorsArgument = (max: number) => listArgument(max).describe('Ids from find_indicators');
export const placesDescription =
  'Countries by name or code, and groups such as `@eu`. Ambiguous names are asked back';

interface Asked {
  countries?: string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  latest?: number | undefined;
  transform?: string | undefined;
  groups?: GroupsAs | undefined;
  as_of?: AsOf | undefined;
}

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
    const ids = found.records.map(({ id }) => id);
    return planFigures(question(ids, asked, places), { ...about, refusals, places });
  },
});

/** Without years, the newest measured ones are meant. */
function question(
  indicators: readonly string[],
  { from, to, latest, transform, groups }: Asked,
  places: AskedPlaces | undefined,
): FiguresAsked {
  const newest = from === undefined && to === undefined ? 1 : undefined;
  const aggregate = aggregateOf(places, groups);
  const years = { from, to, latest: latest ?? newest };
  return { indicators, countries: places?.countries, ...years, transform, aggregate };
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

async function planFigures(asked: FiguresAsked, about: About): Promise<Planned> {
  const { edition, places, page } = about;
  const asking = await askFigures(about, asked, page.skip);
  if (asking.kind !== 'figures') return asking;
  const { found, figures, rows, price, indicators } = asking;
  const missing = await missingFigures(found, asked, asking.held, edition, places);
  const refusals = [...about.refusals, ...missing];
  const held = { rows, price, asked };
  const answer = figuresAnswer({ ...about, ...sourceOf(found), figures, refusals, held });
  const given = countRows(answer.figures);
  return answerPlan(answer, { price: Math.max(1, given) * priceOfOne(asking), rows: given, indicators });
}
