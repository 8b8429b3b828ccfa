/** The steps of the command line. Each takes a context and options and returns a result, lines and an exit code. */
import { resolve } from 'node:path';
import type { Curated } from '../data/curated/curated.ts';
import type { Settings } from '../data/runtime/settings.ts';
import { archiveSummaryLine, archiveWarnings } from './archive/run-archive.ts';
import { backfill } from './editions/backfill.ts';
import { buildSnapshot, WAIT_FOR_BUILD_MS } from './editions/build-snapshot.ts';
import { acceptRun } from './ingest/accept-run.ts';
import { ingestProvider } from './ingest/ingest-provider.ts';
import { heldAdvice, lostPlaces, runReport } from './ingest/run-report.ts';
import { inspect } from './inspect/inspect.ts';
import { lastGood, ProviderLake } from './lake/lake.ts';
import { type NightlyDependencies, type NightlySummary, nightly, nightlyExitCode } from './nightly.ts';
import { publishedConcepts } from './publish/concept-links.ts';
import { LogSigner } from './publish/log-signer.ts';
import { migrateStore } from './publish/migrate.ts';
import { push } from './publish/push.ts';
import { DirectoryTarget } from './publish/push-directory.ts';
import type { PushTarget } from './publish/push-target.ts';
import { collectGarbage } from './publish/retention.ts';
import { rollback, SnapshotStorage } from './publish/snapshot-storage.ts';
import { verifyPublished } from './publish/verify.ts';
import { decideToWithhold, deleteWithheld } from './publish/withhold.ts';
import { qualityLine } from './quality/report.ts';
import { CommandError } from './runtime/command-error.ts';

export interface StepOptions {
  provider?: string[];
  run?: string;
  to?: string;
  force?: boolean;
  all?: boolean;
  delete?: boolean;
  yes?: boolean;
  indicator?: string;
  reason?: string;
  /** What follows the step: of `inspect`, a directory or a URL. */
  argument?: string;
}

export interface StepContext extends NightlyDependencies {
  settings: Settings;
  curated: Curated;
}

/** `result` is printed with `--json`, `lines` without it. */
export interface StepResult {
  result: unknown;
  lines: string[];
  exitCode: number;
}

/** The command line was not understood. */
export class UsageError extends Error {
  override name = 'UsageError';
}

type Step = (context: StepContext, options: StepOptions) => Promise<StepResult>;

/**
 * Returns the given provider ids, or all enabled ones.
 * @throws {UsageError} for an unknown id.
 */
function selectProviders(curated: Curated, given: readonly string[] | undefined): string[] {
  const unknown = given?.find((id) => !curated.providers.has(id));
  if (unknown !== undefined) {
    throw new UsageError(
      `there is no provider "${unknown}"; there are: ${[...curated.providers.keys()].join(', ')}`,
    );
  }
  const enabled = [...curated.providers.values()].filter((one) => one.enabled);
  return given ? [...given] : enabled.map(({ id }) => id);
}

const ingest: Step = async (context, { provider, force = false }) => {
  const records = [];
  for (const id of selectProviders(context.curated, provider))
    records.push(await ingestProvider(context, id, { force }));
  const hasFailed = records.some(({ status }) => status !== 'succeeded' && status !== 'unchanged');
  const hasLost = records.some(({ lost_places: lost = [] }) => lost.length > 0);
  const lake = (id: string) => new ProviderLake(context.settings.LAKE_DIR, id);
  return {
    result: records,
    lines: records.flatMap((one) => runReport(one, lake(one.provider_id).recordFile(one.run_id))),
    exitCode: hasFailed ? 1 : hasLost ? 3 : 0,
  };
};

const materialise: Step = async (context) => {
  const summary = await buildSnapshot(context);
  const { snapshot, counts, reused } = summary;
  const line = `published ${snapshot}: ${counts.indicators} indicators (${reused} unchanged), ${counts.observations} observations`;
  return { result: summary, lines: [line, qualityLine(summary.quality)], exitCode: 0 };
};

/** Empty when the archive was not part of the step. */
function archiveLines({ archive, archive_error: error }: NightlySummary): string[] {
  if (!archive) return error === null ? [] : [`nothing archived: ${error}`];
  return [archiveSummaryLine(archive), ...archiveWarnings(archive)];
}

