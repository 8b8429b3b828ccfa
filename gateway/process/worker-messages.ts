/** Messages between the primary and its workers. Other messages on the channel belong to libraries. */

/** How a worker starts. */
export interface StartMessage {
  kind: 'start';
  /** From 0. A replacement has the number of the worker it replaces. */
  worker: number;
  workerCount: number;
  redisUrl: string;
  port: number;
  reusePort: boolean;
}

export type ToWorker =
  | StartMessage
  /** Another worker has switched to another snapshot. */
  | { kind: 'check_pointer' }
  /** Another worker found a file of the served snapshot to be damaged. */
  | { kind: 'verify_file'; file: string }
  | { kind: 'stop' };

export type ToPrimary =
  /** The worker serves requests. Only the leader sends a start-up banner. */
  | { kind: 'ready'; startupBanner: string | null }
  | { kind: 'failed'; reason: string }
  | { kind: 'switched' }
  | { kind: 'damaged'; file: string };
