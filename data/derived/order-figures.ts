/** Median, least and greatest figure of the members of a group, in plain comparisons: every client gets the same bits. */
import type { GroupFigure, GroupMember } from './aggregate.ts';

export type OrderMethod = 'median' | 'min' | 'max';

/** By year, over the members with a figure. Coverage is their number by that of all; below two thirds there is no figure. */
export function orderFigures(method: OrderMethod, members: readonly GroupMember[]): GroupFigure[] {
  const spans = members.flatMap(({ figures }) => (figures === null ? [] : [figures]));
  const from = Math.min(...spans.map((span) => span.from));
  const to = Math.max(...spans.map((span) => span.from + span.values.length - 1));
  const found: GroupFigure[] = [];
  for (let year = from; year <= to; year += 1) {
    const own = spans.filter(({ from: first, values }) => !Number.isNaN(values[year - first] ?? Number.NaN));
    const counted = own.length;
    if (counted === 0) continue;
    const ordered = own.map((span) => span.values[year - span.from] ?? 0).sort((a, b) => a - b);
    const isCovered = counted * 3 >= members.length * 2;
    found.push({
      ...{ year, counted, members: members.length },
      value: isCovered ? picked(method, ordered) : null,
      coverage: Math.round((counted / members.length) * 1e6) / 1e6,
      projected: own.some((span) => span.projected[year - span.from] === 1),
      reason: isCovered ? null : 'coverage',
    });
  }
  return found;
}

/** @param ordered ascending; of an even number, the median is half of the sum of the two in the middle. */
function picked(method: OrderMethod, ordered: readonly number[]): number {
  const last = ordered.length - 1;
  const at = (index: number): number => ordered[index] ?? 0;
  if (method === 'median')
    return last % 2 === 0 ? at(last / 2) : (at((last - 1) / 2) + at((last + 1) / 2)) / 2;
  return method === 'min' ? at(0) : at(last);
}
