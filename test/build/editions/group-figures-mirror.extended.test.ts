/**
 * Figures of groups of the whole collection: recomputed from the World Bank's files, and compared with those that it
 * publishes itself. Writes `var/test/aggregate-deviations.md`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, expect, it } from 'vitest';
import { loadCurated } from '../../../data/curated/curated.ts';
import {
  type EditionGroups,
  GROUPS,
  groupFiguresFile,
  type StoredGroups,
  storedGroups,
} from '../../../data/schema/groups.ts';
import { describeWithMirror } from '../../mirror.ts';
import { buildMirror } from '../../shared-builds.ts';
import {
  type CatalogueIndex,
  readCatalogue,
  readKept,
  type Shown,
  showSnapshot,
} from '../../shown-snapshot.ts';

/** Groups with the same members at the World Bank. */
const COMPARED: Record<string, string> = {
  WLD: 'world',
  ECS: 'wb-europe-central-asia',
  LCN: 'wb-latin-america-caribbean',
  NAC: 'wb-north-america',
  SSF: 'wb-sub-saharan-africa',
  EUU: 'eu',
  OED: 'oecd',
};
/** With values out of bounds, which are left out. */
const BOUNDED = ['FM.LBL.BMNY.GD.ZS', 'GC.DOD.TOTL.GD.ZS', 'TX.VAL.FUEL.ZS.UN', 'TX.VAL.MMTL.ZS.UN'].map(
  (code) => `world-bank.${code}`,
);
const REPORT = 'var/test/aggregate-deviations.md';

/** By place code and year. */
type Upstream = ReadonlyMap<string, ReadonlyMap<number, number>>;
interface Pair {
  figure: number;
  weight: number;
}

const pairsIn = (members: readonly string[], year: number, figures: Upstream, weights: Upstream): Pair[] =>
  members.flatMap((iso3) => {
    const [figure, weight] = [figures.get(iso3)?.get(year), weights.get(iso3)?.get(year)];
    return figure === undefined || weight === undefined ? [] : [{ figure, weight }];
  });
const sum = (pairs: readonly Pair[]): number => pairs.reduce((all, { figure }) => all + figure, 0);
const mean = (pairs: readonly Pair[]): number =>
  pairs.reduce((all, { figure, weight }) => all + weight * figure, 0) /
  pairs.reduce((all, { weight }) => all + weight, 0);

