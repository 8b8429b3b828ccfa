/** Rows of derived series: the years that the series has in each country, with what the transforms make of them. */
import {
  breaksOf,
  derive,
  type Figure,
  type FoundBreak,
  type History,
  SHARE_COVERAGE,
} from '../../../../data/derived/derivation.ts';
import type { Transform } from '../../../../data/derived/transforms.ts';
import type { GroupColumns } from '../../../../data/schema/groups.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import {
  type CatalogueEntry,
  type Edition,
  IndicatorColumns,
  NO_DELTA,
  NO_RANK,
  type Omission,
  type RowFilter,
  SelectedRows,
} from '../../snapshot/snapshot.ts';
import { GROUPS, servedMembers } from '../parameters/place-names.ts';
import type { RowDetail, RowSource } from './row-source.ts';

/** One series under transforms. */
export interface Derivation {
  entry: CatalogueEntry;
  transforms: readonly Transform[];
  /** What it is divided by. */
  divisor: CatalogueEntry | null;
  /** The record of the result: the series with the unit and the direction of what is derived. */
  record: IndicatorRecord;
}

/** By ISO3, in its order. */
type Histories = ReadonlyMap<string, History>;

export class DerivedRows implements RowSource {
  readonly #edition: Edition;
  readonly #derivations: ReadonlyMap<string, Derivation>;
  /** The figures of each row of what was derived. */
  readonly #figures = new WeakMap<IndicatorColumns, readonly Figure[]>();

  constructor(edition: Edition, derivations: readonly Derivation[]) {
    this.#edition = edition;
    this.#derivations = new Map(derivations.map((one) => [one.record.id, one]));
  }

  async select({ id }: IndicatorRecord, filter: RowFilter, omission: Omission): Promise<SelectedRows> {
    return new SelectedRows(await this.columns(id, filter.countries), filter, omission);
  }

  async details(_: IndicatorRecord, { held, at, country }: SelectedRows): Promise<RowDetail[]> {
    const figures = this.#figures.get(held);
    return Array.from(at, (position, row) => ({
      iso3: held.countries[country[row] ?? 0] ?? '',
      year: held.columns.year[position] ?? 0,
      status: figures?.[position]?.status ?? null,
      reason: figures?.[position]?.reason ?? null,
      ...NO_RANKS,
    }));
  }

  derivationOf(id: string): Derivation {
    const derivation = this.#derivations.get(id);
    if (derivation === undefined) throw new Error(`${id} is not derived`);
    return derivation;
  }

