/**
 * Parts of one whole: two or three shares of a provider that add up to 100 % nearly everywhere, and do not somewhere. The
 * figures themselves tell which series are such parts, so no night before is needed.
 */
import { z } from 'zod';
import { readSql } from '../../../data/runtime/sql-files.ts';
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

const LATEST_SHARES = readSql(import.meta.url, 'sql/latest-shares.sql');
const SUMS_OF_PARTS = readSql(import.meta.url, 'sql/sums-of-parts.sql');

const WHOLE = 100;
/** Parts are rounded one by one. */
const ROUNDING = 0.5;
/** A sum this far away is no rounding. */
const OFF = 2;
const FEWEST_COUNTRIES = 20;
/** Of countries in the latest year, and of all figures. */
const MOST_OFF = 0.1;

const latest = z.object({ id: z.string(), iso3, year: z.int(), value: z.number() });
const cell = z.object({ iso3, year: z.int(), values: z.array(z.number()) });
type Cell = z.infer<typeof cell>;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const isWhole = (values: readonly number[]): boolean => Math.abs(sum(values) - WHOLE) <= ROUNDING;
const isOff = ({ values }: Cell): boolean => Math.abs(sum(values) - WHOLE) > OFF;

/** The medians of parts add up to nearly the whole. Testing them first spares most triples. */
const MEDIANS_OFF = 20;

/** The latest shares of a series by country and year. */
type Latest = ReadonlyMap<string, number>;

/** Whether series add up to the whole in nearly all countries, and not because one of them is all or nothing. */
function areParts(all: readonly Latest[]): boolean {
  const [first, ...others] = all;
  let [common, off, mixed] = [0, 0, 0];
  for (const [key, value] of first ?? []) {
    const values = [value, ...others.map((one) => one.get(key) ?? Number.NaN)];
    if (values.some(Number.isNaN)) continue;
    common += 1;
    if (values.every((each) => each > ROUNDING)) mixed += 1;
    if (!isWhole(values)) off += 1;
    if (off > 2 && off > MOST_OFF * (first?.size ?? 0)) return false;
  }
  return common >= FEWEST_COUNTRIES && off <= MOST_OFF * common && mixed >= common / 2;
}

/** Pairs of the series of one provider and unit, then triples without any of them. */
function findParts(shares: readonly CheckedSeries[], figures: ReadonlyMap<string, Latest>): string[][] {
  const candidates = shares.map(({ record: { id }, statistics: { median } }) => ({
    ...{ id, median: median ?? Number.NaN, latest: figures.get(id) ?? new Map<string, number>() },
  }));
  type Candidate = (typeof candidates)[number];
  const add = (...parts: Candidate[]): string[][] => {
    const isNear = Math.abs(sum(parts.map(({ median }) => median)) - WHOLE) <= MEDIANS_OFF;
    return isNear && areParts(parts.map(({ latest }) => latest)) ? [parts.map(({ id }) => id).sort()] : [];
  };
  const pairs = candidates.flatMap((a, at) => candidates.slice(at + 1).flatMap((b) => add(a, b)));
  const paired = new Set(pairs.flat());
  const rest = candidates.filter(({ id }) => !paired.has(id));
  const triples = rest.flatMap((a, i) =>
    rest.slice(i + 1).flatMap((b, j) => rest.slice(i + j + 2).flatMap((c) => add(a, b, c))),
  );
  return [...pairs, ...triples];
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
    const worst = off.toSorted(
      (a, b) => Math.abs(sum(b.values) - WHOLE) - Math.abs(sum(a.values) - WHOLE),
    )[0];
    const place = `${countryName(context.curated, worst?.iso3 ?? '')} in ${worst?.year}`;
    const message = `${names} add up to 100 % nearly everywhere, but to ${figure(sum(worst?.values ?? []))} % in ${place}${andMore(countries)}.`;
    const [id = '', other = null] = culprit === null ? parts.toSorted() : [culprit];
    return doubtAbout('parts_not_whole', id, message, off.length, {
      ...{ other, countries },
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
  const rows = (await duck.select(latest, LATEST_SHARES)).filter(({ id }) => ids.has(id));
  const figures = new Map(
    [...Map.groupBy(rows, ({ id }) => id)].map(([id, own]) => [
      id,
      new Map(own.map((row) => [`${row.iso3} ${row.year}`, row.value])),
    ]),
  );
  const doubts = new Map<string, FoundDoubt>();
  const groups = Map.groupBy(shares, ({ planned, record }) => `${planned.providerId}\n${record.unit}`);
  for (const group of groups.values()) {
    for (const parts of findParts(group, figures)) {
      const cells = await duck.select(cell, SUMS_OF_PARTS, { files: files(parts), parts: parts.length });
      for (const doubt of partsDoubts(context, parts, cells))
        doubts.set(`${doubt.indicator} ${doubt.other}`, doubt);
    }
  }
  return [...doubts.values()];
}

export const partsOfWholes: QualityCheck = { kinds: ['parts_not_whole'], find: findUnequalSums };
