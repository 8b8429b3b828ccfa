/** The leaves of the tree of rules, by which figures of an edition are derived and whoever verifies them recomputes them. */
import type { FoundBreak } from '../../../data/derived/derivation.ts';
import type { RuleLeaf } from '../../../data/proofs/merkle-tree.ts';
import type { EditionGroups } from '../../../data/schema/groups.ts';
import type { MeasuredSeries } from '../../quality/quality.ts';

/** Territories, then groups by id, then series by id. @param breaks of series that have any */
export function ruleLeaves(
  { groups, territories }: EditionGroups,
  measured: ReadonlyMap<string, MeasuredSeries>,
  breaks: ReadonlyMap<string, FoundBreak[]>,
): RuleLeaf[] {
  const decided = territories.map(({ source: _, ...rest }) => rest);
  const byId = [...measured].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    { territories: decided },
    ...groups.map(({ id, members }) => ({ group: id, members: members.toSorted() })),
    ...byId.map(([indicator, { traits, divisor }]) => {
      const { measure, aggregate, population } = traits.measured;
      const rest = {
        divisor: aggregate === 'none' ? null : divisor,
        population,
        breaks: breaks.get(indicator) ?? [],
      };
      return { indicator, measure, scale: traits.scale, aggregate, ...rest };
    }),
  ];
}