  /** All years of some countries. @param countries sorted; default all */
  async columns(id: string, countries?: readonly string[]): Promise<IndicatorColumns> {
    const derived = await deriveHistories(this.#edition, this.derivationOf(id), countries);
    const columns = toColumns(derived);
    const figures = [...derived.values()].flatMap((history) => history.figures);
    this.#figures.set(columns, figures);
    return columns;
  }
}

export const NO_RANKS = { rank_delta_1y: null, rank_lo: null, rank_hi: null } as const;

async function deriveHistories(
  edition: Edition,
  { entry, divisor, transforms }: Derivation,
  asked: readonly string[] | undefined,
): Promise<Histories> {
  const group = transforms.flatMap((one) => (one.name === 'share' ? [one.group] : []))[0];
  const countries = group === undefined ? asked : membersAmong(group, asked, edition);
  let histories = await readHistories(edition, entry.record.id, countries);
  const divisors = divisor && (await readHistories(edition, divisor.record.id, countries));
  let whole = group === undefined ? undefined : await groupHistory(edition, entry.record.id, group);
  const scales = { series: entry.traits.scale, divisor: divisor?.traits.scale ?? 0 };
  for (const transform of transforms) {
    const under = ([iso3, history]: [string, History]): [string, History] => [
      iso3,
      derive(history, transform, { divisor: divisors?.get(iso3), scales, whole }),
    ];
    histories = new Map([...histories].map(under));
    if (whole !== undefined && transform.name !== 'share') whole = derive(whole, transform);
  }
  return histories;
}

/** A share has rows of members alone. */
function membersAmong(id: string, asked: readonly string[] | undefined, edition: Edition): string[] {
  const group = GROUPS.get(id);
  const members = group === undefined ? [] : servedMembers(group, edition);
  return asked === undefined ? members : members.filter((iso3) => asked.includes(iso3));
}

/** The sum of a group as a place, where enough of it is covered. */
async function groupHistory(edition: Edition, id: string, group: string): Promise<History> {
  const held = (await edition.groupFigures(id))?.groups[group];
  return held === undefined ? NO_HISTORY : placeHistory(held, SHARE_COVERAGE);
}

export const NO_HISTORY: History = { years: [], figures: [], breaks: [] };

/** The figures of a group as those of a place; where less is covered, there is none. */
export function placeHistory(held: GroupColumns, leastCoverage: number): History {
  const figures = held.year.map((_, at): Figure => {
    const value = held.value[at] ?? null;
    const isCovered = (held.coverage[at] ?? 0) >= leastCoverage;
    const reason = value === null ? (held.reason?.[at] ?? 'coverage') : isCovered ? null : 'coverage';
    const projected = held.projected?.[at] ?? false;
    return { value: reason === null ? value : null, reason, status: null, projected };
  });
  return { years: held.year, figures, breaks: [] };
}

/** What an edition has of a series, of the countries that it shows. */
export async function readHistories(
  edition: Edition,
  id: string,
  asked: readonly string[] | undefined,
): Promise<Histories> {
  const { countriesByCode, observations } = edition;
  const countries = asked?.filter((iso3) => countriesByCode.has(iso3));
  const filter = countries === undefined ? {} : { countries };
  const { columns, statuses } = await observations.histories(id, filter);
  const shown = columns.countries.filter(
    (iso3) => countriesByCode.has(iso3) && (countries === undefined || countries.includes(iso3)),
  );
  const lists = await edition.additions(['breaks'], [id]);
  const breaks: FoundBreak[] = JSON.parse(lists.json('breaks', id));
  return new Map(shown.map((iso3) => [iso3, toHistory(columns, iso3, statuses, breaks)]));
}

function toHistory(
  columns: IndicatorColumns,
  iso3: string,
  statuses: readonly (string | null)[] | null,
  found: readonly FoundBreak[],
): History {
  const [range = { start: 0, end: 0 }] = columns.select({ countries: [iso3] });
  const { year, value, projected } = columns.columns;
  const years = year.subarray(range.start, range.end);
  const figures = Array.from(years, (_, offset): Figure => {
    const at = range.start + offset;
    const figure = value[at] ?? Number.NaN;
    const status = statuses?.[at] ?? null;
    return {
      value: Number.isNaN(figure) ? null : figure,
      reason: null,
      status,
      projected: projected[at] === 1,
    };
  });
  return { years, figures, breaks: breaksOf(iso3, { years, figures }, found) };
}

/** Without bounds, ranks and changes of rank. */
export function toColumns(histories: Histories): IndicatorColumns {
  const countries = [...histories.keys()];
  const starts = new Uint32Array(countries.length + 1);
  for (const [at, { years }] of [...histories.values()].entries())
    starts[at + 1] = (starts[at] ?? 0) + years.length;
  const rows = starts[countries.length] ?? 0;
  const year = new Int32Array(rows);
  const figures = [...histories.values()].flatMap((history) => history.figures);
  for (const [at, { years }] of [...histories.values()].entries()) year.set(Array.from(years), starts[at]);
  const columns = {
    year,
    value: Float64Array.from(figures, ({ value }) => value ?? Number.NaN),
    ciLo: null,
    ciHi: null,
    rank: new Int16Array(rows).fill(NO_RANK),
    rankDelta: new Int16Array(rows).fill(NO_DELTA),
    projected: Uint8Array.from(figures, ({ projected }) => Number(projected)),
  };
  return new IndicatorColumns(columns, countries, starts);
}
