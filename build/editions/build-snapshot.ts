/**
 * Builds a snapshot from the lake: plan, observation files, tables, relations, rendered bodies, verification,
 * publication. One build runs at a time. When a step fails, the served snapshot stays.
 */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Curated } from '../../data/curated/curated.ts';
import { acquireLock } from '../../data/runtime/file-lock.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { type BuildRun, SNAPSHOT_SUBJECT } from '../../data/schema/jobs.ts';
import type { Overrides } from '../../data/schema/overrides.ts';
import type { QualityCounts } from '../../data/schema/quality.ts';
import { formatTimestamp, type IndicatorRecord } from '../../data/schema/records.ts';
import {
  type ConceptLink,
  type Manifest,
  observationsFile,
  SNAPSHOT_FORMAT,
} from '../../data/schema/snapshot.ts';
import { compactTime } from '../lake/lake.ts';
import { yearOf } from '../lake/projection-rule.ts';
import { type Published, SnapshotStorage } from '../publish/snapshot-storage.ts';
import { verifyFigures, verifyWithheld } from '../publish/verify.ts';
import { operatorReportOf, publicFindingsOf, type QualityReport, reportQuality } from '../quality/report.ts';
import { QualityReports } from '../quality/report-storage.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import type { Replacement } from '../runtime/durable-files.ts';
import { describeError } from '../runtime/machine-fault.ts';
import type { BuildObserver } from '../runtime/progress.ts';
import { FileWriter } from './file-writer.ts';
import { prepareTables, writeObservations } from './materialise.ts';
import { planSnapshot, type SnapshotPlan } from './plan-snapshot.ts';
import { fileCount, type PublicData, renderFiles } from './prerender.ts';
import {
  countryDetails,
  countryRecords,
  coverageRecords,
  freshnessRecords,
  topicRecords,
} from './public-records.ts';
import { findRelations } from './relations.ts';
import {
  dropCountrySeries,
  type IndicatorCoverage,
  TABLE_FILES,
  writeSummaryTables,
} from './summary-tables.ts';
import { findTwins } from './twins.ts';

const MEMORY_MB = 768;
/** How long jobs and nightly runs wait for another build to end. */
export const WAIT_FOR_BUILD_MS = 30 * 60_000;

export interface BuildDependencies {
  settings: Pick<Settings, 'LAKE_DIR' | 'SNAPSHOT_DIR' | 'SNAPSHOT_KEEP'>;
  curated: Curated;
  now: () => number;
  log: Logger;
  /** The operators' changes, or a function that reads them when the build starts. */
  overrides?: Overrides | (() => Promise<Overrides>);
  observer?: BuildObserver;
  signal?: AbortSignal;
  signalFor?: (subject: string) => AbortSignal;
  /** How long to wait for another build; without it, the build fails at once. */
  waitForOther_ms?: number;
}

export interface BuildSummary {
  snapshot: string;
  generated_at: string;
  counts: Manifest['counts'];
  /** Observation files linked from the previous snapshot. */
  reused: number;
  quality: QualityCounts;
  /** Snapshots removed by retention. */
  removed: string[];
  /** Milliseconds by step. */
  steps_ms: Record<string, number>;
}

/** No provider has an indicator that may be published. */
export class NothingToPublish extends Error {
  override name = 'NothingToPublish';
}

/**
 * Builds a snapshot from the last good runs in the lake and publishes it.
 * @throws {LockHeldError} when another build is running; {NothingToPublish}; {SnapshotError} when verification fails.
 */
export async function buildSnapshot(dependencies: BuildDependencies): Promise<BuildSummary> {
  const storage = new SnapshotStorage(dependencies.settings.SNAPSHOT_DIR);
  const { waitForOther_ms: wait_ms, signal } = dependencies;
  const lock = await acquireLock(storage.lockFile, 'the snapshot', { wait_ms, signal });
  try {
    await storage.clean();
    return await reportBuild({ ...dependencies, signal: lock.signal }, (deps) =>
      new Build(deps, storage).run(),
    );
  } finally {
    await lock.release();
  }
}

/** Reports the start and the end of a build to the observer, and names the run in every log line. */
async function reportBuild(
  deps: BuildDependencies,
  build: (deps: BuildDependencies) => Promise<BuildSummary>,
): Promise<BuildSummary> {
  const startedAt = deps.now();
  const started: BuildRun = {
    run_id: compactTime(startedAt),
    status: 'running',
    started_at: formatTimestamp(startedAt),
    finished_at: null,
    reason: null,
    snapshot: null,
    counts: null,
    steps_ms: {},
  };
  deps.observer?.onBuild?.(started);
  const log = deps.log.child({ run: started.run_id });
  const end = (outcome: Partial<BuildRun>): void => {
    deps.observer?.onBuild?.({ ...started, ...outcome, finished_at: formatTimestamp(deps.now()) });
  };
  const signals = [deps.signal, deps.signalFor?.(SNAPSHOT_SUBJECT)];
  const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
  try {
    const summary = await build({ ...deps, log, signal });
    const { snapshot, counts, quality, steps_ms } = summary;
    end({ status: 'succeeded', snapshot, counts, quality, steps_ms });
    return summary;
  } catch (error) {
    const reason = describeError(error);
    log.warn({ reason }, 'snapshot not published');
    end({ status: signal.aborted ? 'cancelled' : 'failed', reason });
    throw error;
  }
}

