/** GET /ping and GET /usage: what a key may know of itself. Free, never cached, and counted against the rate. */
import { z } from 'zod';
import { formatTimestamp } from '../../data/schema/records.ts';
import { pingAnswer, usageAnswer } from './answers.ts';
import { defineRoute, jsonBody } from './operation.ts';
import { integer } from './parameters.ts';

const DAYS_MAX = 90;
const DAYS_DEFAULT = 30;

const own = { key: 'required', price: 'free', tagged: false, path: {}, refusals: [] } as const;

export const ping = defineRoute({
  ...own,
  template: '/ping',
  operation: 'ping',
  tag: 'Account',
  summary: 'Key check',
  description: 'Confirms that the key resolves, without spending anything.',
  query: z.object({}),
  answer: pingAnswer,
  handle: () => ({
    kind: 'account',
    respond: ({ key, tier, balance, now }) => {
      const data = { key_id: key.key_id, environment: key.environment, scopes: key.scopes, tier, balance };
      return jsonBody(JSON.stringify({ data, meta: { generated_at: formatTimestamp(now) } }));
    },
  }),
});

export const usage = defineRoute({
  ...own,
  template: '/usage',
  operation: 'getUsage',
  tag: 'Account',
  summary: 'Own balance and usage',
  description: "The account's balance, and its use over the last days, today included. Days are UTC days.",
  query: z.object({
    days: integer({ min: 1, max: DAYS_MAX })
      .optional()
      .describe('Days reported; 1 is today')
      .meta({ default: DAYS_DEFAULT }),
  }),
  answer: usageAnswer,
  handle: ({ query }) => ({
    kind: 'account',
    respond: async ({ key, metering, now }) => {
      const days = query.days ?? DAYS_DEFAULT;
      const data = await metering.usage(key.account_id, days);
      return jsonBody(JSON.stringify({ data, meta: { generated_at: formatTimestamp(now), days } }));
    },
  }),
});
