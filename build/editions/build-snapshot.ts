/**
 * One snapshot, from the lake to the pointer: plan, figures, relations, bytes, verification, publication.
 * Never two at once; whatever fails, the snapshot being served stays.
 */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Curated } from '../../data/curated/curated.ts';
import { acquireLock, waitForLock } from '../../data/runtime/file-lock.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { type BuildRun, SNAPSHOT_SUBJECT } from '../../data/schema/jobs.ts';
import type { Overrides } from '../../data/schema/overrides.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { type Manifest, observationsFile, SNAPSHOT_FORMAT } from '../../data/schema/snapshot.ts';
import { compactTime } from '../lake/lake.ts';
import { publish, SnapshotStorage } from '../publish/snapshot-storage.ts';
import { verifyFigures, verifyWithheld } from '../publish/verify.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { describeError } from '../runtime/machine-fault.ts';
import type { BuildObserver } from '../runtime/progress.ts';
import { FileWriter } from './file-writer.ts';
import { prepareTables, writeObservations } from './materialise.ts';
import { type PlannedIndicator, planSnapshot, type SnapshotPlan } from './plan-snapshot.ts';
import { fileCount, type PublicData, renderFiles } from './prerender.ts';
import {
  countryDetails,
  countryRecords,
  coverageRecords,
  freshnessRecords,
  topicRecords,
} from './public-records.ts';
import { findRelations } from './relations.ts';
import { type IndicatorCoverage, TABLE_FILES, writeSummaryTables } from './summary-tables.ts';

const MEMORY_MB = 768;
/** How long jobs and nightly runs wait for another build to end. */
export const WAIT_FOR_BUILD_MS = 30 * 60_000;

export interface BuildDependencies {
  settings: Pick<Settings, 'LAKE_DIR' | 'SNAPSHOT_DIR' | 'SNAPSHOT_KEEP'>;
  curated: Curated;
  now: () => number;
  log: Logger;
  /** The operators' changes, or what reads them when the build begins. */
  overrides?: Overrides | (() => Promise<Overrides>);
  observer?: BuildObserver;
  signal?: AbortSignal;
  signalFor?: (subject: string) => AbortSignal;
  /** How long to wait for another build to end; without it, not at all. */
  waitForOther_ms?: number;
}

export interface BuildSummary {
  snapshot: string;
  generated_at: string;
  counts: Manifest['counts'];
  /** Observation files taken over from the snapshot before. */
  reused: number;
  /** Snapshots that retention removed. */
  removed: string[];
  /** Milliseconds by step. */
  steps_ms: Record<string, number>;
}

/** There is nothing that could be published. */
export class NothingToPublish extends Error {
  override name = 'NothingToPublish';
}

/**
 * Builds a snapshot from the last good runs in the lake and publishes it.
 * @throws {LockHeldError} when another build is under way; {NothingToPublish}; {SnapshotError} when verification fails.
 */
export async function buildSnapshot(dependencies: BuildDependencies): Promise<BuildSummary> {
  const shelf = new SnapshotStorage(dependencies.settings.SNAPSHOT_DIR);
  const { waitForOther_ms: atMost_ms, signal } = dependencies;
  const lock =
    atMost_ms === undefined
      ? await acquireLock(shelf.lockFile, 'the snapshot')
      : await waitForLock(shelf.lockFile, 'the snapshot', { atMost_ms, signal });
  try {
    await shelf.clean();
    return await reportBuild(dependencies, (deps) => new Build(deps, shelf).run());
  } finally {
    await lock.release();
  }
}

/** Tells those who watch how a build began and ended. */
async function reportBuild(
  deps: BuildDependencies,
  build: (deps: BuildDependencies) => Promise<BuildSummary>,
): Promise<BuildSummary> {
  const startedAt = deps.now();
  const begun: BuildRun = {
    run_id: compactTime(startedAt),
    status: 'running',
    started_at: formatTimestamp(startedAt),
    finished_at: null,
    reason: null,
    snapshot: null,
    counts: null,
    steps_ms: {},
  };
  deps.observer?.onBuild?.(begun);
  const log = deps.log.child({ run: begun.run_id });
  const end = (outcome: Partial<BuildRun>): void => {
    deps.observer?.onBuild?.({ ...begun, ...outcome, finished_at: formatTimestamp(deps.now()) });
  };
  const signals = [deps.signal, deps.signalFor?.(SNAPSHOT_SUBJECT)];
  const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
  try {
    const summary = await build({ ...deps, log, signal });
    const { snapshot, counts, steps_ms } = summary;
    end({ status: 'succeeded', snapshot, counts, steps_ms });
    return summary;
  } catch (error) {
    const reason = describeError(error);
    log.warn({ reason }, 'snapshot not published');
    end({ status: signal.aborted ? 'cancelled' : 'failed', reason });
    throw error;
  }
}

class Build {
  readonly #deps: BuildDependencies;
  readonly #shelf: SnapshotStorage;
  readonly #steps: Record<string, number> = {};
  readonly #startedAt: number;

  constructor(deps: BuildDependencies, shelf: SnapshotStorage) {
    this.#deps = deps;
    this.#shelf = shelf;
    this.#startedAt = deps.now();
  }