function nightlyResult(summary: NightlySummary): StepResult {
  const { providers, build, build_error: error, damaged } = summary;
  const lines = providers.flatMap(({ provider, outcome, reason, rows, seconds, run_id, lost_places }) => [
    `${provider}: ${outcome}${outcome === 'not_due' ? '' : `, ${rows} rows, ${seconds} s`}${reason ? ` (${reason})` : ''}`,
    ...lostPlaces(provider, lost_places),
    ...(outcome === 'suspicious' ? [heldAdvice(provider, run_id ?? '')] : []),
  ]);
  const published = build
    ? [`published ${build.snapshot}`, qualityLine(build.quality)]
    : [error === null ? 'nothing built: an origin is followed' : `nothing published: ${error}`];
  return {
    result: summary,
    lines: [...lines, ...published, ...archiveLines(summary), ...damaged],
    exitCode: nightlyExitCode(summary),
  };
}

const nightlyStep: Step = async (context, { provider, all = false }) => {
  if (provider) selectProviders(context.curated, provider);
  return nightlyResult(await nightly(context, { all, ...(provider ? { providers: provider } : {}) }));
};

/** Publishes the starter data of the providers whose upstream has not been read. */
const starter: Step = async (context) => {
  const providers: string[] = [];
  for (const { id, enabled, starter: layout } of context.curated.providers.values()) {
    if (!enabled || !layout) continue;
    const records = await new ProviderLake(context.settings.LAKE_DIR, id).records();
    if (lastGood(records) === null) providers.push(id);
  }
  return nightlyResult(await nightly(context, { providers, withoutArchive: true, starter: true }));
};

const verify: Step = async ({ settings, curated, now }) => {
  const result = await verifyPublished(settings, curated, now());
  const { snapshot, objects, files, traced, outdated } = result;
  const rest = outdated > 0 ? `; ${outdated} come from earlier editions than the lake's` : '';
  const line = `${snapshot} is sound: ${files} files, figures of ${traced} indicators traced to the lake${rest}; ${objects} objects of all snapshots are intact`;
  return { result, lines: [line], exitCode: 0 };
};

const rollbackStep: Step = async ({ settings }, { to }) => {
  const snapshot = await rollback(new SnapshotStorage(settings.SNAPSHOT_DIR), to);
  return { result: { snapshot }, lines: [`serving ${snapshot}`], exitCode: 0 };
};

