/**
 * The whole mirror over HTTP: every World Bank figure of every country against a plain reading of the upstream files,
 * what was left out against the run's own counts, nothing that must not leave in any byte, and the links between
 * providers against a list that was read line by line.
 */

import { mkdirSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { buildSnapshot } from '../../build/snapshot/build-snapshot.ts';
import { loadCurated } from '../../data/curated.ts';
import type { RunRecord } from '../../data/schema/lake.ts';
import type { ConceptLink } from '../../data/schema/snapshot.ts';
import { describeWithMirror } from '../mirror.ts';
import { BUILD_WITHIN_MS, buildMirror, type MirrorBuild } from '../mirror-build.ts';
import { silentLog } from '../redis.ts';
import { textInZip } from '../upstream/zip.ts';
import { Service } from './service.ts';

const DATA = join(import.meta.dirname, '../../data');
const TRAP = 'EN.ATM.CO2E.PC.DS57';
/** Codes of the World Bank that were others than ISO's; the rest of its codes are ISO's own or no countries. */
const OLD_CODES: Record<string, string> = {
  ...{ ADO: 'AND', IMY: 'IMN', KSV: 'XKX', ROM: 'ROU', TMP: 'TLS', WBG: 'PSE', ZAR: 'COD' },
};

type Cell = [place: string, year: number, value: number | null];

/** The series of the World Bank in the mirror, each from the first edition that has it, read by csv-parse alone. */
function readWorldBank(mirror: string): Map<string, Cell[]> {
  const directory = join(mirror, 'world-bank');
  const definition = parseYaml(readFileSync(join(DATA, 'providers', 'world-bank.yaml'), 'utf8'));
  const [long, downloads] = definition.mirror.source.parts;
  const series = new Map<string, Cell[]>();
  const number = (text: string | undefined): number | null => (text ? Number(text) : null);
  for (const name of long.source.each.names as string[]) {
    const text = readFileSync(join(directory, 'datahub-wdi-long', 'indicators', name, 'data.csv'), 'utf8');
    const rows: string[][] = parse(text, { from_line: 2 });
    const cells = rows.map(([, code = '', year, value]): Cell => [code, Number(year), number(value)]);
    series.set(name.toUpperCase(), cells);
  }
  for (const file of downloads.source.files as (string | { path: string })[]) {
    const path = join(directory, typeof file === 'string' ? file : file.path);
    const isZip = path.endsWith('.zip');
    const text = isZip ? textInZip(readFileSync(path), 'API_') : readFileSync(path, 'utf8');
    const suffix = path.includes('co2_emissions') ? '.DS57' : '';
    const [header = [], ...rows]: string[][] = parse(text.slice(text.indexOf('"Country Name"')), {
      relax_column_count: true,
    });
    const own = new Map<string, Cell[]>();
    for (const row of rows) {
      const code = (row[3] ?? '') + suffix;
      const cells = own.get(code) ?? [];
      header.forEach((year, at) => {
        if (/^\d{4}$/.test(year)) cells.push([row[1] ?? '', Number(year), number(row[at])]);
      });
      own.set(code, cells);
    }
    for (const [code, cells] of own) if (!series.has(code)) series.set(code, cells);
  }
  return series;
}

describeWithMirror('all providers of the mirror', (mirror) => {
  let built: MirrorBuild;
  let service: Service;
  let key: string;
  let served: Set<string>;
  let root: string;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'almanac-all-'));
    built = await buildMirror(mirror);
    service = await Service.start({ snapshots: built.snapshots });
    ({ key } = await service.account({ credits: 100_000_000 }));
    const { json } = await service.get('/v1/countries');
    served = new Set(json.data.map(({ iso3 }: { iso3: string }) => iso3));
  }, BUILD_WITHIN_MS);
  afterAll(async () => {
    await service?.stop();
    await rm(root, { recursive: true, force: true });
  });

  async function recordOf(provider: string): Promise<RunRecord> {
    const id = (await readFile(join(built.lake, provider, 'current'), 'utf8')).trim();
    return JSON.parse(await readFile(join(built.lake, provider, id, 'run.json'), 'utf8'));
  }

  async function catalogueOf(provider: string): Promise<{ slug: string; name: string }[]> {
    const id = (await readFile(join(built.lake, provider, 'current'), 'utf8')).trim();
    return JSON.parse(await readFile(join(built.lake, provider, id, 'catalogue.json'), 'utf8'));
  }

  it(
    'every figure of every World Bank series that may leave, and the counts of what was left out',
    async () => {
      const upstream = readWorldBank(mirror);
      const { json } = await service.get('/v1/indicators?provider=world-bank');
      const ids: string[] = json.data.map(({ id }: { id: string }) => id);
      expect(ids.length).toBe(343);
      let compared = 0;
      for (const id of ids) {
        const expected = (upstream.get(id.slice('world-bank.'.length)) ?? []).flatMap(
          ([code, year, value]) => {
            const iso3 = OLD_CODES[code] ?? code;
            return served.has(iso3) ? [`${iso3} ${year} ${value}`] : [];
          },
        );
        const rows: { iso3: string; year: number; value: number | null; ci_lo: null; ci_hi: null }[] = (
          await service.get(`/v1/data?indicator=${id}`, { key })
        ).json.data;
        expect(rows.every(({ ci_lo, ci_hi }) => ci_lo === null && ci_hi === null)).toBe(true);
        const given = rows.map(({ iso3, year, value }) => `${iso3} ${year} ${value}`);
        expect(given.toSorted(), id).toEqual(expected.toSorted());
        compared += given.length;
      }
      expect(compared).toBeGreaterThan(1_900_000);
      const record = await recordOf('world-bank');
      const left = Object.values(record.rejects).reduce((sum, reject) => sum + (reject?.rows ?? 0), 0);
      const all = [...upstream.values()].reduce((sum, cells) => sum + cells.length, 0);
      const trap = upstream.get(TRAP) ?? [];
      const trapLeft = trap.filter(([, , value]) => value !== null && (value > 200 || value < -1)).length;
      expect(record.rejects.out_of_bounds?.rows).toBeLessThanOrEqual(trapLeft);
      // Every row is in the lake, counted as left out, or belongs to the series that failed whole.
      expect(all - record.rows_written - left).toBeGreaterThanOrEqual(0);
      expect(all - record.rows_written - left).toBeLessThanOrEqual(trap.length);
    },
    BUILD_WITHIN_MS,
  );

  it('catches the carbon dioxide that is a hundred times too much, and says why', async () => {
    const { failed_indicators: failed } = await recordOf('world-bank');
    expect(failed.map(({ slug }) => slug)).toEqual([TRAP]);
    expect(failed[0]?.reason).toMatch(
      /^\w{3} \d{4} has two different figures: .*; so have \d+ more; and \d+ figures/,
    );
    expect(failed[0]?.reason).toContain('lie outside the bounds of -1 to 200');
    expect(
      (await service.get('/v1/indicators/world-bank.EN.ATM.CO2E.PC')).json.data.coverage.n_countries,
    ).toBeGreaterThan(180);
  });

  it(
    'no byte of a provider or series that must not leave',
    async () => {
      const who = await catalogueOf('who-gho');
      const published = new Set<string>(
        (await service.get('/v1/indicators')).json.data.map(({ name }: { name: string }) => name),
      );
      const words = who.flatMap(({ slug, name }) => [
        `who-gho.${slug}`,
        ...(published.has(name) ? [] : [name]),
      ]);
      words.push('who-gho', 'world-bank.MS.MIL.XPND.GD.ZS', 'world-bank.EG.USE.PCAP.KG.OE', TRAP);
      expect(words.length).toBeGreaterThan(100);
      const pattern = new RegExp(
        words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'),
      );
      for (const entry of await readdir(built.snapshot, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || /\.(br|gz|zst)$/.test(entry.name)) continue;
        expect(words.some((word) => entry.name.includes(word))).toBe(false);
        const bytes = await readFile(join(entry.parentPath, entry.name), 'latin1');
        expect(pattern.exec(bytes)?.[0] ?? null, entry.name).toBeNull();
      }
      expect((await service.get('/v1/indicators?provider=who-gho')).json.data ?? []).toEqual([]);
    },
    BUILD_WITHIN_MS,
  );

  it(
    "WHO's figures, with their bounds, as soon as its flag is turned",
    async () => {
      const curatedDir = join(root, 'data');
      await cp(DATA, curatedDir, { recursive: true });
      const file = join(curatedDir, 'providers', 'who-gho.yaml');
      const text = await readFile(file, 'utf8');
      const open = text.replace(/^access_tier: display$/m, 'access_tier: open');
      await writeFile(file, open.replace(/^redistributable: false$/m, 'redistributable: true'));
      const lake = join(root, 'lake');
      mkdirSync(lake);
      await symlink(join(built.lake, 'who-gho'), join(lake, 'who-gho'));
      const snapshots = join(root, 'snapshots');
      await buildSnapshot({
        settings: { LAKE_DIR: lake, SNAPSHOT_DIR: snapshots, SNAPSHOT_KEEP: 1 },
        curated: await loadCurated(curatedDir),
        now: Date.now,
        log: silentLog,
      });
      const flipped = await Service.start({ snapshots });
      try {
        const { json } = await flipped.get('/v1/indicators?provider=who-gho');
        expect(json.data).toHaveLength((await catalogueOf('who-gho')).length);
        const account = await flipped.account({ credits: 1_000_000 });
        const bounds = await Promise.all(
          json.data.map(async ({ id }: { id: string }) => {
            const { json: answer } = await flipped.get(`/v1/data?indicator=${id}`, { key: account.key });
            return answer.data.filter(({ ci_lo: low }: { ci_lo: number | null }) => low !== null).length;
          }),
        );
        expect(bounds.filter((rows) => rows > 0).length).toBeGreaterThan(5);
      } finally {
        await flipped.stop();
      }
    },
    BUILD_WITHIN_MS,
  );

  it('links series of one concept as reviewed, line by line, and no other', async () => {
    const links: ConceptLink[] = JSON.parse(await readFile(join(built.snapshot, 'concepts.json'), 'utf8'));
    const reviewed = readFileSync(join(import.meta.dirname, 'reviewed-concepts.csv'), 'utf8')
      .trim()
      .split('\n')
      .slice(1);
    expect(links.map(({ a, b }) => [a, b].sort().join()).sort()).toEqual(reviewed);
  });

  it.each([
    ['female and all', 'gapminder.life_expectancy_female', 'world-bank.SP.DYN.LE00.IN'],
    ['female and male', 'gapminder.life_expectancy_female', 'world-bank.SP.DYN.LE00.MA.IN'],
    ['rural and urban', 'gapminder.rural_population', 'world-bank.SP.URB.TOTL'],
    ['people and per cent', 'gapminder.urban_population', 'world-bank.SP.URB.TOTL.IN.ZS'],
    ['youth and adult', 'gapminder.literacy_rate_youth', 'world-bank.SE.ADT.LITR.ZS'],
    [
      'youth of one sex and of both',
      'gapminder.literacy_rate_youth_male_percent_of_males_ages_15_24',
      'world-bank.SE.ADT.1524.LT.ZS',
    ],
    ['land and surface', 'gapminder.surface_area_sq_km', 'world-bank.AG.LND.TOTL.K2'],
    ['GNI and GDP', 'gapminder.gnipercapita_ppp_current_international', 'world-bank.NY.GDP.PCAP.PP.CD'],
    [
      'newly infected and infected',
      'gapminder.newly_hiv_infected_percent_age_15_49',
      'world-bank.SH.DYN.AIDS.ZS',
    ],
    [
      'workers and participants',
      'gapminder.aged_15plus_employment_rate_percent',
      'world-bank.SL.TLF.CACT.ZS',
    ],
  ])('never links %s', async (_, a, b) => {
    const { related } = (await service.get(`/v1/indicators/${a}`)).json.data;
    const relation = related.find(({ id }: { id: string }) => id === b)?.relation;
    expect(relation).not.toBe('same_concept');
  });

  it('links what World Bank, Gapminder, UNDP and OWID share', async () => {
    const shared: [string, string][] = [
      ['world-bank.SP.DYN.LE00.IN', 'gapminder.life_expectancy_at_birth_data_from_ihme'],
      ['world-bank.SP.POP.TOTL', 'owid.population-total'],
      ['world-bank.SH.DYN.MORT', 'owid.child-mortality'],
      ['world-bank.SP.DYN.IMRT.IN', 'gapminder.infant_mortality_rate_per_1000_births'],
      ['undp.hdi', 'gapminder.hdi_human_development_index'],
      ['world-bank.IT.NET.USER.ZS', 'owid.share-of-individuals-using-the-internet'],
      ['world-bank.SP.URB.TOTL.IN.ZS', 'owid.share-of-population-urban'],
      ['world-bank.EG.ELC.ACCS.ZS', 'owid.share-of-the-population-with-access-to-electricity'],
      ['world-bank.NY.GDP.PCAP.KD.ZG', 'gapminder.gdppercapita_growth_percent_per_year'],
      ['world-bank.SL.UEM.TOTL.ZS', 'gapminder.aged_15plus_unemployment_rate_percent'],
      ['world-bank.AG.LND.FRST.K2', 'gapminder.forest_area_sq_km'],
    ];
    for (const [a, b] of shared) {
      const { related } = (await service.get(`/v1/indicators/${a}`)).json.data;
      const found = related.find(({ id }: { id: string }) => id === b);
      expect(found?.relation, `${a} ${b}`).toBe('same_concept');
    }
  });
});
