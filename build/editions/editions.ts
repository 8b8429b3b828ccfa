/**
 * Editions: from the lake to a published snapshot, and what is done with published ones. `data/schema/snapshot.ts` describes
 * what lies on disk; `plan/plan-snapshot.ts`, which quality reads as well, decides what may be published.
 *
 * - One build at a time; a second one is a `LockHeldError`. When a step fails or nothing changed, the served one stays.
 * - Equal input gives equal files to the byte. Every figure is verified against the lake before it is served.
 * - An edition never changes. The log of editions only grows, is signed, and is never signed into two that contradict.
 * - Nothing that is withheld is published, in no file of any edition.
 * - A crash at any moment leaves the snapshot that was served; what it left behind is removed by the next build.
 */
export { backfill } from './backfill.ts';
export {
  type BuildDependencies,
  type BuildSummary,
  buildSnapshot,
  describeBuild,
  NothingToPublish,
  WAIT_FOR_BUILD_MS,
} from './build-snapshot.ts';
export { contradiction, LogSigner, readSignedHead, SIGNED_HEAD } from './log-signer.ts';
export { withDecisions } from './plan/licensing.ts';
export {
  describeWithheld,
  listWithheld,
  readWithheldSeries,
} from './plan/withheld-series.ts';
export { DirectoryTarget, type PushTarget, push } from './push/push.ts';
export { collectGarbage, scrub } from './retention.ts';
export { rollback, SnapshotStorage } from './snapshot-storage.ts';
export { SnapshotError, verifyPublished } from './verify.ts';
export { decideToWithhold, deleteWithheld } from './withhold.ts';
