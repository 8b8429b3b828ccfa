/** What the primary and its workers say to each other. Each message is one of these; others are the libraries' own. */
import { z } from 'zod';

export const toWorker = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('begin'),
    /** From 0; a worker that replaces another has its number. */
    number: z.int(),
    /** How many workers there are. */
    of: z.int(),
    redisUrl: z.string(),
    port: z.int(),
    reusePort: z.boolean(),
  }),
  /** Another worker has switched to another snapshot. */
  z.object({ kind: z.literal('check_pointer') }),
  z.object({ kind: z.literal('stop') }),
]);
export type ToWorker = z.infer<typeof toWorker>;
export type Begin = ToWorker & { kind: 'begin' };

export const toPrimary = z.discriminatedUnion('kind', [
  /** It answers. The one that leads sends what a person is to see at the start. */
  z.object({ kind: z.literal('ready'), startupBanner: z.string().nullable() }),
  /** It could not start; why, for a person. */
  z.object({ kind: z.literal('failed'), why: z.string() }),
  z.object({ kind: z.literal('switched') }),
]);
export type ToPrimary = z.infer<typeof toPrimary>;
