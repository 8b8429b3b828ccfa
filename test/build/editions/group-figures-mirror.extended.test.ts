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
import { GROUPS, groupFiguresFile, type StoredGroups, storedGroups } from '../../../data/schema/groups.ts';
import type { CatalogueIndex } from '../../../data/schema/snapshot.ts';
import { describeWithMirror } from '../../mirror.ts';
import { BUILD_WITHIN_MS, buildMirror } from '../../shared-builds.ts';
import { readCatalogue, readKept, type Shown, showSnapshot } from '../../shown-snapshot.ts';

/** Groups with the same members at the World Bank. */
const COMPARED: Record<string, string> = {
  ...{ WLD: 'world', ECS: 'wb-europe-central-asia' },
  ...{ LCN: 'wb-latin-america-caribbean', NAC: 'wb-north-america', SSF: 'wb-sub-saharan-africa' },
  ...{ EUU: 'eu', OED: 'oecd' },
};
const REPORT = 'var/test/aggregate-deviations.md';

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
  }, BUILD_WITHIN_MS);

  /** The rows of a series as the World Bank gives them, by place code and year. */
  function upstream(id: string): Map<string, Map<number, number>> | null {
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

  it('are sums of what the files of the World Bank have', async () => {
    const { groups } = await readKept(shown, GROUPS);
    for (const id of ['SP.POP.TOTL', 'NY.GDP.MKTP.CD', 'AG.LND.FRST.K2'].map(
      (code) => `world-bank.${code}`,
    )) {
      const places = upstream(id);
      let compared = 0;
      for (const { id: group, members } of groups as { id: string; members: string[] }[]) {
        const own = stored.get(id)?.groups[group];
        for (const [at, year] of (own?.year ?? []).entries()) {
          const figures = members.flatMap((iso3) => places?.get(iso3)?.get(year) ?? []);
          expect(own?.counted[at], `${id} ${group} ${year}`).toBe(figures.length);
          const value = own?.value[at];
          if (value === null || value === undefined) continue;
          expect(value, `${id} ${group} ${year}`).toBe(figures.reduce((sum, figure) => sum + figure, 0));
          compared += 1;
        }
      }
      expect(compared).toBeGreaterThan(1000);
    }
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
