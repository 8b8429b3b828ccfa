/** The steps that keep what is published: check, go back, copy, clean up, withhold, sign. */
import { resolve } from 'node:path';
import {
  backfill,
  buildSnapshot,
  collectGarbage,
  DirectoryTarget,
  decideToWithhold,
  deleteWithheld,
  LogSigner,
  type PushTarget,
  push,
  rollback,
  SnapshotStorage,
  verifyPublished,
  WAIT_FOR_BUILD_MS,
} from './editions/editions.ts';
import { type RunStep, type Step, UsageError } from './step.ts';

const verify: RunStep = async ({ settings, curated, now }) => {
  const result = await verifyPublished(settings, curated, now());
  const { snapshot, objects, files, traced, outdated } = result;
  const rest = outdated > 0 ? `; ${outdated} come from earlier editions than the lake's` : '';
  const line = `${snapshot} is sound: ${files} files, figures of ${traced} indicators traced to the lake${rest}; ${objects} objects of all snapshots are intact`;
  return { result, lines: [line], exitCode: 0 };
};

const rollbackStep: RunStep = async ({ settings, now }, { to, reason = null }) => {
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const snapshot = await rollback(storage, { to, reason, now_ms: now() });
  return { result: { snapshot }, lines: [`serving ${snapshot}`], exitCode: 0 };
};

async function openTarget(to: string, signal: AbortSignal | undefined): Promise<PushTarget> {
  if (!/^(s3|https?):\/\//.test(to)) return new DirectoryTarget(resolve(to));
  // The client of S3 takes a moment to load, which no other step needs.
  const { S3Target } = await import('./editions/push/push-s3.ts');
  return new S3Target(to, signal);
}

const pushStep: RunStep = async ({ settings, signal }, { to, delete: removeOthers = false }) => {
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

const gc: RunStep = async ({ settings }, { yes = false }) => {
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

const withholdStep: RunStep = async (context, { provider, indicator, reason }) => {
  const subject = indicator ?? provider?.[0];
  if (subject === undefined || !reason) {
    throw new UsageError('withhold needs --provider or --indicator, and --reason');
  }
  const { settings, now } = context;
  const storage = new SnapshotStorage(settings.SNAPSHOT_DIR);
  const withholding = { storage, signer: new LogSigner(settings, storage), now_ms: now() };
  await decideToWithhold(withholding, subject, reason);
  const { snapshot } = await buildSnapshot(context);
  const deletion = await deleteWithheld(withholding, settings.SNAPSHOT_KEEP);
  const { objects, bytes, snapshots } = deletion;
  const lines = [
    `${snapshot} is served, without ${subject}`,
    `deleted ${objects} objects, ${(bytes / MEGABYTE).toFixed(1)} MB, of ${snapshots.length} snapshots`,
    'the lake, backups and origins still have the figures: see docs/building-data.md',
  ];
  return { result: { snapshot, ...deletion }, lines, exitCode: 0 };
};

const backfillStep: RunStep = async ({ observer: _, ...context }) => {
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

const rotateKey: RunStep = async ({ settings }) => {
  const { id, setting } = await new LogSigner(settings, new SnapshotStorage(settings.SNAPSHOT_DIR)).rotate();
  const next = setting === undefined ? '' : ` when it is set: SIGNING_KEY=${setting}`;
  return {
    result: { id, setting },
    lines: [`the next edition is signed with the key ${id}${next}`],
    exitCode: 0,
  };
};

/** By the name typed on the command line. */
export const SNAPSHOT_STEPS: Readonly<Record<string, Step>> = {
  verify: {
    run: verify,
    help: 'check the objects of all snapshots, and the served one against the lake',
  },
  rollback: {
    run: rollbackStep,
    help: 'serve an earlier snapshot (--to ID, --reason TEXT, which everybody can read)',
    usesRedis: true,
  },
  push: {
    run: pushStep,
    help: 'copy the published snapshots to an origin (--to DIRECTORY or s3://BUCKET/PREFIX; --delete removes what it no longer needs)',
  },
  gc: {
    run: gc,
    help: 'show objects that no snapshot needs, or remove them (--yes)',
  },
  withhold: {
    run: withholdStep,
    help: 'delete a series from all snapshots where law demands it (--provider ID or --indicator ID, --reason TEXT)',
    usesRedis: true,
  },
  backfill: {
    run: backfillStep,
    help: 'make editions of the nights in the lake before the first publication',
    usesRedis: true,
  },
  'rotate-key': { run: rotateKey, help: 'make a new key for signing the log of editions' },
};