async function openTarget(to: string, signal: AbortSignal | undefined): Promise<PushTarget> {
  if (!/^(s3|https?):\/\//.test(to)) return new DirectoryTarget(resolve(to));
  // The client of S3 takes a moment to load, which no other step needs.
  const { S3Target } = await import('./publish/push-s3.ts');
  return new S3Target(to, signal);
}

const pushStep: Step = async ({ settings, signal }, { to, delete: removeOthers = false }) => {
  if (to === undefined) throw new UsageError('push needs --to with a directory or the URL of a bucket');
  const target = await openTarget(to, signal);
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const options = { keep: settings.SNAPSHOT_KEEP, removeOthers, signal };
  const summary = await push(storage, target, options).finally(() => target.close());
  const { uploaded, present, removed, edition } = summary;
  const rest = removed > 0 ? `, ${removed} removed` : '';
  const line = `${edition} is at ${target.name}: ${uploaded.objects} objects uploaded (${uploaded.bytes} bytes), ${present} were there${rest}`;
  return { result: summary, lines: [line], exitCode: 0 };
};

const MEGABYTE = 1e6;
const SHOWN = 5;

const gc: Step = async ({ settings }, { yes = false }) => {
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const { objects, bytes, snapshots } = await collectGarbage(storage, settings.SNAPSHOT_KEEP, yes);
  const verb = yes ? 'removed' : 'would remove';
  const size = `${(bytes / MEGABYTE).toFixed(1)} MB`;
  const examples = objects.slice(0, SHOWN).map((one) => `  ${storage.pathOf(one)} (${one.bytes} bytes)`);
  const rest = objects.length > SHOWN ? [`  and ${objects.length - SHOWN} more`] : [];
  const rendered = `among them the prerendered files of ${snapshots.join(', ')}`;
  const lines =
    objects.length === 0
      ? ['nothing to remove']
      : [
          `${verb} ${objects.length} objects, ${size}`,
          ...(snapshots.length > 0 ? [rendered] : []),
          ...examples,
          ...rest,
          ...(yes ? [] : ['nothing was removed; add --yes to remove them']),
        ];
  const result = { removed: yes, objects: objects.map(({ sha256 }) => sha256), bytes, snapshots };
  return { result, lines, exitCode: 0 };
};

const withholdStep: Step = async (context, { provider, indicator, reason }) => {
  const subject = indicator ?? provider?.[0];
  if (subject === undefined || !reason) {
    throw new UsageError('withhold needs --provider or --indicator, and --reason');
  }
  const { settings, now } = context;
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  await decideToWithhold(storage, subject, reason, now());
  const { snapshot } = await buildSnapshot(context);
  const deletion = await deleteWithheld(storage, settings.SNAPSHOT_KEEP);
  const { objects, bytes, snapshots } = deletion;
  const lines = [
    `published ${snapshot} without ${subject}`,
    `deleted ${objects} objects, ${(bytes / MEGABYTE).toFixed(1)} MB, of ${snapshots.length} snapshots`,
    'the lake, backups and origins still have the figures: see docs/building-data.md',
  ];
  return { result: { snapshot, ...deletion }, lines, exitCode: 0 };
};

const migrate: Step = async (context) => {
  const snapshots = await migrateStore(context);
  const lines = [`migrated ${snapshots.length} snapshots of an earlier version`];
  return { result: { snapshots }, lines, exitCode: 0 };
};

const backfillStep: Step = async ({ observer: _, ...context }) => {
  const summary = await backfill({ ...context, waitForOther_ms: WAIT_FOR_BUILD_MS });
  const { editions, left_out: leftOut, lost } = summary;
  const lines = [
    editions.length > 0
      ? `added ${editions.length} editions, from ${editions[0]} to ${editions.at(-1)}`
      : 'nothing to add: the lake holds no night before the first edition',
    ...(leftOut.length > 0 ? [`left out, no longer described in the lake: ${leftOut.join(', ')}`] : []),
    ...lost,
  ];
  return { result: summary, lines, exitCode: lost.length > 0 ? 1 : 0 };
};

const rotateKey: Step = async ({ settings }) => {
  const { id, setting } = await new LogSigner(settings, new SnapshotStorage(settings.SNAPSHOT_DIR)).rotate();
  const next = setting === undefined ? '' : ` when it is set: SIGNING_KEY=${setting}`;
  return {
    result: { id, setting },
    lines: [`the next edition is signed with the key ${id}${next}`],
    exitCode: 0,
  };
};

const archive: Step = async ({ archive: run }) => {
  if (!run) throw new CommandError('Redis is not configured: nothing can be archived');
  const summary = await run();
  const troubles = archiveWarnings(summary);
  return {
    result: summary,
    lines: [archiveSummaryLine(summary), ...troubles],
    exitCode: troubles.length > 0 ? 1 : 0,
  };
};

const accept: Step = async (context, { provider, run }) => {
  const [id] = provider ?? [];
  if (id === undefined || run === undefined) throw new UsageError('accept needs --provider and --run');
  selectProviders(context.curated, [id]);
  const record = await acceptRun(context, id, run);
  return { result: record, lines: [`${id}: run ${run} accepted as ${record.run_id}`], exitCode: 0 };
};

const list: Step = async ({ settings, curated }) => {
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const [current, ids] = [await storage.currentId(), await storage.ids()];
  const providers = await Promise.all(
    [...curated.providers.keys()].map(async (id) => {
      const lake = new ProviderLake(settings.LAKE_DIR, id);
      const [runs, good] = [await lake.records(), await lake.current()];
      return { provider: id, current: good?.record.run_id ?? null, runs };
    }),
  );
  const mark = (isCurrent: boolean): string => (isCurrent ? '*' : ' ');
  const runLines = providers.flatMap(({ provider, current: good, runs }) =>
    runs.map(
      (run) => `${mark(run.run_id === good)} ${provider} ${run.run_id} ${run.status} ${run.rows_written}`,
    ),
  );
  return {
    result: { current, snapshots: ids, providers },
    lines: [...ids.map((id) => `${mark(id === current)} ${id}`), ...runLines],
    exitCode: 0,
  };
};

const concepts: Step = async ({ settings }) => {
  const links = await publishedConcepts(settings.SNAPSHOT_DIR);
  const fixed = (value: number | null, digits: number): string => value?.toFixed(digits) ?? '-';
  const lines = links.map((link) =>
    [
      link.a,
      link.b,
      link.common,
      fixed(link.rho, 3),
      fixed(link.median_difference, 4),
      link.a_name,
      link.b_name,
    ].join('\t'),
  );
  const head = ['a', 'b', 'countries', 'rho', 'apart', 'a is', 'b is'].join('\t');
  return { result: links, lines: [head, ...lines], exitCode: 0 };
};

const inspectStep: Step = async ({ settings, curated, log, now, signal }, { argument, provider }) => {
  if (argument === undefined) throw new UsageError('inspect needs a directory, a file or a URL');
  const inspection = await inspect({
    location: argument,
    id: provider?.[0],
    curated,
    curatedDir: settings.CURATED_DIR,
    log,
    now,
    signal: signal ?? new AbortController().signal,
  });
  const { file, findings, isReadable, command } = inspection;
  const lines = [...findings, `wrote ${file}; check what it marks as a guess, then: ${command}`];
  return { result: inspection, lines, exitCode: isReadable ? 0 : 1 };
};

/** Steps that report their runs to Redis or read from it. */
export const REDIS_STEPS: ReadonlySet<string> = new Set([
  'ingest',
  'materialise',
  'nightly',
  'starter',
  'rollback',
  'migrate',
  'backfill',
  'withhold',
  'accept',
  'archive',
]);

/** Steps that read or change published snapshots without a build. */
export const SNAPSHOT_STEPS: ReadonlySet<string> = new Set([
  'verify',
  'rollback',
  'gc',
  'withhold',
  'list',
  'concepts',
]);

/** Steps by the name typed on the command line. */
export const STEPS: ReadonlyMap<string, { run: Step; help: string; takesArgument?: boolean }> = new Map([
  ['ingest', { run: ingest, help: 'read providers into the lake (--provider ID, several times; --force)' }],
  ['materialise', { run: materialise, help: 'build a snapshot from the lake, verify and publish it' }],
  [
    'nightly',
    {
      run: nightlyStep,
      help: 'ingest what is due, then build and publish once, then archive (--provider ID, --all)',
    },
  ],
  ['starter', { run: starter, help: 'publish data/starter for the providers that were never read' }],
  [
    'verify',
    { run: verify, help: 'check the objects of all snapshots, and the served one against the lake' },
  ],
  ['rollback', { run: rollbackStep, help: 'serve an earlier snapshot (--to ID)' }],
  [
    'push',
    {
      run: pushStep,
      help: 'copy the published snapshots to an origin (--to DIRECTORY or s3://BUCKET/PREFIX; --delete removes what it no longer needs)',
    },
  ],
  ['gc', { run: gc, help: 'show objects that no snapshot needs, or remove them (--yes)' }],
  [
    'withhold',
    {
      run: withholdStep,
      help: 'delete a series from all snapshots where law demands it (--provider ID or --indicator ID, --reason TEXT)',
    },
  ],
  ['migrate', { run: migrate, help: 'make editions of snapshots that an earlier version published' }],
  [
    'backfill',
    { run: backfillStep, help: 'make editions of the nights in the lake before the first publication' },
  ],
  ['rotate-key', { run: rotateKey, help: 'make a new key for signing the log of editions' }],
  ['archive', { run: archive, help: 'move old ledger, audit and usage entries from Redis to Parquet' }],
  ['accept', { run: accept, help: 'accept a held run (--provider ID --run ID)' }],
  [
    'concepts',
    { run: concepts, help: 'list pairs of series from different providers with the same concept' },
  ],
  [
    'inspect',
    {
      run: inspectStep,
      help: 'read an unknown directory or URL and write a first definition (inspect WHERE, --provider ID)',
      takesArgument: true,
    },
  ],
  ['list', { run: list, help: 'show snapshots and runs' }],
]);
