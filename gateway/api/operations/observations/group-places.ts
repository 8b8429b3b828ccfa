/** Groups as places: those of which the build made the figures, and those that a caller makes. */
import {
  containmentsOf,
  type GroupFigure,
  type GroupMember,
  groupFigures,
  type OrderMethod,
  orderFigures,
  type YearValues,
  yearValues,
} from '../../../../data/derived/aggregate.ts';
import type { EditionGroups, GroupColumns } from '../../../../data/schema/groups.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { GROUP_MARK } from '../parameters/place-names.ts';

export type OwnMethod = 'declared' | OrderMethod;

/** What is known of a group in one series. */
export interface HeldGroup {
  columns: GroupColumns;
  method: string;
  /**
   * Figures that a row takes of each member that counts; null where the row itself is what is paid. Of members that the
   * caller chose, whether enough is covered tells how large a figure is, so such rows are never left out.
   */
  figuresPerMember: number | null;
  /** What each figure is divided by, where it is. */
  divisors?: readonly number[];
}

/** A group as a place of rows. */
export interface GroupPlace {
  /** As the column `group` and the filter by places name it. */
  code: string;
  name: string;
  /** ISO3 codes. */
  members: readonly string[];
  /** Null where the edition has nothing of it. @param by the series that sums are divided by */
  read(record: IndicatorRecord, by: string | null): Promise<HeldGroup | null>;
}

/** A group of which the build made the figures. Sums that are divided are made for each call, of members that have both. */
export const declaredGroup = (
  edition: Edition,
  { territories }: EditionGroups,
  { id: group, name, members }: EditionGroups['groups'][number],
): GroupPlace => ({
  code: GROUP_MARK + group,
  name,
  members,
  async read({ id }, by) {
    const stored = await edition.groupFigures(id);
    const columns = stored?.groups[group];
    if (!stored || !columns) return null;
    const held = { columns, method: stored.aggregate, figuresPerMember: null };
    if (by === null) return held;
    const containments = [id, by].flatMap((one) => containmentsOf(territories, one));
    const series = { id, by, divisor: stored.divisor };
    const found = groupFigures('sum', await readMembers(edition, members.toSorted(), series), containments);
    const isHidden = (year: number) => columns.reason?.[columns.year.indexOf(year)] === 'withheld';
    const shown = found.map(
      (figure): GroupFigure =>
        isHidden(figure.year) ? { ...figure, value: null, coverage: 0, reason: 'withheld' } : figure,
    );
    return { ...held, columns: columnsOf(shown), divisors: shown.map(({ divisor = 0 }) => divisor) };
  },
});

/**
 * A group of the caller's own: its figures are made of those of its members for each call, by the rules of the build.
 * @param members ISO3 codes, sorted
 */
export const ownGroup = (
  edition: Edition,
  { territories }: EditionGroups,
  members: readonly string[],
  method: OwnMethod,
): GroupPlace => ({
  code: members.join(','),
  name: members.join(','),
  members,
  async read({ id }) {
    if (method !== 'declared') {
      const own = await readMembers(edition, members, { id, divisor: null, by: null });
      return { columns: columnsOf(orderFigures(method, own)), method, figuresPerMember: 1 };
    }
    const stored = await edition.groupFigures(id);
    if (stored === null) throw new Error(`${id} does not aggregate`);
    const { aggregate, divisor } = stored;
    const weighed = aggregate === 'mean' && divisor !== null ? [id, divisor] : [id];
    const containments = weighed.flatMap((one) => containmentsOf(territories, one));
    const own = await readMembers(edition, members, { id, divisor, by: null });
    const found = groupFigures(aggregate, own, containments);
    return { columns: columnsOf(found), method: aggregate, figuresPerMember: weighed.length };
  },
});

/** @param series of the figures, of the divisors, and that by which sums are divided */
async function readMembers(
  edition: Edition,
  members: readonly string[],
  series: { id: string; divisor: string | null; by: string | null },
): Promise<GroupMember[]> {
  const read = (id: string | null) => (id === null ? null : readValues(edition, id, members));
  const [figures, divisors, by] = await Promise.all([read(series.id), read(series.divisor), read(series.by)]);
  return members.map((iso3) => ({
    iso3,
    hidden: null,
    figures: figures?.get(iso3) ?? null,
    divisors: divisors?.get(iso3) ?? null,
    ...(by && { by: by.get(iso3) ?? null }),
  }));
}

/** By ISO3, of the countries that the edition shows and that have a figure. */
async function readValues(
  edition: Edition,
  id: string,
  members: readonly string[],
): Promise<ReadonlyMap<string, YearValues>> {
  const countries = members.filter((iso3) => edition.countriesByCode.has(iso3));
  const held = await edition.observations.columns(id, { countries });
  const { year, value, projected } = held.columns;
  const found = new Map<string, YearValues>();
  for (const iso3 of countries) {
    const rows = [];
    for (const { start, end } of held.select({ countries: [iso3] }))
      for (let at = start; at < end; at += 1) {
        const figure = value[at] ?? Number.NaN;
        if (Number.isNaN(figure)) continue;
        rows.push({ year: year[at] ?? 0, value: figure, projected: projected[at] === 1 });
      }
    const values = yearValues(rows);
    if (values !== null) found.set(iso3, values);
  }
  return found;
}

const columnsOf = (found: readonly GroupFigure[]): GroupColumns => ({
  year: found.map(({ year }) => year),
  value: found.map(({ value }) => value),
  members: found.map(({ members }) => members),
  counted: found.map(({ counted }) => counted),
  coverage: found.map(({ coverage }) => coverage),
  projected: found.map(({ projected }) => projected),
  reason: found.map(({ reason }) => reason),
});
