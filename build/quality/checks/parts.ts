/**
 * Parts of one whole: two or three shares of a provider that add up to 100 % nearly everywhere, and do not somewhere. The
 * figures themselves tell which series are such parts, so no night before is needed.
 */
import { z } from 'zod';
import { sqlOf } from '../../../data/runtime/sql-files.ts';
import type { FoundDoubt } from '../../../data/schema/quality.ts';
import { iso3 } from '../../../data/schema/records.ts';
import {
  andMore,
  type CheckContext,
  type CheckedSeries,
  countryName,
  doubtAbout,
  figure,
  type QualityCheck,
  quote,
} from '../check.ts';
import { valueRange } from './values.ts';

const sql = sqlOf(import.meta.url);

const WHOLE = 100;
/** Parts are rounded one by one. */
const ROUNDING = 0.5;
/** A sum this far away is no rounding. */
const OFF = 2;
const FEWEST_COUNTRIES = 20;
/** Of countries in the latest year, and of all figures. */
const MOST_OFF = 0.1;

const latest = z.object({ id: z.string(), iso3, year: z.int(), value: z.number() });
type Latest = z.infer<typeof latest>;
const cell = z.object({ iso3, year: z.int(), values: z.array(z.number()) });
type Cell = z.infer<typeof cell>;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const isWhole = (values: readonly number[]): boolean => Math.abs(sum(values) - WHOLE) <= ROUNDING;
const isOff = ({ values }: Cell): boolean => Math.abs(sum(values) - WHOLE) > OFF;

/** The medians of parts add up to nearly the whole. Testing them first spares most triples. */
const MEDIANS_OFF = 20;

/** A series with its latest shares. Countries with their years are numbered over all series of a provider and unit. */
interface Candidate {
  id: string;
  median: number;
  /** The numbers of its own countries and years. */
  keys: readonly number[];
  /** By number; NaN where it has none. Millions of triples are tried: looked up in maps, they took minutes. */
  values: Float64Array;
}

function candidatesOf(shares: readonly CheckedSeries[], rows: ReadonlyMap<string, Latest[]>): Candidate[] {
  const numbers = new Map<string, number>();
  const numbered = shares.map(({ record: { id }, statistics: { median } }) => {
    const own = (rows.get(id) ?? []).map(({ iso3, year, value }) => {
      const key = `${iso3} ${year}`;
      const number = numbers.get(key) ?? numbers.size;
      numbers.set(key, number);
      return { number, value };
    });
    return { id, median: median ?? Number.NaN, own };
  });
  return numbered.map(({ own, ...about }) => {
    const values = new Float64Array(numbers.size).fill(Number.NaN);
    for (const { number, value } of own) values[number] = value;
    return { ...about, keys: own.map(({ number }) => number), values };
  });
}

/** Whether series add up to the whole in nearly all countries, and not because one of them is all or nothing. */
function areParts(parts: readonly [Candidate, ...Candidate[]]): boolean {
  const { keys } = parts[0];
  let [common, off, mixed] = [0, 0, 0];
  for (const key of keys) {
    let [total, least] = [0, Number.POSITIVE_INFINITY];
    for (const { values } of parts) {
      const value = values[key] ?? Number.NaN;
      total += value;
      if (value < least) least = value;
    }
    if (Number.isNaN(total)) continue;
    common += 1;
    if (least > ROUNDING) mixed += 1;
    if (Math.abs(total - WHOLE) > ROUNDING) off += 1;
    if (off > 2 && off > MOST_OFF * keys.length) return false;
  }
  return common >= FEWEST_COUNTRIES && off <= MOST_OFF * common && mixed >= common / 2;
}

const areNear = (medians: number): boolean => Math.abs(medians - WHOLE) <= MEDIANS_OFF;

/** Pairs of the series of one provider and unit, then triples without any of them. */
function findParts(candidates: readonly Candidate[]): string[][] {
  const found: string[][] = [];
  const add = (...parts: [Candidate, ...Candidate[]]): void => {
    if (areParts(parts)) found.push(parts.map(({ id }) => id).sort());
  };
  for (const [at, a] of candidates.entries())
    for (const b of candidates.slice(at + 1)) if (areNear(a.median + b.median)) add(a, b);
  const paired = new Set(found.flat());
  const rest = candidates.filter(({ id }) => !paired.has(id));
  for (const [i, a] of rest.entries())
    for (let j = i + 1; j < rest.length; j += 1)
      for (let k = j + 1; k < rest.length; k += 1) {
        const [b, c] = [rest[j] as Candidate, rest[k] as Candidate];
        if (areNear(a.median + b.median + c.median)) add(a, b, c);
      }
  return found;
}

