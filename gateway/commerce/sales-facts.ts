/** What the public pages say about accounts, prices and webhooks. */
import type { Settings } from '../../data/runtime/settings.ts';
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import type { SalesFacts } from '../site/site.ts';
import {
  DISABLE_AFTER_DAYS,
  KEPT,
  MAX_ENDPOINTS,
  SEND_TIMEOUT_MS,
  WEBHOOK_ATTEMPTS,
  WEBHOOK_DELAYS_MS,
  WEBHOOK_EVENTS,
} from './notifications/notifications.ts';
import { missingForInvoices, pricesSentence, salesTermsOf } from './orders/orders.ts';
import { MAX_ACTIVE_KEYS } from './store/store.ts';

export const salesFacts = (settings: Settings): SalesFacts => ({
  vat: pricesSentence(salesTermsOf(settings)),
  paysByInvoice: missingForInvoices(salesTermsOf(settings)).length === 0,
  keysMax: MAX_ACTIVE_KEYS,
  webhooks: {
    endpointsMax: MAX_ENDPOINTS,
    events: WEBHOOK_EVENTS,
    attempts: WEBHOOK_ATTEMPTS,
    days: Math.floor(WEBHOOK_DELAYS_MS.reduce((sum, delay_ms) => sum + delay_ms, 0) / DAY_MS),
    timeout_s: SEND_TIMEOUT_MS / 1_000,
    disabledAfter_days: DISABLE_AFTER_DAYS,
    kept: KEPT,
  },
});
