/** Where nights are simulated: curated data, a mirror directory that may be changed, a lake and snapshots. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { findConnector } from '../../build/connectors/registry.ts';
import type { NightlyDependencies } from '../../build/nightly.ts';
import { loadCurated } from '../../data/curated/curated.ts';
import { cells, DATA, NOON, World } from '../build/world.ts';
import { silentLog } from '../redis-server.ts';

export interface Site {
  readonly directory: string;
  readonly settings: NightlyDependencies['settings'];
  /** Milliseconds. */
  clock: number;
  dependencies(): Promise<NightlyDependencies>;
  remove(): Promise<void>;
}

/** A site, and the series that nights add, withdraw and rename. */
export interface Nights {
  site: Site;
  /** Folder in the mirror of the DDFcsv provider whose series come and go, and its id. */
  ddf: { folder: string; provider: string; added: string; withdrawn: string; renamed: string };
  /** Folder of the provider that fails. */
  failing: string;
}

const SURVEY_HEAD = 'REF_AREA,INDICATOR,TIME_PERIOD,OBS_VALUE,LOWER_BOUND,UPPER_BOUND,OBS_STATUS';

/** A handful of series of three providers, one with bounds and statuses. */
export async function smallSite(): Promise<Nights> {
  const survey = { connector: 'sdmx-csv', source: { files: ['survey.csv'] }, ci_level: 0.9 };
  const gates = { max_row_drop: 1, max_country_drop: 1 };
  const world = await World.create({ atlas: { gates }, globe: { gates }, survey: { gates, ...survey } });
  const figure = (place: number, year: number): number => 100 + place * 7.25 + year;
  const series = (factor: number) => ({
    unit: 'years',
    cells: cells(12, (place, year) => figure(place, year) * factor),
  });
  await world.publish('atlas', {
    steady: series(1),
    leaving: series(2),
    arriving: series(3),
    moving: series(4),
  });
  await world.publish('globe', { one: series(5), two: series(6) });
  const rows = series(1).cells.map(([place, year, value]) => {
    const code = place.trim().toUpperCase().replace('KOS', 'XKX');
    return [code, 'RATE', year, value, Number(value) - 3, Number(value) + 3, 'A'].join(',');
  });
  await world.write('mirror/survey/survey.csv', `${[SURVEY_HEAD, ...rows].join('\n')}\n`);
  Object.assign(world.settings, { LAKE_KEEP: 2, SNAPSHOT_KEEP: 2 });
  return {
    site: world,
    ddf: {
      folder: 'atlas',
      provider: 'atlas',
      added: 'arriving',
      withdrawn: 'leaving',
      renamed: 'moving',
    },
    failing: 'globe',
  };
}

const GAPMINDER = {
  folder: 'gapminder',
  provider: 'gapminder',
  added: 'working_hours_per_week',
  withdrawn: 'internet_users',
  renamed: 'forest_area_sq_km',
};

/** The starter data as if they were a mirror, so that later runs are compared with earlier ones. */
export async function starterSite(): Promise<Nights> {
  const site = await copiedSite(join(DATA, 'starter'), asMirror);
  return { site, ddf: GAPMINDER, failing: 'owid' };
}

/** The whole provider mirror. */
export async function mirrorSite(mirror: string): Promise<Nights> {
  const site = await copiedSite(mirror, (definition) => definition);
  return { site, ddf: GAPMINDER, failing: 'owid' };
}

const definitionFile = z.looseObject({
  id: z.string(),
  starter: z.looseObject({ path: z.string().optional() }).optional(),
});
type DefinitionFile = z.infer<typeof definitionFile>;

/** Reads the starter data of a provider as its mirror; a provider without some is switched off. */
function asMirror({ starter, ...definition }: DefinitionFile): Record<string, unknown> {
  if (!starter) return { ...definition, enabled: false };
  return { ...definition, mirror: { path: definition.id, ...starter } };
}

async function copiedSite(
  files: string,
  define: (definition: DefinitionFile) => Record<string, unknown>,
): Promise<Site> {
  const directory = await mkdtemp(join(tmpdir(), 'almanac-nights-'));
  const curatedDir = join(directory, 'data');
  await mkdir(curatedDir);
  const isCurated = (path: string): boolean =>
    !/\/(starter|runtime|schema|curated)(\/|$)/.test(path.slice(DATA.length));
  await cp(DATA, curatedDir, { recursive: true, filter: isCurated });
  await cp(files, join(directory, 'mirror'), { recursive: true });
  for (const name of await readdir(join(curatedDir, 'providers'))) {
    const file = join(curatedDir, 'providers', name);
    const definition = definitionFile.parse(parse(await readFile(file, 'utf8'), { merge: true }));
    await writeFile(file, stringify(define(definition)));
  }
  const site: Site = {
    directory,
    clock: NOON,
    settings: {
      LAKE_DIR: join(directory, 'lake'),
      LAKE_KEEP: 2,
      CURATED_DIR: curatedDir,
      SNAPSHOT_DIR: join(directory, 'snapshots'),
      SIGNING_DIR: join(directory, 'signing'),
      SNAPSHOT_KEEP: 2,
      INGEST_PARALLEL: 2,
      PROVIDER_MIRROR: join(directory, 'mirror'),
    },
    dependencies: async () => ({
      settings: site.settings,
      curated: await loadCurated(curatedDir),
      findConnector,
      now: () => site.clock,
      log: silentLog,
    }),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
  return site;
}
