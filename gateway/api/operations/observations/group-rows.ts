/**
 * Rows of groups as places, before those of countries: what the build made of the figures of their members. Under
 * transforms, the group is summed first, and years are compared only where the same members count.
 */
import { derive, type Figure, type History } from '../../../../data/derived/derivation.ts';
import type { Transform } from '../../../../data/derived/transforms.ts';
import type { EditionGroups, GroupColumns, StoredGroups } from '../../../../data/schema/groups.ts';
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

type AskedGroup = EditionGroups['groups'][number];

/** Rows of countries after those of groups, and what they were put together from. */
interface Combined {
  countries: SelectedRows;
  groups: readonly RowDetail[];
}

export class GroupRows implements RowSource {
  readonly groups: readonly Place[];
  readonly #edition: Edition;
  readonly #asked: readonly AskedGroup[];
  readonly #countries: RowSource;
  readonly #transforms: readonly Transform[];
  readonly #combined = new WeakMap<IndicatorColumns, Combined>();

  /** @param countries where the rows of countries come from */
  constructor(
    edition: Edition,
    asked: readonly AskedGroup[],
    countries: RowSource,
    transforms: readonly Transform[] = [],
  ) {
    this.#edition = edition;
    this.#asked = asked.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    this.#countries = countries;
    this.#transforms = transforms;
    this.groups = this.#asked.map(({ id, name }) => ({ ...NO_COUNTRY, group: GROUP_MARK + id, name }));
  }

  async select(record: IndicatorRecord, filter: RowFilter, omission: Omission): Promise<SelectedRows> {
    const asked = filter.countries ?? [];
    const codes = asked.filter((code) => !code.startsWith(GROUP_MARK));
    const countries = await this.#countries.select(record, { ...filter, countries: codes }, {});
    const stored = await this.#edition.groupFigures(record.id);
    const histories = new Map<string, History>();
    const details: RowDetail[] = [];
    for (const group of this.#asked) {
      const code = GROUP_MARK + group.id;
      const held = stored?.groups[group.id];
      if (stored === null || held === undefined || !asked.includes(code)) continue;
      const history = await this.#history(record.id, group, held);
      histories.set(code, history);
      details.push(...history.figures.map((figure, at) => detailOf(figure, held, at, stored)));
    }
    const columns = joined(toColumns(histories), countries);
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
    const codes = filter.countries?.filter((code) => !code.startsWith(GROUP_MARK)) ?? [];
    const { groups, countries } = combined;
    const own = await this.#countries.details(record, countries, { ...filter, countries: codes });
    const all = [...groups, ...own];
    return Array.from(at, (position) => all[position] ?? NO_DETAIL);
  }

  async #history(id: string, { members }: AskedGroup, held: GroupColumns): Promise<History> {
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

const detailOf = (
  { status, reason }: Figure,
  held: GroupColumns,
  at: number,
  { aggregate }: StoredGroups,
): RowDetail => ({
  ...{ iso3: '', year: held.year[at] ?? 0, status, reason, ...NO_RANKS },
  group: {
    members: held.members[at] ?? 0,
    counted: held.counted[at] ?? 0,
    coverage: held.coverage[at] ?? 0,
    method: aggregate,
  },
});

const hasValue = ({ years, figures }: History, year: number): boolean => {
  const at = Array.prototype.indexOf.call(years, year);
  return at >= 0 && (figures[at]?.value ?? null) !== null;
};

/** The rows of groups, and after them those of countries. */
function joined(groups: IndicatorColumns, { held, at, country }: SelectedRows): IndicatorColumns {
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
    },
    [...groups.countries, ...present.map((one) => held.countries[one] ?? '')],
    Uint32Array.from([...groups.starts.slice(0, -1), ...starts, rows]),
  );
}
