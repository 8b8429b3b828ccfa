/** Messages between the primary and its workers. Other messages on the channel belong to libraries. */
import { z } from 'zod';

export const toWorker = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('start'),
    /** From 0. A replacement has the number of the worker it replaces. */
    worker: z.int(),
    workerCount: z.int(),
    redisUrl: z.string(),
    port: z.int(),
    reusePort: z.boolean(),
  }),
  /** Another worker has switched to another snapshot. */
  z.object({ kind: z.literal('check_pointer') }),
  /** Another worker found a file of the served snapshot to be damaged. */
  z.object({ kind: z.literal('verify_file'), file: z.string() }),
  z.object({ kind: z.literal('stop') }),
]);
export type ToWorker = z.infer<typeof toWorker>;
export type StartMessage = ToWorker & { kind: 'start' };

export const toPrimary = z.discriminatedUnion('kind', [
  /** The worker serves requests. Only the leader sends a start-up banner. */
  z.object({ kind: z.literal('ready'), startupBanner: z.string().nullable() }),
  z.object({ kind: z.literal('failed'), reason: z.string() }),
  z.object({ kind: z.literal('switched') }),
  z.object({ kind: z.literal('damaged'), file: z.string() }),
]);
export type ToPrimary = z.infer<typeof toPrimary>;
