/** GET /ping: checks a key without spending anything. */
import { z } from 'zod';
import { formatTimestamp } from '../../../../data/schema/records.ts';
import { envelope } from '../envelope.ts';
import { type Content, defineOperation, document, type Plan } from '../operation.ts';

const plan: Plan = {
  kind: 'plan',
  price: 0,
  rows: 0,
  produce(caller): Content {
    if (caller === null) throw new Error('ping needs a caller');
    const { key_id, environment, scopes, tier, balance, now_ms } = caller;
    const data = { key_id, environment, scopes, tier, balance };
    return document(JSON.stringify({ data, meta: { generated_at: formatTimestamp(now_ms) } }));
  },
};

export const ping = defineOperation({
  name: 'ping',
  path: '/ping',
  tag: 'Account',
  summary: 'Key check',
  description: 'Confirms that the key resolves, without spending anything.',
  needsKey: true,
  priceText: 'free',
  isCacheable: false,
  pathParameters: {},
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
  errors: [],
  plan: () => plan,
});
