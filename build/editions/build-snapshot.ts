/**
 * Builds a snapshot from the lake: plan, observation files, tables, relations, quality report, verification, rendered
 * bodies, publication. One build runs at a time. When a step fails, or nothing changed, the served snapshot stays.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Curated } from '../../data/curated/curated.ts';
import { rulesTree } from '../../data/proofs/merkle-tree.ts';
import type { Replacement } from '../../data/runtime/durable-files.ts';
import { withLock } from '../../data/runtime/file-lock.ts';
import type { Settings } from '../../data/runtime/settings.ts';
import { type BuildRun, SNAPSHOT_SUBJECT } from '../../data/schema/jobs.ts';
import { NO_DECISIONS, type OperatorDecisions, type Overrides } from '../../data/schema/operator-changes.ts';
import type { QualityCounts } from '../../data/schema/quality.ts';
import { formatTimestamp } from '../../data/schema/records.ts';
import { type FileList, type Manifest, observationsFile } from '../../data/schema/snapshot.ts';
import { compactTime, yearOf } from '../lake/lake.ts';
import { operatorReportOf, QualityReports } from '../quality/quality.ts';
import { DuckSession } from '../runtime/duckdb.ts';
import { CommandError, describeError } from '../runtime/errors.ts';
import type { BuildObserver } from '../runtime/progress.ts';
import { BuildSteps } from './build-steps.ts';
import { storeChanges } from './compare/compare-editions.ts';
import { LogSigner, type SigningSettings } from './log-signer.ts';
import { withDecisions, withoutWithheld } from './plan/licensing.ts';
import { planSnapshot, type SnapshotPlan } from './plan/plan-snapshot.ts';
import { publicAliases, readServedHistory, refuseLostHistory, vanishedIndicators } from './plan/vanished.ts';
import { plannedWithheldSeries, type WithheldSeries } from './plan/withheld-series.ts';
import { type EditionProofs, proveEdition } from './proofs.ts';
import { prune } from './retention.ts';
import { type Draft, SnapshotStorage } from './snapshot-storage.ts';
import { writeBundles } from './tables/bundles.ts';
import { writeExcerpts } from './tables/excerpts.ts';
import { type BaseEdition, FileWriter, showBase } from './tables/file-writer.ts';
import { prepareTables, writeObservations } from './tables/materialise.ts';
import { contentHash, renderKept, renderRoutes, routeCount } from './tables/prerender.ts';
import { type CollectedData, collectPublicData, type Written } from './tables/public-data.ts';
import { COVERAGE_FILE, latestParts } from './tables/summary-tables.ts';
import { verifyFigures, verifyWithheld } from './verify.ts';

const MEMORY_MB = 768;
/** How long jobs and nightly runs wait for another build to end. */
export const WAIT_FOR_BUILD_MS = 30 * 60_000;

export interface BuildDependencies {
  settings: Pick<Settings, 'LAKE_DIR' | 'SNAPSHOT_DIR' | 'SNAPSHOT_KEEP'> & SigningSettings;
  curated: Curated;
  now: () => number;
  log: Logger;
  /** The operators' changes, or a function that reads them when the build starts. */
  overrides?: Overrides | (() => Promise<Overrides>);
  /** What operators decided about providers and licences when the build starts. */
  decisions?: () => Promise<OperatorDecisions>;
  observer?: BuildObserver;
  signal?: AbortSignal;
  signalFor?: (subject: string) => AbortSignal;
  /** Providers without a definition whose whole history may go. */
  withoutProviders?: readonly string[];
  /** How long to wait for another build; without it, the build fails at once. */
  waitForOther_ms?: number;
}

export interface BuildSummary {
  /** Id of the snapshot that is served now. */
  snapshot: string;
  /** False when nothing changed, so that nothing was published. */
  is_new: boolean;
  generated_at: string;
  counts: Manifest['counts'];
  /** Series in the lake that terms or curated reasons withhold. */
  withheld: WithheldSeries[];
  /** Observation files taken over from the snapshot before. */
  reused: number;
  quality: QualityCounts;
  /** Snapshots whose prerendered files were removed. */
  removed: string[];
  /** Milliseconds by step. */
  steps_ms: Record<string, number>;
}

/** What a build did, in words. */
export const describeBuild = ({ snapshot, is_new: isNew }: BuildSummary): string =>
  isNew ? `published ${snapshot}` : `nothing changed: ${snapshot} stays`;

/** No provider has an indicator that may be published. */
export class NothingToPublish extends CommandError {
  override name = 'NothingToPublish';
}

/**
 * Builds a snapshot from the last good runs in the lake and publishes it.
 * @throws {LockHeldError} when another build is running; {NothingToPublish}; {SnapshotError} when verification fails.
 */
export async function buildSnapshot(dependencies: BuildDependencies): Promise<BuildSummary> {
  const storage = new SnapshotStorage(dependencies.settings.SNAPSHOT_DIR);
  const { waitForOther_ms: wait_ms, signal } = dependencies;
  return withLock(storage.lockFile, 'the snapshot', { wait_ms, signal }, async (lock) => {
    await storage.clean();
    const { curated: given, decisions = async () => NO_DECISIONS } = dependencies;
    const curated = withoutWithheld(withDecisions(given, await decisions()), await storage.withheld());
    return reportBuild({ ...dependencies, curated, signal: lock.signal }, storage);
  });
}

