/**
 * Ingestion: one run of one provider, from its upstream into the lake.
 *
 * - One run of a provider at a time; a second one is a `LockHeldError`. Every run leaves a record that says how it ended.
 * - A run that differs suspiciously from the last good one is held until an operator accepts it.
 * - An unchanged upstream costs only conditional requests. A series that cannot be read keeps its last good rows.
 * - No row is repaired: it is kept as upstream wrote it, or rejected and counted by reason.
 * - A country that gets no row because upstream writes it in an unknown way is reported by name.
 */
export { acceptRun } from './accept-run.ts';
export { findLostPlaces, providerSchemes } from './definition-gaps.ts';
export { type IngestDependencies, ingestProvider } from './ingest-provider.ts';
export { heldAdvice, listed, lostPlaces, runReport } from './run-report.ts';
