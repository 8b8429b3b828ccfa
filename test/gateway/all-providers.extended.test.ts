/**
 * The whole mirror over HTTP: every figure of the World Bank, and of the WHO once its flag is turned, against a plain
 * reading of the upstream files, nothing that must not leave in any byte, and the links between providers against a list
 * that was read line by line. (What was left out is held in `test/build/connectors/rejected-rows-mirror.extended.test.ts`.)
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse as parseCsv } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { buildSnapshot } from '../../build/editions/build-snapshot.ts';
import type { ConceptMember } from '../../data/curated/concepts.ts';
import { loadCurated } from '../../data/curated/curated.ts';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import type { IndicatorRecord, IndicatorTwin, ObservationRow } from '../../data/schema/records.ts';
import { type ConceptLink, observationsFile } from '../../data/schema/snapshot.ts';
import { useDirectory } from '../after-tests.ts';
import { expectRows, withoutEmptyCells } from '../build/fakes/expected-rows.ts';
import { readWho } from '../build/fakes/who-gho-files.ts';
import { readWorldBank } from '../build/fakes/world-bank-files.ts';
import { query } from '../build/parquet-readers.ts';
import { describeWithMirror } from '../mirror.ts';
import { overlayBounds, withinBounds } from '../overlay-bounds.ts';
import { silentLog } from '../redis.ts';
import { buildMirror, runOf, type SharedBuild } from '../shared-builds.ts';
import { Service } from './service.ts';

const DATA = join(import.meta.dirname, '../../data');
const TRAP = 'EN.ATM.CO2E.PC.DS57';
/** Codes of the World Bank that were others than ISO's; the rest of its codes are ISO's own or no countries. */
const OLD_CODES: Record<string, string> = {
  ADO: 'AND',
  IMY: 'IMN',
  KSV: 'XKX',
  ROM: 'ROU',
  TMP: 'TLS',
  WBG: 'PSE',
  ZAR: 'COD',
};

const isoOf = ({ iso3 }: { iso3: string }): string => iso3;

const root = await useDirectory();

