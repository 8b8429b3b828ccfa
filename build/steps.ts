/** The steps of the command line: each takes the tools of a run and what was asked, and gives an answer. */
import type { Curated } from '../data/curated/curated.ts';
import type { Settings } from '../data/runtime/settings.ts';
import { archiveSummaryLine, archiveWarnings } from './archive/run-archive.ts';
import { buildSnapshot } from './editions/build-snapshot.ts';
import { acceptRun } from './ingest/accept-run.ts';
import { ingestProvider } from './ingest/ingest-provider.ts';
import { ProviderLake } from './lake/lake.ts';
import { type NightlyDependencies, type NightlySummary, nightly, nightlyExitCode } from './nightly.ts';
import { publishedConcepts } from './publish/concept-links.ts';
import { rollback, SnapshotStorage } from './publish/snapshot-storage.ts';
import { verifyPublished } from './publish/verify.ts';
import { CommandError } from './runtime/command-error.ts';

export interface StepOptions {
  provider?: string[];
  run?: string;
  to?: string;
  force?: boolean;
  all?: boolean;
}

export interface StepContext extends NightlyDependencies {
  settings: Settings;
  curated: Curated;
}

/** What a step has to say: one object for programs, lines for people, a code for the shell. */
export interface StepResult {
  result: unknown;
  lines: string[];
  exitCode: number;
}

/** What was asked cannot be done as asked. */
export class UsageError extends Error {
  override name = 'UsageError';
}

type Step = (tools: StepContext, options: StepOptions) => Promise<StepResult>;

function known(curated: Curated, asked: readonly string[] | undefined): string[] {
  const unknown = asked?.find((id) => !curated.providers.has(id));
  if (unknown !== undefined) {
    throw new UsageError(
      `there is no provider "${unknown}"; there are: ${[...curated.providers.keys()].join(', ')}`,
    );
  }
  const real = [...curated.providers.values()].filter(({ enabled, sample }) => enabled && !sample);
  return asked ? [...asked] : real.map(({ id }) => id);
}

const ingest: Step = async (tools, { provider, force = false }) => {
  const records = [];
  for (const id of known(tools.curated, provider)) records.push(await ingestProvider(tools, id, { force }));
  const bad = records.filter(({ status }) => status !== 'succeeded' && status !== 'unchanged');
  return {
    result: records,
    lines: records.map(
      (one) =>
        `${one.provider_id}: ${one.status}, ${one.rows_written} rows of ${one.indicators} indicators` +
        `${one.reason ? ` (${one.reason})` : ''}`,
    ),
    exitCode: bad.length > 0 ? 1 : 0,
  };
};

const materialise: Step = async (tools) => {
  const summary = await buildSnapshot(tools);
  const { snapshot, counts, reused } = summary;
  const line = `published ${snapshot}: ${counts.indicators} indicators (${reused} unchanged), ${counts.observations} observations`;
  return { result: summary, lines: [line], exitCode: 0 };
};

/** What is to be said of the archive; nothing when it was no part of what was asked. */
function archiveLines({ archive, archive_error: why }: NightlySummary): string[] {
  if (!archive) return why === null ? [] : [`nothing archived: ${why}`];
  return [archiveSummaryLine(archive), ...archiveWarnings(archive)];
}

function nightLines(summary: NightlySummary): string[] {
  const { providers, build, build_error: error } = summary;
  const lines = providers.map(
    ({ provider, outcome, reason, rows, seconds }) =>
      `${provider}: ${outcome}${outcome === 'not_due' ? '' : `, ${rows} rows, ${seconds} s`}${reason ? ` (${reason})` : ''}`,
  );
  const published = build ? `published ${build.snapshot}` : `nothing published: ${error}`;
  return [...lines, published, ...archiveLines(summary)];
}

const night: Step = async (tools, { provider, all = false }) => {
  if (provider) known(tools.curated, provider);
  const summary = await nightly(tools, { all, ...(provider ? { providers: provider } : {}) });
  return { result: summary, lines: nightLines(summary), exitCode: nightlyExitCode(summary) };
};

const sample: Step = async (tools) => {
  const samples = [...tools.curated.providers.values()].filter((one) => one.sample).map(({ id }) => id);
  const summary = await nightly(tools, { providers: samples, withoutArchive: true });
  return { result: summary, lines: nightLines(summary), exitCode: nightlyExitCode(summary) };
};

