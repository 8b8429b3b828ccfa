/**
 * Jobs of operators and of the schedule, and what Redis knows of running work.
 *
 * - A job runs at most once. One that is lost with its worker is failed within two minutes and not repeated.
 * - Jobs of one provider exclude each other, and so do builds: the second one ends as `busy` and changes nothing.
 * - A run reports record, progress, log lines and a heartbeat; a failed report never fails or delays a run.
 * - The lake holds the truth: what Redis missed is added when a worker starts.
 */
export { createHandlers } from './job-handlers.ts';
export { startJobWorker } from './job-worker.ts';
export { RunReporter, recoverRuns } from './run-reporter.ts';