describeWithMirror('all providers of the mirror', (mirror) => {
  let built: SharedBuild;
  let service: Service;
  let key: string;
  let served: Set<string>;

  beforeAll(async () => {
    built = await buildMirror(mirror);
    service = await Service.start({ snapshots: built.snapshots });
    ({ key } = await service.account({ credits: 100_000_000 }));
    const { json } = await service.get('/v1/countries');
    served = new Set(json.data.map(isoOf));
  });
  afterAll(() => service?.stop());

  const isPublished = (indicator: string): boolean =>
    existsSync(join(built.snapshot, observationsFile(indicator)));

  async function catalogueOf(provider: string): Promise<{ slug: string; name: string }[]> {
    const id = (await readFile(join(built.lake, provider, 'current'), 'utf8')).trim();
    return JSON.parse(await readFile(join(built.lake, provider, id, 'catalogue.json'), 'utf8'));
  }

  it('every figure of every World Bank series that may leave', async () => {
    const upstream = readWorldBank(mirror);
    const bounds = overlayBounds('world-bank');
    const { json } = await service.get('/v1/indicators?provider=world-bank');
    const ids: string[] = json.data.map(({ id }: { id: string }) => id);
    expect(ids.length).toBe(341);
    let compared = 0;
    for (const id of ids) {
      const slug = id.slice('world-bank.'.length);
      const cells = withoutEmptyCells(
        (upstream.get(slug) ?? []).filter(withinBounds(bounds, slug)),
        ({ place, year, value }) => ({ place, year: Number(year), isEmpty: value === null }),
      );
      const expected = cells.flatMap(({ place, year, value }) => {
        const iso3 = OLD_CODES[place] ?? place;
        return served.has(iso3) ? [`${iso3} ${year} ${value}`] : [];
      });
      const rows: { iso3: string; year: number; value: number | null; ci_lo: null; ci_hi: null }[] = (
        await service.get(`/v1/data?indicator=${id}`, { key })
      ).json.data;
      expect(rows.every(({ ci_lo, ci_hi }) => ci_lo === null && ci_hi === null)).toBe(true);
      const given = rows.map(({ iso3, year, value }) => `${iso3} ${year} ${value}`);
      expect(given.toSorted(), id).toEqual(expected.toSorted());
      compared += given.length;
    }
    expect(compared).toBeGreaterThan(1_700_000);
  });

  it('catches the carbon dioxide that is a hundred times too much, and says why', async () => {
    const { failed_indicators: failed } = await runOf(built, 'world-bank');
    expect(failed.map(({ slug }) => slug)).toEqual([TRAP]);
    expect(failed[0]?.reason).toMatch(
      /^\w{3} \d{4} has two different values: .*; so have \d+ more; and \d+ values/,
    );
    expect(failed[0]?.reason).toContain('are outside the bounds -1 to 200');
    expect(
      (await service.get('/v1/indicators/world-bank.EN.ATM.CO2E.PC')).json.data.coverage.n_countries,
    ).toBeGreaterThan(180);
  });

  it('no byte of a provider or series that must not leave', async () => {
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
    const pattern = new RegExp(words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'));
    for (const entry of await readdir(built.snapshot, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || /\.(br|gz|zst)$/.test(entry.name)) continue;
      expect(words.some((word) => entry.name.includes(word))).toBe(false);
      const bytes = await readFile(join(entry.parentPath, entry.name), 'latin1');
      expect(pattern.exec(bytes)?.[0] ?? null, entry.name).toBeNull();
    }
    expect((await service.get('/v1/indicators?provider=who-gho')).json.data ?? []).toEqual([]);
  });

  it('names the sources of every series', async () => {
    const { json } = await service.get('/v1/indicators?include=sources&limit=500');
    const { json: rest } = await service.get('/v1/indicators?include=sources&limit=500&offset=500');
    const all: { id: string; sources: { name: string }[] }[] = [...json.data, ...rest.data];
    expect(all.length).toBe(json.meta.total);
    const unnamed = all.filter(
      ({ sources }) => sources.length === 0 || sources.some(({ name }) => name === ''),
    );
    expect(unnamed).toEqual([]);
  });

  it('no byte of a Gapminder series that comes from IHME, EM-DAT, the Energy Institute, the IEA, SIPRI or WHO', async () => {
    const withholding =
      /IHME|healthdata|healthmetrics|EM-DAT|emdat|Energy Institute|iea\.org|MS\.MIL\.XPND|\bWHO\b|who\.int/;
    const file = await readFile(join(mirror, 'gapminder', 'ddf--concepts.csv'));
    const concepts: Record<string, string>[] = parseCsv(file, { columns: true, bom: true });
    const ids = concepts
      .filter(({ concept_type: type }) => type === 'measure')
      .filter(({ source = '', source_url: url = '' }) => withholding.test(`${source} ${url}`))
      .map(({ concept }) => `gapminder.${concept}`);
    expect(ids.length).toBeGreaterThan(200);
    const withheld = new Set(ids);
    for (const entry of await readdir(built.snapshot, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || /\.(br|gz|zst)$/.test(entry.name)) continue;
      expect(withheld.has(entry.name.replace(/\.(parquet|json)$/, '')), entry.name).toBe(false);
      const bytes = await readFile(join(entry.parentPath, entry.name), 'latin1');
      const named = [...bytes.matchAll(/gapminder\.[a-z0-9_]+/g)].map(([id]) => id);
      expect(
        named.filter((id) => withheld.has(id)),
        entry.name,
      ).toEqual([]);
    }
  });

  it("WHO's figures, with their bounds, as soon as its flag is turned", async () => {
    const curatedDir = join(root, 'data');
    await cp(DATA, curatedDir, { recursive: true });
    const file = join(curatedDir, 'providers', 'who-gho.yaml');
    const text = await readFile(file, 'utf8');
    const projections: Record<string, { projected_from?: number }> = parseYaml(text).indicators;
    const open = text.replace(/^access_tier: display$/m, 'access_tier: open');
    const rule = 'rules:\n  - slug: .*\n    set: { redistributable: true, licence_reason: An agreement. }\n';
    await writeFile(
      file,
      open.replace(/^redistributable: false$/m, 'redistributable: true').replace(/^rules:\n/m, rule),
    );
    const lake = join(root, 'lake');
    mkdirSync(lake);
    await symlink(join(built.lake, 'who-gho'), join(lake, 'who-gho'));
    const snapshots = join(root, 'snapshots');
    await buildSnapshot({
      settings: {
        LAKE_DIR: lake,
        SNAPSHOT_DIR: snapshots,
        SNAPSHOT_KEEP: 1,
        SIGNING_DIR: join(root, 'signing'),
      },
      curated: await loadCurated(curatedDir),
      now: Date.now,
      log: silentLog,
    });
    await using flipped = await Service.start({ snapshots });
    const { json } = await flipped.get('/v1/indicators?provider=who-gho');
    const { kept } = expectRows(readWho(mirror), ['iso3', 'who']);
    const ids: string[] = json.data.map(({ id }: { id: string }) => id);
    expect(ids.toSorted()).toEqual([...kept.keys()].map((slug) => `who-gho.${slug}`).sort());
    const served = new Set((await flipped.get('/v1/countries')).json.data.map(isoOf));
    const account = await flipped.account({ credits: 1_000_000 });
    let bounds = 0;
    for (const id of ids) {
      const slug = id.slice('who-gho.'.length);
      const from: number = projections[slug]?.projected_from ?? Number.POSITIVE_INFINITY;
      const expected = (kept.get(slug) ?? [])
        .filter(({ iso3 }) => served.has(iso3))
        .map((row) => [row.iso3, row.year, row.value, row.low, row.high, row.year >= from].join(' '));
      const { json: answer } = await flipped.get(`/v1/data?indicator=${id}`, { key: account.key });
      const rows: ObservationRow[] = answer.data;
      const given = rows.map((row) =>
        [row.iso3, row.year, row.value, row.ci_lo, row.ci_hi, row.projected].join(' '),
      );
      expect(given, id).toEqual(expected);
      bounds += rows.filter(({ ci_lo }) => ci_lo !== null).length;
    }
    expect(bounds).toBeGreaterThan(50_000);
  });

  it('links series of one concept as reviewed, line by line, and no other', async () => {
    const links: ConceptLink[] = JSON.parse(await readFile(join(built.snapshot, 'concepts.json'), 'utf8'));
    const reviewed = readFileSync(join(import.meta.dirname, 'reviewed-concepts.csv'), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .filter((pair) => pair.split(',').every(isPublished));
    expect(reviewed.length).toBeGreaterThan(60);
    expect(links.map(({ a, b }) => [a, b].sort().join()).sort()).toEqual(reviewed);
  });

  it('prefers no series that is older than its twins, and explains figures that differ', async () => {
    const { json } = await service.get('/v1/indicators?include=twins&limit=500');
    const rest = await service.get('/v1/indicators?include=twins&limit=500&offset=500');
    const records: (IndicatorRecord & { twins: IndicatorTwin[] })[] = [...json.data, ...rest.json.data];
    const byId = new Map(records.map((record) => [record.id, record]));
    const latest = (id: string): number => byId.get(id)?.coverage?.latest_year ?? 0;
    expect(records.filter(({ twins }) => twins.length > 0).length).toBeGreaterThan(200);
    for (const { id, preferred, featured, twins } of records) {
      if (preferred)
        for (const twin of twins) expect(latest(id), twin.id).toBeGreaterThanOrEqual(latest(twin.id));
      if (featured)
        expect(twins.filter((twin) => byId.get(twin.id)?.featured).map((twin) => twin.id)).toEqual([]);
      const unexplained = twins.filter(
        ({ difference, deviations }) => (difference?.median ?? 0) > 0.01 && deviations.length === 0,
      );
      expect(unexplained, id).toEqual([]);
    }
  });

  it('prefers a published series of every concept that has one', async () => {
    const { concepts } = await loadCurated(DATA);
    const without = [...concepts.members.values()]
      .filter((members) => members.some(({ series }) => isPublished(series.indicator)))
      .flatMap(([first]) => (first && !isPublished(first.concept.preferred) ? [first.concept.id] : []));
    expect(without).toEqual([]);
  });

  it('features two published series or more of every topic', async () => {
    const { json } = await service.get('/v1/indicators?featured=true&limit=500');
    const featured = Map.groupBy<string, IndicatorRecord>(json.data, ({ topic }) => topic);
    for (const topic of TOPIC_SLUGS) expect(featured.get(topic)?.length, topic).toBeGreaterThanOrEqual(2);
  });

  it('agrees within a concept on what is projected, or says why not', async () => {
    const { concepts } = await loadCurated(DATA);
    const file = ({ series }: ConceptMember): string =>
      join(built.snapshot, observationsFile(series.indicator));
    const bound = ({ series }: ConceptMember): boolean =>
      !series.deviates.includes('projected_from') && isPublished(series.indicator);
    for (const [one, other] of concepts.pairs().filter((pair) => pair.every(bound))) {
      const [found] = await query(`
        SELECT count(*)::INTEGER AS flags FROM '${file(one)}' AS a JOIN '${file(other)}' AS b USING (iso3, year)
        WHERE a.projected <> b.projected AND a.value IS NOT NULL AND b.value IS NOT NULL`);
      expect(found?.flags, `${one.series.indicator} ${other.series.indicator}`).toBe(0);
    }
  });
});
