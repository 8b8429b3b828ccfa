/** Figures of groups of countries in a snapshot, and the groups that they are of. */
import { z } from 'zod';
import { countryGroup, territory } from './curated.ts';
import { indicatorId, iso3 } from './records.ts';

/** Kept file of no single provider: the groups with their members, and which places may count within others. */
export const GROUPS = 'groups.json';
export const editionGroups = z.object({
  groups: z.array(
    countryGroup.pick({ id: true, name: true, source: true, as_of: true }).extend({
      /** Served countries by ISO3. */
      members: z.array(iso3),
    }),
  ),
  territories: z.array(territory),
});
export type EditionGroups = z.infer<typeof editionGroups>;

/** Kept file of a series that has figures of groups. */
export const groupFiguresFile = (indicatorId: string): string => `groups/${indicatorId}.json`;

/** The figures of a group by year, as `GroupFigure` in data/derived/aggregate.ts. */
const groupColumns = z.object({
  year: z.array(z.int()),
  value: z.array(z.number().nullable()),
  members: z.array(z.int()),
  counted: z.array(z.int()),
  coverage: z.array(z.number()),
  /** Null where no year is projected. */
  projected: z.array(z.boolean()).nullable(),
  /** Null where every year has a value. */
  reason: z.array(z.enum(['coverage', 'territory', 'withheld']).nullable()).nullable(),
});
export type GroupColumns = z.infer<typeof groupColumns>;

/** How far derived figures are from those that the provider publishes, over groups and years with full coverage. */
export const aggregateDeviation = z.object({
  cells: z.int(),
  /** In %, relative to the provider's figure; of rates and growth below 1 % in points. */
  median: z.number(),
  p95: z.number(),
});
export type AggregateDeviation = z.infer<typeof aggregateDeviation>;

export const storedGroups = z.object({
  aggregate: z.enum(['sum', 'mean']),
  /** The weights of a mean; of a sum the population by which members without any figure count in the coverage. */
  divisor: indicatorId.nullable(),
  /** Null for a provider without figures of its own for these groups. */
  deviation: aggregateDeviation.nullable(),
  /** By group id; groups of which no member has a figure are absent. */
  groups: z.record(z.string(), groupColumns),
});
export type StoredGroups = z.infer<typeof storedGroups>;
