/** GET /ping, which checks a key without spending anything, and GET /usage, the account's balance and its usage. */
import { z } from 'zod';
import { formatTimestamp } from '../../../data/schema/records.ts';
import { envelope } from './envelope.ts';
import { defineOperation, free, jsonAnswer } from './operation.ts';
import { integer } from './parameters/parameters.ts';

const pong = free((caller) => {
  if (caller === null) throw new Error('ping needs a caller');
  const { key_id, environment, scopes, tier, balance, now_ms } = caller;
  const data = { key_id, environment, scopes, tier, balance };
  return jsonAnswer(data, { generated_at: formatTimestamp(now_ms) });
});

export const ping = defineOperation({
  name: 'ping',
  path: '/ping',
  tag: 'Account',
  summary: 'Key check',
  description: 'Confirms that the key resolves, without spending anything.',
  needsKey: true,
  priceText: 'free',
  query: z.object({}),
  answer: envelope(
    z.object({
      key_id: z.string(),
      environment: z.enum(['live', 'test']),
      scopes: z.array(z.literal('read')),
      tier: z.enum(['anonymous', 'free', 'paid']),
      balance: z.int(),
    }),
    {},
  ),
  plan: () => pong,
});

const DAYS_MAX = 90;
const DAYS_DEFAULT = 30;

const counts = { requests: z.int(), errors: z.int(), rows: z.int(), credits: z.int() };

export const usage = defineOperation({
  name: 'getUsage',
  path: '/usage',
  tag: 'Account',
  summary: 'Own balance and usage',
  description: "The account's balance, and its usage over the last days, today included. Days are UTC days.",
  needsKey: true,
  priceText: 'free',
  query: z.object({
    days: integer({ min: 1, max: DAYS_MAX })
      .optional()
      .describe('Days reported; 1 is today')
      .meta({ default: DAYS_DEFAULT }),
  }),
  answer: envelope(
    z.object({
      credits: z.object({ balance: z.int(), lifetime_granted: z.int(), lifetime_spent: z.int() }),
      totals: z.object(counts),
      daily: z
        .array(z.object({ date: z.iso.date(), ...counts }))
        .describe('One entry a UTC day, oldest first'),
      endpoints: z.array(z.object({ route: z.string(), ...counts })).describe('Busiest first'),
    }),
    { days: z.int().min(1).max(90) },
  ),
  plan({ query }) {
    const days = query.days ?? DAYS_DEFAULT;
    return free(async (caller) => {
      if (caller === null) throw new Error('usage needs a caller');
      return jsonAnswer(await caller.usage(days), { generated_at: formatTimestamp(caller.now_ms), days });
    });
  },
});
