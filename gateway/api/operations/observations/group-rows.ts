/**
 * Rows of groups as places, before those of countries: what the build made of the figures of their members. Under
 * transforms, the group is summed first, and years are compared only where the same members count.
 */
import { derive, type Figure, type History } from '../../../../data/derived/derivation.ts';
import type { Transform } from '../../../../data/derived/transforms.ts';
import type { EditionGroups, GroupColumns } from '../../../../data/schema/groups.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import {
  type Edition,
  IndicatorColumns,
  type Omission,
  type RowFilter,
  SelectedRows,
} from '../../snapshot/snapshot.ts';
import { GROUP_MARK } from '../parameters/place-names.ts';
import { placeHistory, readHistories, toColumns } from './derived-rows.ts';
import type { Place, RowDetail, RowSource } from './row-source.ts';

/** What is known of a group in one series. */
export interface HeldGroup {
  columns: GroupColumns;
  method: string;
  /**
   * Figures that a row takes of each member that counts; null where the row itself is what is paid. Of members that the
   * caller chose, whether enough is covered tells how large a figure is, so such rows are never left out.
   */
  figuresPerMember: number | null;
}

/** A group as a place of rows. */
export interface GroupPlace {
  /** As the column `group` and the filter by places name it. */
  code: string;
  name: string;
  /** ISO3 codes. */
  members: readonly string[];
  /** Null where the edition has nothing of it. */
  read(record: IndicatorRecord): Promise<HeldGroup | null>;
}

/** A group of which the build made the figures. */
export class DeclaredGroup implements GroupPlace {
  readonly code: string;
  readonly name: string;
  readonly members: readonly string[];
  readonly #id: string;
  readonly #edition: Edition;

  constructor(edition: Edition, { id, name, members }: EditionGroups['groups'][number]) {
    this.code = GROUP_MARK + id;
    this.name = name;
    this.members = members;
    this.#id = id;
    this.#edition = edition;
  }

  async read({ id }: IndicatorRecord): Promise<HeldGroup | null> {
    const stored = await this.#edition.groupFigures(id);
    const columns = stored?.groups[this.#id];
    return stored && columns ? { columns, method: stored.aggregate, figuresPerMember: null } : null;
  }
}

/** Rows of countries after those of groups, and what they were put together from. */
interface Combined {
  countries: SelectedRows;
  groups: readonly RowDetail[];
}

export class GroupRows implements RowSource {
  readonly groups: readonly Place[];
  readonly #edition: Edition;
  readonly #asked: ReadonlyMap<string, GroupPlace>;
  readonly #countries: RowSource;
  readonly #transforms: readonly Transform[];
  readonly #combined = new WeakMap<IndicatorColumns, Combined>();

  /** @param countries where the rows of countries come from */
  constructor(
    edition: Edition,
    asked: readonly GroupPlace[],
    countries: RowSource,
    transforms: readonly Transform[] = [],
  ) {
    this.#edition = edition;
    const sorted = asked.toSorted((a, b) => (a.code < b.code ? -1 : 1));
    this.#asked = new Map(sorted.map((group) => [group.code, group]));
    this.#countries = countries;
    this.#transforms = transforms;
    this.groups = sorted.map(({ code, name }) => ({ ...NO_COUNTRY, group: code, name }));
  }

