/** `/countries`: all countries by region, or those of a region, an income group or a group such as the EU. */
import { z } from 'zod';
import type { CountryRecord } from '../../../data/schema/records.ts';
import { GROUPS, servedMembers, text } from '../../api/operations/operations.ts';
import type { Edition } from '../../api/snapshot/snapshot.ts';
import { definePage } from '../page.ts';

const NO_REGION = 'Other places';

interface Filter {
  region?: string | undefined;
  income?: string | undefined;
  group?: string | undefined;
}

export const countries = definePage({
  path: '/countries',
  query: z.object({ region: text().optional(), income: text().optional(), group: text().optional() }),
  show({ edition, query }) {
    const all = edition.countries.map(({ record }) => record);
    const shown = matching(edition, all, query);
    const regions = [...Map.groupBy(shown, ({ region }) => region ?? NO_REGION)].sort(([a], [b]) =>
      compareRegions(a, b),
    );
    const group = query.group === undefined ? undefined : GROUPS.get(query.group);
    const isWhole = shown.length === all.length;
    return {
      template: 'countries.njk',
      title: group ? `Countries: ${group.name}` : 'Countries',
      description: `Profiles of ${all.length} countries: population, economy, health, education, environment and more, each figure with its source.`,
      section: 'countries',
      ...(isWhole && { canonical: '/countries' }),
      data: {
        regions: regions.map(([name, members]) => ({ name, members })),
        count: shown.length,
        choices: {
          regions: distinctNames(all, ({ region }) => region),
          incomes: distinctNames(all, ({ income_group }) => income_group),
          groups: [...GROUPS.values()].map((each) => ({
            ...each,
            count: servedMembers(each, edition).length,
          })),
        },
        chosen: { region: query.region ?? '', income: query.income ?? '', group: query.group ?? '' },
        group: group ?? null,
        isWhole,
      },
    };
  },
});

/** An empty choice is none: a form sends all its fields. */
function matching(
  edition: Edition,
  all: readonly CountryRecord[],
  { region, income, group }: Filter,
): CountryRecord[] {
  const known = group ? GROUPS.get(group) : undefined;
  const members = new Set(known === undefined ? [] : servedMembers(known, edition));
  return all.filter(
    (country) =>
      (!region || country.region === region) &&
      (!income || country.income_group === income) &&
      (!group || members.has(country.iso3)),
  );
}

const compareRegions = (a: string, b: string): number =>
  Number(a === NO_REGION) - Number(b === NO_REGION) || a.localeCompare(b, 'en');

const distinctNames = (
  all: readonly CountryRecord[],
  pick: (country: CountryRecord) => string | null,
): string[] => [...new Set(all.map(pick))].filter((name) => name !== null).sort();
