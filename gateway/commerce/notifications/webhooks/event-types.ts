/**
 * The events that webhooks tell, with the shape of their data. docs/webhooks.md has an example of each, which a test holds
 * against these. Scripts write numbers of events as text, so numbers are coerced.
 */
import { z } from 'zod';

const id = z.string().min(1);
const credits = z.coerce.number().int().min(0);

const key = z.strictObject({ key_id: id, label: z.string() });
const order = z.strictObject({
  order_id: id,
  pack_id: id,
  credits,
  /** In the smallest unit of the currency. */
  price_minor: z.coerce.number().int().min(0),
  currency: id,
});

export const EVENT_TYPES = {
  test: {
    help: 'Sent by the button "Send a test event", to that endpoint alone',
    data: z.strictObject({ message: z.string() }),
  },
  'credits.low': {
    help: 'The balance fell below the threshold of the low-balance alert',
    data: z.strictObject({ balance: credits, threshold: credits }),
  },
  'spending.above': {
    help: 'Calls of one UTC hour or day cost more than the threshold of the spending alert; once for each',
    data: z.strictObject({
      spent: credits,
      threshold: credits,
      per: z.enum(['hour', 'day']),
      /** When the hour or day began, ISO 8601. */
      since: id,
    }),
  },
  'indicators.changed': {
    help: 'A new snapshot revised, renamed or withdrew indicators that the account used in the 30 days before; once for each',
    data: z.strictObject({
      edition: id,
      published_at: id,
      changed: z.array(
        z.strictObject({
          indicator: id,
          change: z.enum(['revised', 'renamed', 'withdrawn']),
          /** Its new id; of a renamed one. */
          to: id.optional(),
          /** Number of figures that changed; of a revised one. */
          figures: z.coerce.number().int().optional(),
        }),
      ),
    }),
  },
  'key.created': { help: 'A key was made', data: key },
  'key.rotated': {
    help: 'A key was replaced by a new one',
    data: key.extend({ replaces: id }),
  },
  'key.revoked': { help: 'A key was revoked', data: key },
  'order.paid': { help: 'An order was paid, and its credits are granted', data: order },
  'order.refunded': { help: 'An order was refunded, and its credits are taken back', data: order },
} as const;

export type EventType = keyof typeof EVENT_TYPES;
export type EventData<Type extends EventType> = z.input<(typeof EVENT_TYPES)[Type]['data']>;

export const isEventType = (word: string): word is EventType => Object.hasOwn(EVENT_TYPES, word);

/** What an endpoint can subscribe to: all but `test`. */
export const SUBSCRIBABLE: readonly EventType[] = Object.keys(EVENT_TYPES).filter(
  (type): type is EventType => isEventType(type) && type !== 'test',
);
