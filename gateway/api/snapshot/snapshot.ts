/**
 * Snapshots: what was published, read.
 *
 * - `SnapshotStore` follows the pointer to the published snapshot, opens a new one beside the old and switches between two
 *   requests; one whose lists, catalogue or whole bodies do not match their hashes is refused and logged.
 * - Operations see an `Edition`, which never changes: a request uses one from start to end. The served one has most answers
 *   ready; any earlier one computes them from kept files, and today's decisions govern what it shows.
 * - No answer is made from a file that was not verified since this process first opened it; a file that cannot be read, or has
 *   another content than published, makes the call unavailable, never wrong.
 * - Memory is bounded: columns of asked-for series, bodies and parsed files are kept within budgets.
 * - Queries are prepared, values bound, and each has a time limit, waiting included.
 * - An origin that is followed is proven before it is mirrored. Nothing here knows operations, HTTP or keys.
 */
export * from './editions/catalogue.ts';
export * from './editions/edition.ts';
export * from './editions/example-values.ts';
export type { Figure, RevisionWithUnits } from './editions/revisions.ts';
export { Snapshot } from './editions/snapshot.ts';
export { SnapshotStore, type Snapshots } from './editions/store.ts';
export { sunsetOf } from './editions/todays-terms.ts';
export { readManifest } from './files/manifest.ts';
export { ByteCache } from './files/memory.ts';
export type { Encoding } from './files/route-files.ts';
export { Scrub } from './files/scrub.ts';
export { SnapshotUnreadable } from './files/snapshot-files.ts';
export type { StoredFile } from './files/whole-files.ts';
export { openOrigin } from './origin/origin.ts';
export * from './rows/indicator-columns.ts';
export { Observations, statusKey } from './rows/observations.ts';
export { type Detail, detailsOf, QueryRunner, QueryTimeout, readAllColumns } from './rows/query-runner.ts';
export * from './search/search.ts';
export { searchFor } from './search/searches.ts';
export type { FindOptions, Match, SeriesHit } from './search/series-search.ts';
