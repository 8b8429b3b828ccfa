/** The JSON body that all operations share: `{ data, meta }`. */
import { z } from 'zod';
import { timestamp } from '../../../data/schema/records.ts';

export const envelope = <Data extends z.ZodType, Meta extends z.ZodRawShape>(data: Data, meta: Meta) =>
  z.object({ data, meta: z.strictObject({ generated_at: timestamp, ...meta }) });

export const count = z.int().describe('Number of rows in `data`');

/** Licence and credit line, as `meta` repeats them. */
export const credit = { licence: z.string(), attribution: z.string() };
