/** `/pricing`: what is free, the packs, and what calls cost, worked out on the served edition. */
import type { CreditPack } from '../../../data/schema/curated.ts';
import { DOWNLOADS_PER_HOUR } from '../../api/metering/metering.ts';
import {
  country,
  data,
  isPriced,
  OPERATIONS,
  type Operation,
  rankings,
  receipts,
} from '../../api/operations/operations.ts';
import { type Edition, type ExampleFigures, exampleFigures } from '../../api/snapshot/snapshot.ts';
import { callCost, callPath, FILE_PLACES_MAX, type PlannedCall } from '../calls.ts';
import { definePage } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

export const pricing = (facts: ServiceFacts): Operation =>
  definePage({
    path: '/pricing',
    async show({ edition }) {
      return {
        template: 'pricing.njk',
        title: 'Pricing',
        description:
          'Looking is free, and so is a file of what you see. A figure by call costs one credit; credits come in packs and do not expire.',
        section: 'pricing',
        canonical: '/pricing',
        data: {
          facts,
          free: { filesPerHour: DOWNLOADS_PER_HOUR, places: FILE_PLACES_MAX },
          packs: facts.packs.map(packOnSale),
          examples: await workedExamples(edition),
          operations: OPERATIONS.filter(isPriced),
        },
      };
    },
  });

const THOUSAND = 1_000;

const packOnSale = (pack: CreditPack): CreditPack & { perThousand_minor: number } => ({
  ...pack,
  perThousand_minor: Math.round((pack.price_minor / pack.credits) * THOUSAND),
});

/** None in an edition without an open, ranked indicator. */
async function workedExamples(edition: Edition): Promise<{ what: string; call: string; price: number }[]> {
  const { observations } = edition;
  const values = await exampleFigures({ catalogue: await edition.wholeCatalogue(), observations });
  if (values === null) return [];
  const worked = exampleCalls(values).map(async ([what, call]) => {
    const cost = await callCost(edition, call);
    return cost === null ? [] : [{ what, call: callPath(call), price: cost.price }];
  });
  return (await Promise.all(worked)).flat();
}

function exampleCalls({ indicator, countries, from, to }: ExampleFigures): [string, PlannedCall][] {
  const [first] = countries;
  if (first === undefined) return [];
  const { id, name } = indicator;
  const codes = countries.map(({ iso3 }) => iso3).join(',');
  const names = countries.map((one) => one.name).join(', ');
  return [
    [`All countries ranked: ${name}, ${to}`, { operation: rankings, path: { indicator: id } }],
    [
      `The latest figure of every indicator of ${first.name}`,
      { operation: country, path: { iso3: first.iso3 } },
    ],
    [
      `${name}: ${names}, ${from}–${to}`,
      { operation: data, query: `indicator=${id}&countries=${codes}&from=${from}&to=${to}` },
    ],
    [`${name}: every country and year`, { operation: data, query: `indicator=${id}` }],
    [
      'The proof of one figure, to verify offline',
      { operation: receipts, query: `indicator=${id}&country=${first.iso3}&year=${to}` },
    ],
  ];
}