  async select(record: IndicatorRecord, filter: RowFilter, omission: Omission): Promise<SelectedRows> {
    const asked = filter.countries ?? [];
    const codes = asked.filter((code) => !this.#asked.has(code));
    const countries = await this.#countries.select(record, { ...filter, countries: codes }, {});
    const histories = new Map<string, History>();
    const details: RowDetail[] = [];
    const kept: number[] = [];
    for (const [code, group] of this.#asked) {
      const held = asked.includes(code) ? await group.read(record) : null;
      if (held === null) continue;
      const history = await this.#history(record.id, group, held);
      histories.set(code, history);
      details.push(...history.figures.map((figure, at) => detailOf(figure, held, at)));
      kept.push(...history.figures.map(() => Number(held.figuresPerMember !== null)));
    }
    const columns = joined(toColumns(histories), kept, countries);
    this.#combined.set(columns, { countries, groups: details });
    return new SelectedRows(columns, filter, omission);
  }

  async details(
    record: IndicatorRecord,
    { held, at }: SelectedRows,
    filter: RowFilter,
  ): Promise<readonly RowDetail[]> {
    const combined = this.#combined.get(held);
    if (combined === undefined) throw new Error('rows of another source');
    const codes = filter.countries?.filter((code) => !this.#asked.has(code)) ?? [];
    const { groups, countries } = combined;
    const own = await this.#countries.details(record, countries, { ...filter, countries: codes });
    const all = [...groups, ...own];
    return Array.from(at, (position) => all[position] ?? NO_DETAIL);
  }

  /** What rows cost: one each, or one for each figure of a member that they take. */
  priceOf({ held, at }: SelectedRows): number {
    const groups = this.#combined.get(held)?.groups ?? [];
    return at.reduce((sum, position) => sum + (groups[position]?.group?.price ?? 1), 0);
  }

  async #history(id: string, { members }: GroupPlace, { columns: held }: HeldGroup): Promise<History> {
    const plain = placeHistory(held, 0);
    if (this.#transforms.length === 0) return plain;
    const own = await readHistories(this.#edition, id, members);
    const counted = held.year.map((year) =>
      [...own].flatMap(([iso3, history]) => (hasValue(history, year) ? [iso3] : [])).join(' '),
    );
    return this.#transforms.reduce<History>((history, transform) => derive(history, transform), {
      ...plain,
      counted,
    });
  }
}

const NO_COUNTRY = {
  ...{ iso3: null, iso2: null, m49: null, official_name: null, region: null, subregion: null },
  ...{ income_group: null, wb_code: null, capital: null, wikidata_id: null, flag_emoji: null },
};
const NO_RANKS = { rank_delta_1y: null, rank_lo: null, rank_hi: null };
const NO_DETAIL: RowDetail = { iso3: '', year: 0, status: null, ...NO_RANKS };

function detailOf({ status, reason }: Figure, held: HeldGroup, at: number): RowDetail {
  const { columns, method, figuresPerMember } = held;
  const [members = 0, counted = 0, coverage = 0] = [columns.members, columns.counted, columns.coverage].map(
    (column) => column[at],
  );
  const price = figuresPerMember === null ? 1 : Math.max(1, counted * figuresPerMember);
  return {
    ...{ iso3: '', year: columns.year[at] ?? 0, status, reason, ...NO_RANKS },
    group: { members, counted, coverage: wholePercent(coverage), method, price },
  };
}

/** Rounded down: six digits of it would tell the figure of a member that is missing. */
const wholePercent = (share: number): number => Math.floor(Math.round(share * 1e6) / 1e4) / 100;

const hasValue = ({ years, figures }: History, year: number): boolean => {
  const at = Array.prototype.indexOf.call(years, year);
  return at >= 0 && (figures[at]?.value ?? null) !== null;
};

/** The rows of groups, and after them those of countries. */
function joined(
  groups: IndicatorColumns,
  kept: readonly number[],
  { held, at, country }: SelectedRows,
): IndicatorColumns {
  const own = held.columns;
  const numbers = <Column extends Float64Array | Int32Array | Int16Array | Uint8Array>(
    into: Column,
    first: ArrayLike<number>,
    then: ArrayLike<number>,
  ): Column => {
    into.set(first);
    for (const [row, position] of at.entries()) into[groups.rows + row] = then[position] ?? 0;
    return into;
  };
  const rows = groups.rows + at.length;
  const { columns } = groups;
  const none = new Float64Array(groups.rows).fill(Number.NaN);
  const present = [...new Set(country)];
  const starts = present.map((one) => groups.rows + country.indexOf(one));
  return new IndicatorColumns(
    {
      year: numbers(new Int32Array(rows), columns.year, own.year),
      value: numbers(new Float64Array(rows), columns.value, own.value),
      ciLo: own.ciLo && numbers(new Float64Array(rows), none, own.ciLo),
      ciHi: own.ciHi && numbers(new Float64Array(rows), none, own.ciHi),
      rank: numbers(new Int16Array(rows), columns.rank, own.rank),
      rankDelta: numbers(new Int16Array(rows), columns.rankDelta, own.rankDelta),
      projected: numbers(new Uint8Array(rows), columns.projected, own.projected),
      kept: numbers(new Uint8Array(rows), kept, []),
    },
    [...groups.countries, ...present.map((one) => held.countries[one] ?? '')],
    Uint32Array.from([...groups.starts.slice(0, -1), ...starts, rows]),
  );
}