/** What a build has written when the observation files are there. */
interface Written {
  directory: string;
  plan: SnapshotPlan;
  /** The served snapshot. */
  previous: Published | null;
  /** The series whose files were linked from it. */
  linked: ReadonlySet<string>;
}

type Findings = Omit<QualityReport, 'statistics'>;

class Build {
  readonly #deps: BuildDependencies;
  readonly #storage: SnapshotStorage;
  readonly #steps: Record<string, number> = {};
  readonly #startedAt: number;

  constructor(deps: BuildDependencies, storage: SnapshotStorage) {
    this.#deps = deps;
    this.#storage = storage;
    this.#startedAt = deps.now();
  }

  async run(): Promise<BuildSummary> {
    const { settings, curated, log, overrides: given = new Map() } = this.#deps;
    const overrides = typeof given === 'function' ? await given() : given;
    const plan = await this.#step('plan', () =>
      planSnapshot(settings.LAKE_DIR, curated, overrides, yearOf(this.#startedAt)),
    );
    if (plan.indicators.length === 0)
      throw new NothingToPublish('no provider has data that may be published');
    const directory = await this.#storage.begin();
    let report: Replacement | null = null;
    const duck = await DuckSession.open({
      scratch: join(settings.SNAPSHOT_DIR, '.building-scratch'),
      memoryMb: MEMORY_MB,
    });
    try {
      const { manifest, reused, quality } = await this.#writeFiles(duck, directory, plan);
      const reports = new QualityReports(settings.LAKE_DIR);
      report = await this.#step('quality', () => reports.draft(duck, quality));
      const { id } = await this.#step('publish', () => this.#storage.seal(directory, manifest));
      const removed = await this.#step('publish', async () => {
        await this.#storage.publish(id);
        await report?.commit();
        return this.#storage.prune(settings.SNAPSHOT_KEEP);
      });
      this.#deps.observer?.onExcluded?.(plan.excluded);
      this.#deps.observer?.onQuality?.(operatorReportOf(quality, manifest.generated_at));
      const summary: BuildSummary = {
        snapshot: id,
        generated_at: manifest.generated_at,
        counts: manifest.counts,
        reused,
        quality: quality.counts,
        removed,
        steps_ms: this.#steps,
      };
      log.info(summary, 'snapshot published');
      return summary;
    } finally {
      await report?.discard();
      await duck.close();
      // Sealing renames the directory, so this removes only a failed build.
      await rm(directory, { recursive: true, force: true });
    }
  }

  /** Writes and verifies all files, and flushes them to disk. */
  async #writeFiles(
    duck: DuckSession,
    directory: string,
    plan: SnapshotPlan,
  ): Promise<{ manifest: Manifest; reused: number; quality: Findings }> {
    const { indicators, countries } = plan;
    const previous = await this.#storage.current();
    const served = countries.map((country) => country.iso3);
    await prepareTables(duck, served, indicators);
    const linked = await this.#step('materialise', () =>
      writeObservations(duck, directory, indicators, previous, (done) =>
        this.#progress('materialise', done, indicators.length, 'indicators'),
      ),
    );
    const writer = new FileWriter(directory);
    const { coverage, quality } = await this.#writeBodies(duck, writer, {
      directory,
      plan,
      previous,
      linked,
    });
    await this.#step('verify', async () => {
      // A linked file was verified when it was first built, and its hash has been checked since.
      const fresh = indicators.filter(({ id }) => !linked.has(id));
      await verifyFigures(duck, directory, fresh, coverage, (done) =>
        this.#progress('verify', done, fresh.length, 'indicators'),
      );
      await verifyWithheld(directory, plan);
    });
    await this.#step('flush', async () => {
      const inputs = new Map(indicators.map((one) => [observationsFile(one.id), one.inputs]));
      await writer.adopt([...inputs.keys(), ...Object.values(TABLE_FILES)], inputs);
      await writer.flush();
    });
    return { manifest: this.#manifest(writer.files, plan, coverage), reused: linked.size, quality };
  }

  /** Writes the tables and the rendered bodies. Only what it returns outlives this call, so that memory is freed. */
  async #writeBodies(
    duck: DuckSession,
    writer: FileWriter,
    written: Written,
  ): Promise<{ coverage: Map<string, IndicatorCoverage>; quality: Findings }> {
    const { data, coverage, quality } = await this.#collectPublicData(duck, written);
    await this.#step('prerender', () =>
      writer.writeAll(renderFiles(data), (done) =>
        this.#progress('prerender', done, fileCount(data), 'files'),
      ),
    );
    return { coverage, quality };
  }

  async #collectPublicData(
    duck: DuckSession,
    written: Written,
  ): Promise<{ data: PublicData; coverage: Map<string, IndicatorCoverage>; quality: Findings }> {
    const { directory, plan } = written;
    const { curated } = this.#deps;
    const { coverage, records, latest, topicCountries, countryCoverage } = await this.#step('tables', () =>
      writeSummaryTables(duck, directory, plan.indicators),
    );
    this.#progress('relations', 0, 1, 'passes');
    const { related, concepts } = await this.#step('relations', async () =>
      findRelations({
        ...{ indicators: plan.indicators, coverage, latest },
        ...{ concepts: curated.concepts, links: curated.links },
      }),
    );
    const { statistics, ...quality } = await this.#reportQuality(duck, written, records, concepts);
    const twins = await this.#step('twins', () => findTwins(duck, directory, curated.concepts, records));
    const details = await this.#step('records', async () =>
      countryDetails(plan, curated.topics, records, latest),
    );
    const data: PublicData = {
      generatedAt: formatTimestamp(this.#startedAt),
      topics: topicRecords(curated.topics, records, topicCountries),
      countries: countryRecords(plan),
      indicators: plan.indicators.map(({ topicOrder, original }, index) => {
        const record = records[index];
        if (!record) throw new RangeError('a planned indicator without a record');
        const { yr_max: last, latest_year: observed } = record.coverage ?? {
          yr_max: null,
          latest_year: null,
        };
        const hasProjections = last !== null && (observed === null || last > observed);
        return {
          record,
          topic_order: topicOrder,
          has_projections: hasProjections,
          ...(original && { original }),
        };
      }),
      freshness: freshnessRecords(plan, coverage),
      coverage: coverageRecords(plan, countryCoverage),
      details,
      related,
      concepts,
      statistics,
      additions: {
        sources: new Map(plan.indicators.map(({ id, sources }) => [id, sources])),
        quality: publicFindingsOf(quality.findings, plan),
        twins,
      },
    };
    return { data, coverage, quality };
  }

  async #reportQuality(
    duck: DuckSession,
    written: Written,
    records: readonly IndicatorRecord[],
    concepts: readonly ConceptLink[],
  ): Promise<QualityReport> {
    const { curated, log, settings } = this.#deps;
    const startedAt = this.#startedAt;
    return this.#step('quality', async () => {
      const input = { ...written, duck, curated, records, concepts, log, startedAt };
      const report = await reportQuality({ ...input, lakeDir: settings.LAKE_DIR });
      await dropCountrySeries(duck);
      return report;
    });
  }

  #manifest(
    files: Manifest['files'],
    plan: SnapshotPlan,
    coverage: ReadonlyMap<string, IndicatorCoverage>,
  ): Manifest {
    const sorted = Object.fromEntries(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)));
    const hash = createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
    const providers = new Set(plan.indicators.map(({ providerId }) => providerId));
    const runs = plan.providers.flatMap(({ definition, run }): [string, string][] =>
      run && providers.has(definition.id) ? [[definition.id, run.record.run_id]] : [],
    );
    return {
      format: SNAPSHOT_FORMAT,
      id: `${compactTime(this.#startedAt)}-${hash.slice(0, 8)}`,
      generated_at: formatTimestamp(this.#startedAt),
      counts: {
        providers: providers.size,
        indicators: plan.indicators.length,
        countries: plan.countries.length,
        observations: [...coverage.values()].reduce((sum, { rows }) => sum + rows, 0),
      },
      runs: Object.fromEntries(runs),
      files: sorted,
    };
  }

  async #step<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    this.#deps.signal?.throwIfAborted();
    const startedAt = performance.now();
    this.#deps.log.debug({ step: name }, 'build step');
    // Some steps block the thread: yield first, so that log lines leave and a signal arrives.
    await nextTurn();
    try {
      return await work();
    } finally {
      this.#steps[name] = Math.round((this.#steps[name] ?? 0) + performance.now() - startedAt);
    }
  }

  /** Reports progress, and ends the build when it was cancelled. */
  #progress(step: string, done: number, total: number, unit: string): void {
    this.#deps.signal?.throwIfAborted();
    this.#deps.observer?.onProgress?.({ task: 'build', step, done, total, unit });
  }
}
