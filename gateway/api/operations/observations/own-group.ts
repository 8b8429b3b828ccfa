/** A group of the caller's own: its figures are made of those of its members for each call, by the rules of the build. */
import {
  containmentsOf,
  type GroupFigure,
  type GroupMember,
  groupFigures,
  type YearValues,
  yearValues,
} from '../../../../data/derived/aggregate.ts';
import type { History } from '../../../../data/derived/derivation.ts';
import { type OrderMethod, orderFigures } from '../../../../data/derived/order-figures.ts';
import type { EditionGroups, GroupColumns } from '../../../../data/schema/groups.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { readHistories } from './derived-rows.ts';
import type { GroupPlace, HeldGroup } from './group-rows.ts';

export type OwnMethod = 'declared' | OrderMethod;

export class OwnGroup implements GroupPlace {
  readonly code: string;
  readonly name: string;
  readonly members: readonly string[];
  readonly #edition: Edition;
  readonly #territories: EditionGroups['territories'];
  readonly #method: OwnMethod;

  /** @param members ISO3 codes, sorted */
  constructor(
    edition: Edition,
    { territories }: EditionGroups,
    members: readonly string[],
    method: OwnMethod,
  ) {
    this.code = members.join(',');
    this.name = this.code;
    this.members = members;
    this.#edition = edition;
    this.#territories = territories;
    this.#method = method;
  }

  async read({ id }: IndicatorRecord): Promise<HeldGroup> {
    const method = this.#method;
    if (method !== 'declared') {
      const found = orderFigures(method, await this.#readMembers(id, null));
      return { columns: columnsOf(found), method, figuresPerMember: 1 };
    }
    const stored = await this.#edition.groupFigures(id);
    if (stored === null) throw new Error(`${id} does not aggregate`);
    const { aggregate, divisor } = stored;
    const weighed = aggregate === 'mean' && divisor !== null ? [id, divisor] : [id];
    const containments = weighed.flatMap((one) => containmentsOf(this.#territories, one));
    const found = groupFigures(aggregate, await this.#readMembers(id, divisor), containments);
    return { columns: columnsOf(found), method: aggregate, figuresPerMember: weighed.length };
  }

  async #readMembers(id: string, divisor: string | null): Promise<GroupMember[]> {
    const figures = await readHistories(this.#edition, id, this.members);
    const divisors = divisor === null ? null : await readHistories(this.#edition, divisor, this.members);
    return this.members.map((iso3) => ({
      ...{ iso3, hidden: null },
      figures: valuesOf(figures.get(iso3)),
      divisors: valuesOf(divisors?.get(iso3)),
    }));
  }
}

const valuesOf = (history: History | undefined): YearValues | null =>
  history === undefined
    ? null
    : yearValues(
        history.figures.flatMap(({ value, projected }, at) =>
          value === null ? [] : [{ year: history.years[at] ?? 0, value, projected }],
        ),
      );

const columnsOf = (found: readonly GroupFigure[]): GroupColumns => ({
  year: found.map(({ year }) => year),
  value: found.map(({ value }) => value),
  members: found.map(({ members }) => members),
  counted: found.map(({ counted }) => counted),
  coverage: found.map(({ coverage }) => coverage),
  projected: found.map(({ projected }) => projected),
  reason: found.map(({ reason }) => reason),
});
