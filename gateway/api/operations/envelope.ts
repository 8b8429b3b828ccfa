/** The JSON body that all operations share: `{ data, meta }`. */
import { z } from 'zod';
import { timestamp } from '../../../data/schema/records.ts';

export const envelope = <Data extends z.ZodType, Meta extends z.ZodRawShape>(data: Data, meta: Meta) =>
  z.object({ data, meta: z.strictObject({ generated_at: timestamp, ...meta }) });

export const count = z.int().describe('Number of rows in `data`');

/** Licence and credit line, as `meta` repeats them. */
export const credit = { licence: z.string(), attribution: z.string() };

/** What an indicator is called, and whom it is credited to. */
export const named = {
  name: z.string(),
  unit: z.string().nullable(),
  licence_url: z.string().nullable(),
  ...credit,
};

export const dryRunAnswer = envelope(
  z.object({
    price: z.int().describe('What the call costs, in credits'),
    rows: z.int().describe('How many rows it answers with'),
    balance_after: z.int().describe('The balance after it; negative where the balance is too low'),
  }),
  {},
);