/** Reports the start and the end of a build to the observer, and names the run in every log line. */
async function reportBuild(deps: BuildDependencies, storage: SnapshotStorage): Promise<BuildSummary> {
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
    const summary = await new Build({ ...deps, log, signal }, storage).run();
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

/** All data of a snapshot and its kept files, before it has a time. */
interface Prepared extends Written, Omit<CollectedData, 'additions'> {
  kept: FileWriter;
  proofs: EditionProofs;
}

class Build {
  readonly #deps: BuildDependencies;
  readonly #storage: SnapshotStorage;
  readonly #steps: BuildSteps;
  readonly #startedAt: number;
  /** The id that the pointer names when the build begins. */
  #served: string | null = null;
  readonly #signer: LogSigner;

  constructor(deps: BuildDependencies, storage: SnapshotStorage) {
    this.#deps = deps;
    this.#storage = storage;
    this.#steps = new BuildSteps(deps);
    this.#startedAt = deps.now();
    this.#signer = new LogSigner(deps.settings, storage);
  }

  async run(): Promise<BuildSummary> {
    const { settings, curated, overrides: given = new Map() } = this.#deps;
    const overrides = typeof given === 'function' ? await given() : given;
    this.#served = await this.#storage.currentId();
    const base = await this.#storage.current();
    refuseLostHistory(base?.manifest ?? null, curated, this.#deps.withoutProviders);
    const plan = await this.#steps.run('plan', () =>
      planSnapshot(settings.LAKE_DIR, curated, overrides, yearOf(this.#startedAt)),
    );
    if (plan.indicators.length === 0)
      throw new NothingToPublish('no provider has data that may be published');
    await this.#signer.recover();
    const directory = await this.#storage.begin();
    const duck = await DuckSession.open({
      scratch: join(settings.SNAPSHOT_DIR, '.building-scratch'),
      memoryMb: MEMORY_MB,
    });
    let report: Replacement | null = null;
    try {
      const prepared = await this.#prepare(duck, directory, plan, overrides);
      report = await this.#steps.run('quality', () =>
        new QualityReports(settings.LAKE_DIR).draft(duck, prepared.quality),
      );
      return await this.#publishIfNew(duck, prepared, report);
    } finally {
      await report?.discard();
      await duck.close();
      await rm(directory, { recursive: true, force: true });
    }
  }

  /** Writes and verifies everything that holds no time, and flushes it to disk. */
  async #prepare(
    duck: DuckSession,
    directory: string,
    plan: SnapshotPlan,
    overrides: Overrides,
  ): Promise<Prepared> {
    const { indicators, countries } = plan;
    const base = await showBase(this.#storage, directory);
    const history = await readServedHistory(this.#storage, base?.id ?? null);
    const served = countries.map((country) => country.iso3);
    await prepareTables(duck, served, indicators);
    const count = (step: string) => this.#steps.counter(step, indicators.length, 'indicators');
    const linked = await this.#steps.run('materialise', () =>
      writeObservations(duck, directory, indicators, base, count('materialise')),
    );
    const written: Written = { directory, plan, base, history, linked };
    const { data, coverage, quality, additions, groups } = await collectPublicData(written, {
      duck,
      curated: this.#deps.curated,
      steps: this.#steps,
      lakeDir: this.#deps.settings.LAKE_DIR,
      log: this.#deps.log,
      startedAt: this.#startedAt,
    });
    const proofs = await this.#steps.run('proofs', () =>
      proveEdition(duck, directory, indicators, count('proofs')),
    );
    const kept = new FileWriter(directory, base?.directory);
    await this.#steps.run('records', async () => {
      const vanished = await vanishedIndicators(
        plan,
        { storage: this.#storage, base, departures: history.departures },
        this.#deps.curated,
        overrides,
      );
      const aliases = publicAliases(plan, this.#deps.curated, overrides);
      const files = [...renderKept({ ...data, additions, vanished, aliases }), ...proofs.files];
      await kept.writeAll(files, () => {});
    });
    await this.#steps.run('verify', async () => {
      // A linked file was verified when it was first built, and its hash has been checked since.
      const fresh = indicators.filter(({ id }) => !linked.has(id));
      const onVerified = this.#steps.counter('verify', fresh.length, 'indicators');
      await verifyFigures(duck, directory, fresh, coverage, onVerified);
      await verifyWithheld(directory, [...groups.keys(), ...Object.keys(kept.files)], plan);
    });
    await this.#steps.run('flush', async () => {
      const observations = indicators.map((one) => [observationsFile(one.id), one.inputs] as const);
      const inputs = new Map([...observations, ...groups]);
      await kept.adopt([...inputs.keys(), ...latestParts(indicators).keys()], inputs);
      await kept.flush();
    });
    return { ...written, data, coverage, quality, groups, kept, proofs };
  }

  async #publishIfNew(duck: DuckSession, prepared: Prepared, report: Replacement): Promise<BuildSummary> {
    const { plan, base, linked, quality, kept, data } = prepared;
    const content = contentHash(kept.files, data);
    const isNew = base?.manifest.content !== content || !(await this.#isServable(base));
    const { manifest, removed } = isNew
      ? await this.#publish(duck, prepared, content, report)
      : { manifest: base.manifest, removed: [] };
    if (!isNew) {
      await this.#steps.run('publish', async () => {
        // The kept files replace those that were found damaged.
        await this.#storage.adopt(prepared.directory, kept.files);
        await report.commit();
      });
    }
    const { log, observer } = this.#deps;
    observer?.onExcluded?.(plan.excluded);
    observer?.onQuality?.(operatorReportOf(quality, manifest.generated_at));
    const summary: BuildSummary = {
      snapshot: manifest.id,
      is_new: isNew,
      generated_at: manifest.generated_at,
      counts: manifest.counts,
      withheld: plannedWithheldSeries(plan),
      reused: linked.size,
      quality: quality.counts,
      removed,
      steps_ms: this.#steps.times_ms,
    };
    log.info(summary, isNew ? 'snapshot published' : 'nothing changed: no snapshot published');
    return summary;
  }

  /** Whether all prerendered files are there. */
  async #isServable(base: BaseEdition): Promise<boolean> {
    const files = await this.#storage.prerendered(base);
    if (files === null) return false;
    const isPresent = await Promise.all(Object.values(files).map((ref) => this.#storage.has(ref)));
    return !isPresent.includes(false);
  }

  async #publish(
    duck: DuckSession,
    prepared: Prepared,
    content: string,
    report: Replacement,
  ): Promise<{ manifest: Manifest; removed: string[] }> {
    const { directory, base, kept, proofs } = prepared;
    const { aliases } = this.#deps.curated;
    const changes = await this.#steps.run('revisions', () =>
      storeChanges(duck, this.#storage, base, { directory, kept: kept.files, aliases }),
    );
    const generatedAt = await this.#storage.nextTime(this.#deps.now());
    const prerendered = await this.#prerender(duck, prepared, formatTimestamp(generatedAt));
    const facts = this.#facts(prepared, content, generatedAt);
    return this.#steps.run('publish', async () => {
      const lineage = { base: base?.id ?? null, ...changes };
      const sealed = await this.#storage.seal({ directory, kept: kept.files, prerendered, facts, lineage });
      const { commit } = this.#signer;
      await this.#storage.publish(sealed, proofs.root, { served: this.#served, commit, now: this.#deps.now });
      await report.commit();
      return { manifest: sealed.manifest, removed: await this.#prune() };
    });
  }

  /** The snapshot is published: a failure here is for the operator, not for the build. */
  #prune(): Promise<string[]> {
    return prune(this.#storage, this.#deps.settings.SNAPSHOT_KEEP).catch((error: unknown) => {
      this.#deps.log.error({ err: error }, 'old prerendered files are not removed');
      return [];
    });
  }

  async #prerender(duck: DuckSession, prepared: Prepared, generatedAt: string): Promise<FileList> {
    const { directory, data, plan, kept, base } = prepared;
    const writer = new FileWriter(directory);
    const bundles = await this.#steps.run('bundles', () =>
      writeBundles(duck, plan.indicators, { directory, kept: kept.files, base }),
    );
    const excerpts = await this.#steps.run('excerpts', () =>
      writeExcerpts(duck, plan.indicators, {
        countries: data.countries.map(({ iso3 }) => iso3),
        directory,
        kept: kept.files,
        base,
      }),
    );
    await this.#steps.run('prerender', () =>
      writer.writeAll(
        renderRoutes(data, generatedAt),
        this.#steps.counter('prerender', routeCount(data), 'files'),
      ),
    );
    await this.#steps.run('verify', () =>
      verifyWithheld(directory, [...excerpts.keys(), ...Object.keys(writer.files)], plan),
    );
    await this.#steps.run('flush', async () => {
      const inputs = new Map([...bundles, ...excerpts]);
      await writer.adopt([COVERAGE_FILE, ...inputs.keys()], inputs);
      await writer.flush();
    });
    return writer.files;
  }

  #facts({ plan, coverage, data }: Prepared, content: string, generatedAt: number): Draft['facts'] {
    const providers = [...new Set(plan.indicators.map(({ providerId }) => providerId))].sort();
    const rules = rulesTree(data.rules);
    const runs = plan.providers.flatMap(({ definition, run }): [string, string][] =>
      run && providers.includes(definition.id) ? [[definition.id, run.record.run_id]] : [],
    );
    return {
      id: `${compactTime(generatedAt)}-${content.slice(0, 8)}`,
      generated_at: formatTimestamp(generatedAt),
      counts: {
        providers: providers.length,
        indicators: plan.indicators.length,
        countries: plan.countries.length,
        observations: [...coverage.values()].reduce((sum, { rows }) => sum + rows, 0),
      },
      runs: Object.fromEntries(runs),
      content,
      rules: { leaves: rules.size, root: rules.root.toString('hex') },
    };
  }
}