/** The part that left its usual level most, where the country adds up in other years; else null. */
function findCulprit(parts: readonly string[], off: readonly Cell[], right: readonly Cell[]): string | null {
  const level = (cells: readonly Cell[], part: number): number =>
    sum(cells.map(({ values }) => Math.max(values[part] ?? 0, 0.01))) / cells.length;
  if (right.length < off.length) return null;
  const moves = parts.map((_, part) => Math.abs(Math.log(level(off, part) / level(right, part))));
  return parts[moves.indexOf(Math.max(...moves))] ?? null;
}

function partsDoubts(context: CheckContext, parts: readonly string[], cells: readonly Cell[]): FoundDoubt[] {
  const right = cells.filter(({ values }) => isWhole(values));
  if (right.length < (1 - MOST_OFF) * cells.length) return [];
  const names = parts.map((id) => quote(context.series.get(id)?.record.name ?? id)).join(' and ');
  const byCountry = Map.groupBy(cells, (one) => one.iso3);
  const byCulprit = new Map<string | null, Cell[]>();
  for (const own of byCountry.values()) {
    const off = own.filter(isOff);
    const usual = own.filter(({ values }) => isWhole(values));
    // A country in which something else is part of the whole, too, never adds up to more.
    if (off.length === 0 || (usual.length < off.length && off.every(({ values }) => sum(values) < WHOLE)))
      continue;
    const culprit = findCulprit(parts, off, usual);
    byCulprit.set(culprit, [...(byCulprit.get(culprit) ?? []), ...off]);
  }
  return [...byCulprit].map(([culprit, off]) => {
    const countries = [...new Set(off.map((one) => one.iso3))].sort();
    const years = off.map(({ year }) => year);
    const distance = ({ values }: Cell): number => Math.abs(sum(values) - WHOLE);
    const [worst] = off.toSorted((a, b) => distance(b) - distance(a));
    const place = `${countryName(context.curated, worst?.iso3 ?? '')} in ${worst?.year}`;
    const message = `${names} add up to 100 % nearly everywhere, but to ${figure(sum(worst?.values ?? []))} % in ${place}${andMore(countries)}.`;
    const [id = '', other = null] = culprit === null ? parts.toSorted() : [culprit];
    return doubtAbout('parts_not_whole', id, message, off.length, {
      other,
      countries,
      years: [Math.min(...years), Math.max(...years)],
    });
  });
}

const isShare = ({ record, statistics }: CheckedSeries): boolean =>
  valueRange(record).type === 'share' &&
  (statistics.min ?? -1) >= 0 &&
  statistics.latest_countries >= FEWEST_COUNTRIES;

async function findUnequalSums(context: CheckContext): Promise<FoundDoubt[]> {
  const { duck, series, files } = context;
  const shares = [...series.values()].filter(isShare);
  if (shares.length < 2) return [];
  const ids = new Set(shares.map(({ record }) => record.id));
  const rows = (await duck.select(latest, sql('latest-shares'))).filter(({ id }) => ids.has(id));
  const rowsOf = Map.groupBy(rows, ({ id }) => id);
  const doubts = new Map<string, FoundDoubt>();
  const groups = Map.groupBy(shares, ({ planned, record }) => `${planned.providerId}\n${record.unit}`);
  for (const group of groups.values()) {
    for (const parts of findParts(candidatesOf(group, rowsOf))) {
      const cells = await duck.select(cell, sql('sums-of-parts'), {
        files: files(parts),
        parts: parts.length,
      });
      for (const doubt of partsDoubts(context, parts, cells))
        doubts.set(`${doubt.indicator} ${doubt.other}`, doubt);
    }
  }
  return [...doubts.values()];
}

export const partsOfWholes: QualityCheck = { kinds: ['parts_not_whole'], find: findUnequalSums };
