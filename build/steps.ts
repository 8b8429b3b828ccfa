/** The steps of the command line. Each takes a context and options and returns a result, lines and an exit code. */

import type { Curated } from '../data/curated/curated.ts';
import type { RunRecord } from '../data/schema/lake.ts';
import { observedIndicators } from '../data/schema/snapshot.ts';
import { archiveSummaryLine, archiveWarnings } from './archive/run-archive.ts';
import {
  buildSnapshot,
  describeBuild,
  describeWithheld,
  listWithheld,
  readWithheldSeries,
  SnapshotStorage,
} from './editions/editions.ts';
import { acceptRun, heldAdvice, ingestProvider, lostPlaces, runReport } from './ingest/ingest.ts';
import { inspect } from './inspect/inspect.ts';
import { lastGood, ProviderLake } from './lake/lake.ts';
import { type NightlySummary, nightly, nightlyExitCode } from './nightly.ts';
import { qualityLine } from './quality/quality.ts';
import { CommandError, UsageError } from './runtime/errors.ts';
import { SNAPSHOT_STEPS } from './snapshot-steps.ts';
import type { Step, StepContext, StepResult } from './step.ts';

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

/** 1: a run failed or is held. 4: series failed. 3: countries are lost. */
function ingestExitCode(records: readonly RunRecord[]): 0 | 1 | 3 | 4 {
  if (records.some(({ status }) => status !== 'succeeded' && status !== 'unchanged')) return 1;
  if (records.some(({ failed_indicators: failed }) => failed.length > 0)) return 4;
  return records.some(({ lost_places: lost = [] }) => lost.length > 0) ? 3 : 0;
}

/** What goes with the definition of a provider, and how to say that it may. */
async function lossOf({ settings, curated }: StepContext, provider: string): Promise<string> {
  if (curated.providers.has(provider))
    return `${provider} has a definition: delete it first, or set enabled: false`;
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const served = await storage.current();
  const list = served?.manifest.providers[provider];
  if (list === undefined) return `the served snapshot has nothing of ${provider}`;
  const indicators = observedIndicators(await storage.readList(list));
  return (
    `${indicators.length} indicators of ${provider} and their history in ${(await storage.ids()).length} editions will answer ` +
    `no more. Are you sure? Then add --yes: materialise --without ${provider} --yes`
  );
}

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
    ? [describeBuild(build), ...build.withheld.flatMap(describeWithheld), qualityLine(build.quality)]
    : [error === null ? 'nothing built: an origin is followed' : `nothing published: ${error}`];
  return {
    result: summary,
    lines: [...lines, ...published, ...archiveLines(summary), ...damaged],
    exitCode: nightlyExitCode(summary),
  };
}

const ALL: Readonly<Record<string, Step>> = {
  ingest: {
    help: 'read providers into the lake (--provider ID, several times; --force)',
    usesRedis: true,
    async run(context, { provider, force = false }) {
      const { curated, settings } = context;
      const records: RunRecord[] = [];
      const lines: string[] = [];
      for (const id of selectProviders(curated, provider)) {
        const record = await ingestProvider(context, id, { force });
        const lake = new ProviderLake(settings.LAKE_DIR, id);
        const definition = curated.providers.get(id);
        const withheld = definition ? listWithheld(await readWithheldSeries(lake, definition, curated)) : [];
        records.push(record);
        lines.push(...runReport(record, lake.recordFile(record.run_id)), ...withheld);
      }
      return { result: records, lines, exitCode: ingestExitCode(records) };
    },
  },
  materialise: {
    help: 'build a snapshot from the lake, verify and publish it (--without PROVIDER --yes, once its definition is deleted)',
    usesRedis: true,
    async run(context, { without, yes = false }) {
      if (without !== undefined && !yes) throw new CommandError(await lossOf(context, without));
      const withoutProviders = without === undefined ? [] : [without];
      const summary = await buildSnapshot({ ...context, withoutProviders });
      const { counts, reused, withheld } = summary;
      const line = `${describeBuild(summary)}: ${counts.indicators} indicators (${reused} unchanged), ${counts.observations} observations`;
      return {
        result: summary,
        lines: [line, ...withheld.flatMap(describeWithheld), qualityLine(summary.quality)],
        exitCode: 0,
      };
    },
  },
  nightly: {
    help: 'ingest what is due, then build and publish once, then archive (--provider ID, --all)',
    usesRedis: true,
    async run(context, { provider, all = false }) {
      if (provider) selectProviders(context.curated, provider);
      return nightlyResult(await nightly(context, { all, ...(provider ? { providers: provider } : {}) }));
    },
  },
  starter: {
    help: 'publish data/starter for the providers that were never read',
    usesRedis: true,
    async run(context) {
      const providers: string[] = [];
      for (const { id, enabled, starter: layout } of context.curated.providers.values()) {
        if (!enabled || !layout) continue;
        const records = await new ProviderLake(context.settings.LAKE_DIR, id).records();
        if (lastGood(records) === null) providers.push(id);
      }
      const summary = await nightly(context, { providers, withoutArchive: true, starter: true });
      const result = nightlyResult(summary);
      // A first start has little to say when all is well.
      return result.exitCode === 0 && summary.build
        ? { ...result, lines: [describeBuild(summary.build)] }
        : result;
    },
  },
  ...SNAPSHOT_STEPS,
  archive: {
    help: 'move old ledger, audit and usage entries from Redis to Parquet',
    usesRedis: true,
    async run({ archive: run }) {
      if (!run) throw new CommandError('Redis is not configured: nothing can be archived');
      const summary = await run();
      const troubles = archiveWarnings(summary);
      return {
        result: summary,
        lines: [archiveSummaryLine(summary), ...troubles],
        exitCode: troubles.length > 0 ? 1 : 0,
      };
    },
  },
  accept: {
    help: 'accept a held run (--provider ID --run ID)',
    usesRedis: true,
    async run(context, { provider, run }) {
      const [id] = provider ?? [];
      if (id === undefined || run === undefined) throw new UsageError('accept needs --provider and --run');
      selectProviders(context.curated, [id]);
      const record = await acceptRun(context, id, run);
      return { result: record, lines: [`${id}: run ${run} accepted as ${record.run_id}`], exitCode: 0 };
    },
  },
  inspect: {
    help: 'read an unknown directory or URL and write a first definition (inspect WHERE, --provider ID)',
    takesArgument: true,
    async run({ settings, curated, log, now, signal }, { argument, provider }) {
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
    },
  },
  list: {
    help: 'show snapshots and runs',
    async run({ settings, curated }) {
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
    },
  },
};

/** Steps by the name typed on the command line. */
export const STEPS: ReadonlyMap<string, Step> = new Map(Object.entries(ALL));
