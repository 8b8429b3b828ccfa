/**
 * A temporary build environment: real countries and topics, DDFcsv providers whose files the test writes, a lake and
 * a snapshot directory.
 */

import { copyFile, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { findConnector } from '../../build/connectors/registry.ts';
import { buildSnapshot } from '../../build/editions/build-snapshot.ts';
import { LogSigner } from '../../build/editions/log-signer.ts';
import { rollback, SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import type { Withholding } from '../../build/editions/withhold.ts';
import { ingestProvider } from '../../build/ingest/ingest-provider.ts';
import { ProviderLake } from '../../build/lake/provider-lake.ts';
import type { NightlyDependencies } from '../../build/nightly.ts';
import { loadCurated } from '../../data/curated/curated.ts';
import { bareEntry, type CatalogueEntry, type RunRecord } from '../../data/schema/lake.ts';
import { type QualityFinding, qualityFinding } from '../../data/schema/quality.ts';
import { observationsFile } from '../../data/schema/snapshot.ts';
import { stopAfterTests } from '../after-tests.ts';
import { type Shown, showSnapshot } from '../shown-snapshot.ts';
import { query, type Row, readObservations } from './parquet-readers.ts';

export const DATA = resolve(dirname(fileURLToPath(import.meta.url)), '../../data');
export const NOON = Date.UTC(2026, 10, 20, 12);

/** One figure of a series: place, year, value as upstream writes it. */
export type Cell = [place: string, year: number | string, value: number | string];
export interface Series {
  name?: string;
  unit?: string;
  tags?: string;
  type?: string;
  source?: string;
  cells: Cell[];
}

const csv = (rows: readonly (readonly (string | number)[])[]): string =>
  `${rows.map((row) => row.map((cell) => `"${String(cell).replaceAll('"', '""')}"`).join(',')).join('\n')}\n`;

/** The files of a DDFcsv data set. */
export function ddfFiles(series: Record<string, Series>): Record<string, string> {
  const slugs = Object.keys(series);
  const datapoints = slugs.map((slug) => ({
    path: `ddf--datapoints--${slug}--by--geo--time.csv`,
    schema: {
      fields: [{ name: 'geo' }, { name: 'time' }, { name: slug }],
      primaryKey: ['geo', 'time'],
    },
  }));
  const concepts = { path: 'ddf--concepts.csv', schema: { fields: [], primaryKey: 'concept' } };
  const conceptRows = slugs.map((slug) => {
    const { name = slug, unit = '', tags = '', type = 'measure', source = '' } = series[slug] ?? {};
    return [slug, type, name, unit, tags, source];
  });
  return {
    'datapackage.json': JSON.stringify({ version: '1.0.0', resources: [concepts, ...datapoints] }),
    'ddf--concepts.csv': csv([['concept', 'concept_type', 'name', 'unit', 'tags', 'source'], ...conceptRows]),
    ...Object.fromEntries(
      slugs.map((slug) => [
        `ddf--datapoints--${slug}--by--geo--time.csv`,
        csv([['geo', 'time', slug], ...(series[slug]?.cells ?? [])]),
      ]),
    ),
  };
}

/** The text of a provider definition. `more` overrides the defaults. */
export const definition = (id: string, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    id,
    name: `The ${id}`,
    licence: 'CC BY 4.0',
    licence_url: 'https://creativecommons.org/licenses/by/4.0/',
    attribution: `Figures of the ${id}`,
    redistributable: true,
    access_tier: 'open',
    cadence: 'daily',
    connector: 'ddf',
    origin: `https://${id}.example/`,
    places: ['iso3', 'old'],
    default_topic: 'economy',
    ...more,
  });

const PLACES = [
  'scheme,code,iso3,kind,note',
  'old,kos,XKX,,',
  'old,world,,aggregate,everybody',
  'old,sfr,,historical,',
  '',
].join('\n');

/** Of curated tables that tests fill. */
const HEADERS = {
  aliases: 'old,new,since,until',
  links: 'from,to,relation',
  concepts: 'id,name,topic,higher_is_better,preferred,projected_from',
  'concept-series': 'concept,indicator,factor,deviates,reason',
  measures: 'subject,name,unit,measure,scale,aggregate,weight,per_head,reason',
  'quality-decisions': 'kind,subject,other,extent,decision,by,on,reason',
};

/** Enabled countries; few, so that builds are fast. */
export const SERVED = 'AFG ALA ALB AND BRA CHN CIV DEU FRA IND JPN KEN NZL USA XKX'.split(' ');

/** The real country table with most countries disabled. */
function enableFew(spine: string): string {
  const [header = '', ...rows] = spine.trimEnd().split('\n');
  const enabled = rows.map((row) =>
    SERVED.includes(row.slice(0, 3)) ? row : row.replace(/true\s*$/, 'false'),
  );
  return `${[header, ...enabled].join('\n')}\n`;
}

export class World implements AsyncDisposable {
  readonly directory: string;
  readonly settings: {
    -readonly [Name in keyof NightlyDependencies['settings']]: NightlyDependencies['settings'][Name];
  } & {
    VAR_DIR: string;
  };
  /** Milliseconds. */
  clock = NOON;
  readonly records: RunRecord[] = [];

  private constructor(directory: string) {
    this.directory = directory;
    this.settings = {
      VAR_DIR: directory,
      LAKE_DIR: join(directory, 'lake'),
      LAKE_KEEP: 3,
      CURATED_DIR: join(directory, 'data'),
      SNAPSHOT_DIR: join(directory, 'snapshots'),
      SIGNING_DIR: join(directory, 'signing'),
      SNAPSHOT_KEEP: 3,
      INGEST_PARALLEL: 2,
      PROVIDER_MIRROR: join(directory, 'mirror'),
    };
  }

  static async create(definitions: Record<string, Record<string, unknown>> = { atlas: {} }): Promise<World> {
    const world = new World(await mkdtemp(join(tmpdir(), 'almanac-build-')));
    await world.write('data/countries.csv', enableFew(await readFile(join(DATA, 'countries.csv'), 'utf8')));
    for (const file of ['topics.yaml', 'packs.yaml', 'collectors.csv']) {
      await world.write(`data/${file}`, await readFile(join(DATA, file), 'utf8'));
    }
    await world.write('data/places.csv', PLACES);
    for (const table of ['links', 'concepts', 'concept-series'] as const) await world.list(table);
    for (const [id, more] of Object.entries(definitions)) await world.define(id, more);
    return world;
  }

  /** Removed after the test, or after the one that a hook is called for. */
  static async ofTest(...definitions: Parameters<typeof World.create>): Promise<World> {
    const world = await World.create(...definitions);
    onTestFinished(() => world.remove());
    return world;
  }

  /** Removed after the tests of the file or suite. */
  static use(...definitions: Parameters<typeof World.create>): Promise<World> {
    return stopAfterTests(World.create(...definitions));
  }

  async define(id: string, more: Record<string, unknown> = {}): Promise<void> {
    await this.write(`data/providers/${id}.yaml`, definition(id, more));
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    const file = join(this.directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }

  /** Replaces the rows of a curated table. */
  list(table: keyof typeof HEADERS, ...rows: string[]): Promise<void> {
    return this.write(`data/${table}.csv`, [HEADERS[table], ...rows, ''].join('\n'));
  }

  /** Writes series to a provider's mirror, with modification times from the clock. */
  async publish(id: string, series: Record<string, Series>): Promise<void> {
    await rm(join(this.directory, 'mirror', id), { recursive: true, force: true });
    for (const [name, text] of Object.entries(ddfFiles(series))) {
      await this.write(`mirror/${id}/${name}`, text);
      const time = new Date(this.clock);
      await utimes(join(this.directory, 'mirror', id, name), time, time);
    }
  }

  /** Writes series to a folder of the starter data. */
  async publishStarter(path: string, series: Record<string, Series>): Promise<void> {
    for (const [name, text] of Object.entries(ddfFiles(series)))
      await this.write(`data/starter/${path}/${name}`, text);
  }

  async dependencies(): Promise<NightlyDependencies> {
    return {
      settings: this.settings,
      curated: await loadCurated(this.settings.CURATED_DIR),
      findConnector,
      now: () => this.clock,
      log: pino({ level: 'silent' }),
      observer: { onRun: (record) => this.records.push(record) },
    };
  }

  async ingest(id: string, more: Partial<NightlyDependencies> = {}): Promise<RunRecord> {
    const dependencies = await this.dependencies();
    return ingestProvider({ ...dependencies, ...more }, id);
  }

  async build(more: Partial<NightlyDependencies> = {}) {
    const dependencies = await this.dependencies();
    return buildSnapshot({ ...dependencies, ...more });
  }

  /** Publishes series, and reads them into the lake. */
  async ingestSeries(series: Record<string, Series>, id = 'atlas'): Promise<void> {
    await this.publish(id, series);
    const { status, reason } = await this.ingest(id);
    if (status !== 'succeeded') throw new Error(`${id} is ${status}: ${reason}`);
  }

  /** Publishes series, reads and builds them, and goes on to the next day. @returns the served snapshot */
  async night(series: Record<string, Series>, id = 'atlas'): Promise<string> {
    await this.publish(id, series);
    await this.ingest(id);
    const { snapshot } = await this.build();
    this.tomorrow();
    return snapshot;
  }

  /** The rows of an indicator in the served snapshot. */
  async observations(id: string): Promise<Row[]> {
    return readObservations(join((await this.served()).directory, observationsFile(id)));
  }

  /** What a night found, by default the last one, as the lake keeps it. */
  async findings(night = new Date(this.clock).toISOString().slice(0, 10)): Promise<QualityFinding[]> {
    const file = join(this.settings.LAKE_DIR, 'quality', `${night}.parquet`);
    return (await query(`SELECT * FROM read_parquet('${file}')`)).map((row) => qualityFinding.parse(row));
  }

  lake(id: string): ProviderLake {
    return new ProviderLake(this.settings.LAKE_DIR, id);
  }

  get snapshots(): SnapshotStorage {
    return new SnapshotStorage(this.settings.SNAPSHOT_DIR);
  }

  get withholding(): Withholding {
    const storage = this.snapshots;
    return { storage, signer: new LogSigner(this.settings, storage), now_ms: this.clock };
  }

  async served(): Promise<Shown> {
    return showSnapshot(this.settings.SNAPSHOT_DIR);
  }

  /** A rendered body of the served snapshot. */
  async body(path: string): Promise<{ data: unknown; meta: Record<string, unknown> }> {
    const { directory } = await this.served();
    return JSON.parse(await readFile(join(directory, path), 'utf8'));
  }

  async copy(from: string, to: string): Promise<void> {
    await copyFile(join(this.directory, from), join(this.directory, to));
  }

  /** Serves an earlier snapshot again, by default the one before. */
  rollback(to?: string, reason: string | null = null): Promise<string> {
    return rollback(this.snapshots, { to, reason, now_ms: this.clock });
  }

  tomorrow(days = 1): void {
    this.clock += days * 86_400_000;
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }
}

/** Figures with ties, gaps and a year without any. */
export const ONE: Series = {
  name: 'One',
  unit: 'kg',
  cells: [
    ['FRA', 2000, '5'],
    ['DEU', 2000, '5'],
    ['USA', 2000, '7.25'],
    ['AFG', 2000, ''],
    ['kos', 2000, '1'],
    ['FRA', 2001, '9'],
    ['DEU', 2001, '1'],
    ['USA', 2001, '2'],
    ['BRA', 2001, ''],
    ['USA', 2003, '2'],
  ],
};

/** A catalogue entry that says no more than a slug. */
export const plainEntry = (slug: string, more: Partial<CatalogueEntry> = {}): CatalogueEntry => ({
  ...bareEntry(slug),
  ...more,
});

/** A series of a few figures. */
export const makeSeries = (...given: Cell[]): Series => ({ cells: given });

const TEN_PLACES = ['afg', 'FRA', ' deu ', 'kos', 'usa', 'bra', 'chn', 'ind', 'jpn', 'ken'];
/** Figures for ten places in `years` years from 2000; place codes are spelled as upstreams spell them. */
export const cells = (
  years: number,
  figure = (place: number, year: number): number => place + year / 10,
): Series['cells'] =>
  TEN_PLACES.flatMap((place, index) =>
    Array.from({ length: years }, (_, year) => [place, 2000 + year, figure(index, year)] as const),
  ).map(([place, year, value]) => [place, year, value]);
