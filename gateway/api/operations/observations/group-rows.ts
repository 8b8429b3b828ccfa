/**
 * Rows of groups as places, before those of countries: what the build made of the figures of their members. Under
 * transforms, the group is summed first, and years are compared only where the same members count.
 */
import { derive, type Figure, type History } from '../../../../data/derived/derivation.ts';
import { divisorHistory } from '../../../../data/derived/recompute.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import {
  type Edition,
  IndicatorColumns,
  type Omission,
  type RowFilter,
  SelectedRows,
} from '../../snapshot/snapshot.ts';
import {
  type DerivedRows,
  NO_HISTORY,
  NO_RANKS,
  placeHistory,
  readHistories,
  toColumns,
} from './derived-rows.ts';
import type { GroupPlace, HeldGroup } from './group-places.ts';
import type { Place, RowDetail, RowSource } from './row-source.ts';

export class GroupRows implements RowSource {
  readonly groups: readonly Place[];
  readonly #edition: Edition;
  readonly #asked: ReadonlyMap<string, GroupPlace>;
  readonly #countries: RowSource;
  readonly #derived: DerivedRows | undefined;
  /** What rows were put together from: those of groups, and after them those of countries. */
  readonly #combined = new WeakMap<
    IndicatorColumns,
    { countries: SelectedRows; groups: readonly RowDetail[] }
  >();

  /** @param countries where the rows of countries come from @param derived the same, under transforms */
  constructor(edition: Edition, asked: readonly GroupPlace[], countries: RowSource, derived?: DerivedRows) {
    this.#edition = edition;
    const sorted = asked.toSorted((a, b) => (a.code < b.code ? -1 : 1));
    this.#asked = new Map(sorted.map((group) => [group.code, group]));
    this.#countries = countries;
    this.#derived = derived;
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
      const held = asked.includes(code) ? await group.read(record, this.#divisorOf(record)) : null;
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

  /** The series by which a figure of a group is divided. */
  #divisorOf({ id }: IndicatorRecord): string | null {
    return this.#derived?.derivationOf(id).divisor?.record.id ?? null;
  }

  async #history(id: string, { members }: GroupPlace, held: HeldGroup): Promise<History> {
    const { columns } = held;
    const plain = placeHistory(columns, 0);
    if (this.#derived === undefined) return plain;
    const { transforms, entry, divisor } = this.#derived.derivationOf(id);
    const inputs = [entry, divisor].flatMap((one) => one?.record.id ?? []);
    const own = await Promise.all(inputs.map((one) => readHistories(this.#edition, one, members)));
    const hasAll = (iso3: string, year: number): boolean =>
      own.every((histories) => hasValue(histories.get(iso3), year));
    const counted = columns.year.map((year) => members.filter((iso3) => hasAll(iso3, year)).join(' '));
    const by = {
      divisor: divisorHistory(columns.year.map((year, at) => ({ year, divisor: held.divisors?.[at] ?? 0 }))),
      scales: { series: entry.traits.scale, divisor: divisor?.traits.scale ?? 0 },
    };
    const start: History = { ...plain, counted };
    return transforms.reduce((history, transform) => derive(history, transform, by), start);
  }
}

const NO_COUNTRY = {
  iso3: null,
  iso2: null,
  m49: null,
  official_name: null,
  region: null,
  subregion: null,
  income_group: null,
  wb_code: null,
  capital: null,
  wikidata_id: null,
  flag_emoji: null,
};
const NO_DETAIL: RowDetail = { iso3: '', year: 0, status: null, ...NO_RANKS };

function detailOf({ status, reason }: Figure, held: HeldGroup, at: number): RowDetail {
  const { columns, method, figuresPerMember } = held;
  const [members = 0, counted = 0, coverage = 0] = [columns.members, columns.counted, columns.coverage].map(
    (column) => column[at],
  );
  const price = figuresPerMember === null ? 1 : Math.max(1, counted * figuresPerMember);
  return {
    iso3: '',
    year: columns.year[at] ?? 0,
    status,
    reason,
    ...NO_RANKS,
    group: { members, counted, coverage: wholePercent(coverage), method, price },
  };
}

/** Rounded down: six digits of it would tell the figure of a member that is missing. */
const wholePercent = (share: number): number => Math.floor(Math.round(share * 1e6) / 1e4) / 100;

const hasValue = ({ years, figures }: History = NO_HISTORY, year: number): boolean => {
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