  async run(): Promise<BuildSummary> {
    const { settings, curated, log, overrides: given = new Map() } = this.#deps;
    const overrides = typeof given === 'function' ? await given() : given;
    const plan = await this.#step('plan', () => planSnapshot(settings.LAKE_DIR, curated, overrides));
    if (plan.indicators.length === 0)
      throw new NothingToPublish('no provider has anything that may be published');
    const directory = await this.#shelf.begin();
    const duck = await DuckSession.open({
      scratch: join(settings.SNAPSHOT_DIR, '.building-scratch'),
      memoryMb: MEMORY_MB,
    });
    try {
      const { manifest, reused } = await this.#fill(duck, directory, plan);
      const sealed = await this.#step('publish', () => this.#shelf.seal(directory, manifest));
      const removed = await this.#step('publish', () =>
        publish(this.#shelf, sealed.id, settings.SNAPSHOT_KEEP),
      );
      this.#deps.observer?.onExcluded?.(plan.excluded);
      const summary: BuildSummary = {
        snapshot: sealed.id,
        generated_at: manifest.generated_at,
        counts: manifest.counts,
        reused,
        removed,
        steps_ms: this.#steps,
      };
      log.info(summary, 'snapshot published');
      return summary;
    } finally {
      await duck.close();
      // Nothing is left of a build that failed; a published one bears another name by now.
      await rm(directory, { recursive: true, force: true });
    }
  }

  async #fill(
    duck: DuckSession,
    directory: string,
    plan: SnapshotPlan,
  ): Promise<{ manifest: Manifest; reused: number }> {
    const { indicators } = plan;
    const previous = await this.#shelf.current();
    await prepareTables(
      duck,
      plan.countries.map((country) => country.iso3),
      indicators,
    );
    const linked = await this.#step('materialise', () =>
      writeObservations(duck, directory, indicators, previous, (done) =>
        this.#progress('materialise', done, indicators.length, 'indicators'),
      ),
    );
    const writer = new FileWriter(directory);
    const coverage = await this.#write(duck, writer, directory, plan);
    await this.#step('verify', async () => {
      // A linked file was held against the lake when it was made; its hash says that it is still that file.
      const fresh = indicators.filter(({ id }) => !linked.has(id));
      await verifyFigures(duck, directory, fresh, coverage, (done) =>
        this.#progress('verify', done, fresh.length, 'indicators'),
      );
      await verifyWithheld(directory, plan);
    });
    await this.#step('flush', async () => {
      await adoptFigures(writer, indicators);
      await writer.flush();
    });
    return { manifest: this.#manifest(writer.files, plan, coverage), reused: linked.size };
  }

  /** Writes all that is read off the figures. Of what it takes in memory only the coverage outlives it. */
  async #write(
    duck: DuckSession,
    writer: FileWriter,
    directory: string,
    plan: SnapshotPlan,
  ): Promise<Map<string, IndicatorCoverage>> {
    const { data, coverage } = await this.#describe(duck, directory, plan);
    await this.#step('prerender', () =>
      writer.writeAll(renderFiles(data), (done) =>
        this.#progress('prerender', done, fileCount(data), 'files'),
      ),
    );
    return coverage;
  }

  /** Everything that is said of the figures. */
  async #describe(
    duck: DuckSession,
    directory: string,
    plan: SnapshotPlan,
  ): Promise<{ data: PublicData; coverage: Map<string, IndicatorCoverage> }> {
    const { curated } = this.#deps;
    const { coverage, records, latest, topicCountries, countryCoverage } = await this.#step('tables', () =>
      writeSummaryTables(duck, directory, plan.indicators),
    );
    this.#progress('relations', 0, 1, 'passes');
    const { related, concepts } = await this.#step('relations', async () =>
      findRelations({ indicators: plan.indicators, coverage, latest, links: curated.links }),
    );
    const details = await this.#step('records', async () =>
      countryDetails(plan, curated.topics, records, latest),
    );
    const data: PublicData = {
      generatedAt: formatTimestamp(this.#startedAt),
      topics: topicRecords(curated.topics, records, topicCountries),
      countries: countryRecords(plan),
      indicators: plan.indicators.map(({ topicOrder }, index) => {
        const record = records[index];
        if (!record) throw new RangeError('a planned indicator without a record');
        const { yr_max: last, latest_year: observed } = record.coverage ?? {
          yr_max: null,
          latest_year: null,
        };
        const hasProjections = last !== null && (observed === null || last > observed);
        return { record, topic_order: topicOrder, has_projections: hasProjections };
      }),
      freshness: freshnessRecords(plan, coverage),
      coverage: coverageRecords(plan, countryCoverage),
      details,
      related,
      concepts,
    };
    return { data, coverage };
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
    const begun = performance.now();
    this.#deps.log.debug({ step: name }, 'build step');
    // Some steps keep the thread busy for long: their line goes out before, and a signal comes in.
    await nextTurn();
    try {
      return await work();
    } finally {
      this.#steps[name] = Math.round((this.#steps[name] ?? 0) + performance.now() - begun);
    }
  }

  /** Tells how far a step is, which is also the moment to hear that the build is to stop. */
  #progress(step: string, done: number, total: number, unit: string): void {
    this.#deps.signal?.throwIfAborted();
    this.#deps.observer?.onProgress?.({ task: 'build', step, done, total, unit });
  }
}

async function adoptFigures(writer: FileWriter, indicators: readonly PlannedIndicator[]): Promise<void> {
  const inputs = new Map(indicators.map((one) => [observationsFile(one.id), one.inputs]));
  await writer.adopt([...inputs.keys(), ...Object.values(TABLE_FILES)], inputs);
}