describeWithMirror('figures of groups', (mirror) => {
  let shown: Shown;
  let catalogue: CatalogueIndex;
  const stored = new Map<string, StoredGroups>();
  const files = join(mirror, 'world-bank', 'datahub-wdi-long', 'indicators');

  beforeAll(async () => {
    const { snapshots } = await buildMirror(mirror);
    shown = await showSnapshot(snapshots);
    catalogue = await readCatalogue(shown);
    for (const { record, traits } of catalogue.indicators) {
      if (traits?.measured.aggregate === 'none') continue;
      const name = groupFiguresFile(record.id);
      stored.set(record.id, storedGroups.parse(await readKept(shown, name)));
    }
  });

  /** The rows of a series as the World Bank gives them, by place code and year. */
  function upstream(id: string): Upstream | null {
    if (!id.startsWith('world-bank.')) return null;
    const file = join(files, id.slice('world-bank.'.length).toLowerCase(), 'data.csv');
    // The others come from single downloads of another form.
    if (!existsSync(file)) return null;
    const rows: Record<string, string>[] = parse(readFileSync(file), { columns: true, bom: true });
    const byPlace = Map.groupBy(rows, (row) => row['Country Code'] ?? '');
    return new Map(
      [...byPlace].map(([code, own]) => [
        code,
        new Map(own.map(({ Year, Value }) => [Number(Year), Number(Value)])),
      ]),
    );
  }

  /** In %, ascending, over groups and years with full coverage; null without such a file. */
  function deviations(id: string, groups: StoredGroups['groups'], isRate: boolean): number[] | null {
    const places = upstream(id);
    if (places === null) return null;
    const found = Object.entries(COMPARED).flatMap(([code, group]) =>
      [...(places.get(code) ?? [])].flatMap(([year, theirs]) => {
        const own = groups[group];
        const at = own?.year.indexOf(year) ?? -1;
        const ours = own?.value[at] ?? null;
        const size = isRate ? Math.max(1, Math.abs(theirs)) : Math.abs(theirs);
        const isFull = own?.coverage[at] === 1 && own.projected?.[at] !== true && size > 0;
        return ours !== null && isFull ? [(100 * Math.abs(ours - theirs)) / size] : [];
      }),
    );
    return found.sort((a, b) => a - b);
  }

  /** Returns how many figures were compared. */
  function compareGroup(
    { aggregate, groups }: StoredGroups,
    { id, members }: EditionGroups['groups'][number],
    figures: Upstream,
    weights: Upstream,
  ): number {
    const { year: years = [], counted = [], value = [] } = groups[id] ?? {};
    for (const [at, year] of years.entries()) {
      const pairs = pairsIn(members, year, figures, weights);
      const own = aggregate === 'sum' ? pairs : pairs.filter(({ weight }) => weight > 0);
      expect(counted[at], `${id} ${year}`).toBe(own.length);
      if (value[at] !== null)
        expect(value[at], `${id} ${year}`).toBe((aggregate === 'sum' ? sum : mean)(own));
    }
    return value.filter((one) => one !== null).length;
  }

  it('are to the bit what the files of the World Bank give', async () => {
    const edition: EditionGroups = await readKept(shown, GROUPS);
    let compared = 0;
    for (const [id, own] of stored) {
      const figures = BOUNDED.includes(id) ? null : upstream(id);
      const weights = own.aggregate === 'sum' ? figures : upstream(own.divisor ?? '');
      if (figures === null || weights === null) continue;
      for (const group of edition.groups) compared += compareGroup(own, group, figures, weights);
    }
    expect(compared).toBeGreaterThan(100_000);
  });

  /** Those with full coverage anywhere. */
  const compared = () =>
    catalogue.indicators.flatMap(({ record: { id, name }, traits }) => {
      const { groups = {}, deviation = null } = stored.get(id) ?? {};
      const isRate = ['rate', 'growth'].includes(traits?.measured.measure ?? '');
      return deviation === null ? [] : [{ id, name, isRate, groups, deviation }];
    });

  it('deviate from those of the World Bank as the edition says', () => {
    const all = compared();
    expect(all.length).toBeGreaterThan(90);
    for (const { id, groups, isRate, deviation } of all) {
      const found = deviations(id, groups, isRate);
      if (found === null) continue;
      expect(found.length, id).toBe(deviation.cells);
      const p95 = found[Math.ceil(found.length * 0.95) - 1] ?? -1;
      expect(Math.abs(deviation.p95 - p95), id).toBeLessThan(0.001 * Math.max(p95, 1));
    }
  });

  it('are near those of the World Bank, or a row of the series says why not', async () => {
    const { measures } = await loadCurated('data');
    const far = compared().filter(({ deviation }) => deviation.p95 > 1);
    const unexplained = far.filter(({ id }) => measures.rowFor(id)?.subject !== id);
    const lines = compared()
      .filter(({ deviation }) => deviation.p95 >= 0.01)
      .map(({ id, name, deviation: { cells, median, p95 } }) => {
        const shown = [median, p95].map((share) => Number(share < 0.001 ? 0 : share.toPrecision(2)));
        return `| \`${id}\` | ${name} | ${cells} | ${shown.join(' | ')} |`;
      });
    await mkdir('var/test', { recursive: true });
    await writeFile(REPORT, `${lines.sort().join('\n')}\n`);
    expect(unexplained.map(({ id, deviation }) => ({ id, ...deviation }))).toEqual([]);
  });

  it('stand in docs/quality.md as they are', async () => {
    const documented = await readFile('docs/quality.md', 'utf8');
    const lines = (await readFile(REPORT, 'utf8')).trimEnd().split('\n');
    for (const line of lines) expect(documented).toContain(line);
  });
});
