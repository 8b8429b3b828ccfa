/** What the public pages say about accounts, prices and webhooks. */
import type { Settings } from '../../data/runtime/settings.ts';
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import type { SalesFacts } from '../site/site.ts';
import { DISABLE_AFTER_DAYS, KEPT } from './notifications/webhooks/delivery-log.ts';
import { ATTEMPTS, RETRY_DELAYS_MS } from './notifications/webhooks/delivery-queue.ts';
import { MAX_ENDPOINTS } from './notifications/webhooks/endpoint-records.ts';
import { EVENT_TYPES } from './notifications/webhooks/event-types.ts';
import { SEND_TIMEOUT_MS } from './notifications/webhooks/sender.ts';
import { pricesSentence, salesTermsOf } from './orders/orders.ts';
import { MAX_ACTIVE_KEYS } from './store/store.ts';

export const salesFacts = (settings: Settings): SalesFacts => ({
  vat: pricesSentence(salesTermsOf(settings)),
  keysMax: MAX_ACTIVE_KEYS,
  webhooks: {
    endpointsMax: MAX_ENDPOINTS,
    events: Object.entries(EVENT_TYPES).map(([type, { help, data }]) => ({
      ...{ type, help },
      fields: Object.keys(data.shape),
    })),
    attempts: ATTEMPTS,
    days: Math.floor(RETRY_DELAYS_MS.reduce((sum, delay_ms) => sum + delay_ms, 0) / DAY_MS),
    timeout_s: SEND_TIMEOUT_MS / 1_000,
    disabledAfter_days: DISABLE_AFTER_DAYS,
    kept: KEPT,
  },
});
