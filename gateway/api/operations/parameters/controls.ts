/** Parameters that every priced operation takes beside its own. `execute` obeys them; operations do not see them. */
import { z } from 'zod';
import { envelope } from '../envelope.ts';
import { flag, integer } from './parameters.ts';

export const controls = z.object({
  dry_run: flag()
    .optional()
    .describe('Answers with the price instead, free: `{ price, rows, balance_after }`')
    .meta({ default: false }),
  max_credits: integer({ min: 0 })
    .optional()
    .describe('Refuses an answer that costs more, free: 402 `max_credits_exceeded`'),
});
export type Controls = z.infer<typeof controls>;

export const dryRunAnswer = envelope(
  z.object({
    price: z.int().describe('What the call costs, in credits'),
    rows: z.int().describe('How many rows it answers with'),
    balance_after: z.int().describe('The balance after it; negative where the balance is too low'),
  }),
  {},
);
