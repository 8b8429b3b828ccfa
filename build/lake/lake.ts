/**
 * The lake: every run of every provider as it was read, before anything is published. The gateway never reads it.
 *
 * - A run becomes visible whole, by one rename; only one that succeeded becomes current. A crash leaves nothing half done.
 * - A finished run never changes. What LAKE_KEEP removes leaves its record, revisions and list of upstream files for ever.
 * - Rows are sorted by series, country and year, each once; a number is the double nearest to what upstream wrote.
 * - A series has a digest of its rows, equal on every machine, by which later runs and builds detect changes.
 * - Whoever writes holds the lock of the provider. Reading needs none.
 * - A past run can be rebuilt from the first of its chain and the revisions since, or it is a `LostRunError`.
 */
export { LakeWriter } from './lake-writer.ts';
export { LostRunError, PastLake, type PastNight } from './past-lake.ts';
export {
  compactTime,
  emptyRecord,
  FETCHES,
  type LakeRun,
  lastGood,
  OBSERVATIONS,
  ProviderLake,
} from './provider-lake.ts';
export { changedSeries, writeRevisions } from './revisions.ts';
export {
  factsOf,
  firstProjectedYear,
  type LakeRow,
  newestYearOf,
  type ProjectionRule,
  projectionRuleOf,
  type SeriesFacts,
  type SeriesFile,
  yearOf,
  yearsWithoutRule,
} from './series-facts.ts';
export { filesBySeries, knownSources, type RunSources, readSources, recordSources } from './sources.ts';
