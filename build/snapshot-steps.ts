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
import { UsageError } from './runtime/errors.ts';
import type { Step, StepContext } from './step.ts';

const storageOf = ({ settings }: StepContext) => new SnapshotStorage(settings.SNAPSHOT_DIR);
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

async function openTarget(to: string, signal: AbortSignal | undefined): Promise<PushTarget> {
  if (!/^(s3|https?):\/\//.test(to)) return new DirectoryTarget(resolve(to));
  // The client of S3 takes a moment to load, which no other step needs.
  const { S3Target } = await import('./editions/push/push-s3.ts');
  return new S3Target(to, signal);
}

const SHOWN = 5;

/** By the name typed on the command line. */
export const SNAPSHOT_STEPS: Readonly<Record<string, Step>> = {
  verify: {
    help: 'check the objects of all snapshots, and the served one against the lake',
    async run({ settings, curated, now }) {
      const result = await verifyPublished(settings, curated, now());
      const { snapshot, objects, files, traced, outdated } = result;
      const rest = outdated > 0 ? `; ${outdated} come from earlier editions than the lake's` : '';
      const line = `${snapshot} is sound: ${files} files, figures of ${traced} indicators traced to the lake${rest}; ${objects} objects of all snapshots are intact`;
      return { result, lines: [line], exitCode: 0 };
    },
  },
  rollback: {
    help: 'serve an earlier snapshot (--to ID, --reason TEXT, which everybody can read)',
    usesRedis: true,
    async run(context, { to, reason = null }) {
      const snapshot = await rollback(storageOf(context), { to, reason, now_ms: context.now() });
      return { result: { snapshot }, lines: [`serving ${snapshot}`], exitCode: 0 };
    },
  },
  push: {
    help: 'copy the published snapshots to an origin (--to DIRECTORY or s3://BUCKET/PREFIX; --delete removes what it no longer needs)',
    async run(context, { to, delete: removeOthers = false }) {
      if (to === undefined) throw new UsageError('push needs --to with a directory or the URL of a bucket');
      const { settings, signal } = context;
      const target = await openTarget(to, signal);
      const options = { keep: settings.SNAPSHOT_KEEP, removeOthers, signal };
      const result = await push(storageOf(context), target, options).finally(() => target.close());
      const { uploaded, present, removed, edition } = result;
      const rest = removed > 0 ? `, ${removed} removed` : '';
      const line = `${edition} is at ${target.name}: ${uploaded.objects} objects uploaded (${uploaded.bytes} bytes), ${present} were there${rest}`;
      return { result, lines: [line], exitCode: 0 };
    },
  },
  gc: {
    help: 'show objects that no snapshot needs, or remove them (--yes)',
    async run(context, { yes = false }) {
      const storage = storageOf(context);
      const garbage = await collectGarbage(storage, context.settings.SNAPSHOT_KEEP, yes);
      const { objects, bytes, snapshots } = garbage;
      const result = { removed: yes, objects: objects.map(({ sha256 }) => sha256), bytes, snapshots };
      if (objects.length === 0) return { result, lines: ['nothing to remove'], exitCode: 0 };
      const examples = objects.slice(0, SHOWN).map((one) => `  ${storage.pathOf(one)} (${one.bytes} bytes)`);
      const lines = [
        `${yes ? 'removed' : 'would remove'} ${objects.length} objects, ${megabytes(bytes)}`,
        ...(snapshots.length > 0 ? [`among them the prerendered files of ${snapshots.join(', ')}`] : []),
        ...examples,
        ...(objects.length > SHOWN ? [`  and ${objects.length - SHOWN} more`] : []),
        ...(yes ? [] : ['nothing was removed; add --yes to remove them']),
      ];
      return { result, lines, exitCode: 0 };
    },
  },
  withhold: {
    help: 'delete a series from all snapshots where law demands it (--provider ID or --indicator ID, --reason TEXT)',
    usesRedis: true,
    async run(context, { provider, indicator, reason }) {
      const subject = indicator ?? provider?.[0];
      if (subject === undefined || !reason)
        throw new UsageError('withhold needs --provider or --indicator, and --reason');
      const { settings, now } = context;
      const storage = storageOf(context);
      const withholding = { storage, signer: new LogSigner(settings, storage), now_ms: now() };
      await decideToWithhold(withholding, subject, reason);
      const { snapshot } = await buildSnapshot(context);
      const deletion = await deleteWithheld(withholding, settings.SNAPSHOT_KEEP);
      const { objects, bytes, snapshots } = deletion;
      const lines = [
        `${snapshot} is served, without ${subject}`,
        `deleted ${objects} objects, ${megabytes(bytes)}, of ${snapshots.length} snapshots`,
        'the lake, backups and origins still have the figures: see docs/building-data.md',
      ];
      return { result: { snapshot, ...deletion }, lines, exitCode: 0 };
    },
  },
  backfill: {
    help: 'make editions of the nights in the lake before the first publication',
    usesRedis: true,
    async run({ observer: _, ...context }) {
      const result = await backfill({ ...context, waitForOther_ms: WAIT_FOR_BUILD_MS });
      const { editions, left_out: leftOut, lost } = result;
      const lines = [
        editions.length > 0
          ? `added ${editions.length} editions, from ${editions[0]} to ${editions.at(-1)}`
          : 'nothing to add: the lake holds no night before the first edition',
        ...(leftOut.length > 0 ? [`left out, no longer described in the lake: ${leftOut.join(', ')}`] : []),
        ...lost,
      ];
      return { result, lines, exitCode: lost.length > 0 ? 1 : 0 };
    },
  },
  'rotate-key': {
    help: 'make a new key for signing the log of editions',
    async run(context) {
      const { id, setting } = await new LogSigner(context.settings, storageOf(context)).rotate();
      const next = setting === undefined ? '' : ` when it is set: SIGNING_KEY=${setting}`;
      const line = `the next edition is signed with the key ${id}${next}`;
      return { result: { id, setting }, lines: [line], exitCode: 0 };
    },
  },
};