const verify: Step = async (tools) => {
  const result = await verifyPublished(tools.settings, tools.curated);
  const { snapshot, files, traced, outdated } = result;
  const rest = outdated > 0 ? `; ${outdated} come from earlier editions than the lake's` : '';
  return {
    result,
    lines: [
      `${snapshot} is sound: ${files} files, figures of ${traced} indicators traced to the lake${rest}`,
    ],
    exitCode: 0,
  };
};

const back: Step = async ({ settings }, { to }) => {
  const snapshot = await rollback(new SnapshotStorage(settings.SNAPSHOT_DIR), to);
  return { result: { snapshot }, lines: [`serving ${snapshot}`], exitCode: 0 };
};

const archive: Step = async ({ archive: run }) => {
  if (!run) throw new CommandError('there is no Redis at hand: nothing can be archived');
  const summary = await run();
  const troubles = archiveWarnings(summary);
  return {
    result: summary,
    lines: [archiveSummaryLine(summary), ...troubles],
    exitCode: troubles.length > 0 ? 1 : 0,
  };
};

const accept: Step = async (tools, { provider, run }) => {
  const [id] = provider ?? [];
  if (id === undefined || run === undefined) throw new UsageError('accept needs --provider and --run');
  known(tools.curated, [id]);
  const record = await acceptRun(tools, id, run);
  return { result: record, lines: [`${id}: run ${run} accepted as ${record.run_id}`], exitCode: 0 };
};

const list: Step = async ({ settings, curated }) => {
  const shelf = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const [current, ids] = [await shelf.currentId(), await shelf.ids()];
  const providers = await Promise.all(
    [...curated.providers.keys()].map(async (id) => {
      const lake = new ProviderLake(settings.LAKE_DIR, id);
      const [runs, now] = [await lake.records(), await lake.current()];
      return { provider: id, current: now?.record.run_id ?? null, runs };
    }),
  );
  const runLines = providers.flatMap(({ provider, current: good, runs }) =>
    runs.map(
      (run) =>
        `${run.run_id === good ? '*' : ' '} ${provider} ${run.run_id} ${run.status} ${run.rows_written}`,
    ),
  );
  return {
    result: { current, snapshots: ids, providers },
    lines: [...ids.map((id) => `${id === current ? '*' : ' '} ${id}`), ...runLines],
    exitCode: 0,
  };
};

const concepts: Step = async ({ settings }) => {
  const links = await publishedConcepts(settings.SNAPSHOT_DIR);
  const figure = (value: number | null, digits: number): string => value?.toFixed(digits) ?? '-';
  const lines = links.map(({ a, b, a_name: first, b_name: second, common, rho, median_difference: apart }) =>
    [a, b, common, figure(rho, 3), figure(apart, 4), first, second].join('\t'),
  );
  const head = ['a', 'b', 'countries', 'rho', 'apart', 'a is', 'b is'].join('\t');
  return { result: links, lines: [head, ...lines], exitCode: 0 };
};

/** Steps that have to do with Redis: their runs are told of there, or history comes from there. */
export const REDIS_STEPS: ReadonlySet<string> = new Set([
  'ingest',
  'materialise',
  'nightly',
  'sample',
  'rollback',
  'accept',
  'archive',
]);

/** By the name that is typed, with what it is for. */
export const STEPS: ReadonlyMap<string, { run: Step; help: string }> = new Map([
  ['ingest', { run: ingest, help: 'read providers into the lake (--provider ID, several times; --force)' }],
  ['materialise', { run: materialise, help: 'build a snapshot from the lake, verify and publish it' }],
  [
    'nightly',
    {
      run: night,
      help: 'ingest what is due, then build and publish once, then archive (--provider ID, --all)',
    },
  ],
  ['sample', { run: sample, help: 'ingest the figures that ship in npm packages and publish them' }],
  ['verify', { run: verify, help: 'hold the published snapshot against its manifest and the lake' }],
  ['rollback', { run: back, help: 'serve an earlier snapshot (--to ID)' }],
  [
    'archive',
    { run: archive, help: 'move ledger, audit and usage that are old enough from Redis to Parquet' },
  ],
  ['accept', { run: accept, help: 'take a held run as good (--provider ID --run ID)' }],
  ['concepts', { run: concepts, help: 'list the series of different providers that measure one thing' }],
  ['list', { run: list, help: 'show snapshots and runs' }],
]);
