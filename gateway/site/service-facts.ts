/** What pages say about the service itself: prices, limits, who runs it. All of it comes from the settings. */
import type { Settings } from '../../data/runtime/settings.ts';
import type { CreditPack } from '../../data/schema/curated.ts';
import { serviceAddress } from '../api/http/http.ts';

export interface Limits {
  /** Whose requests are counted together. */
  who: string;
  perMinute: number;
  perDay: number;
}

/** What the commerce around the API says of itself. */
export interface SalesFacts {
  /** Whether prices contain VAT, in words. */
  vat: string;
  /** Whether orders are taken that are paid by bank transfer. */
  paysByInvoice: boolean;
  /** Active keys that an account can have. */
  keysMax: number;
  webhooks: {
    endpointsMax: number;
    events: readonly { type: string; help: string; fields: readonly string[] }[];
    attempts: number;
    /** From the first attempt to the last. */
    days: number;
    timeout_s: number;
    disabledAfter_days: number;
    /** What the log of an endpoint keeps. */
    kept: { deliveries: number; days: number };
  };
}

export interface ServiceFacts {
  /** Where visitors reach the service, without a slash at its end. */
  baseUrl: string;
  /** Credits of a new account. */
  freeGrant: number;
  limits: readonly Limits[];
  packs: readonly CreditPack[];
  paysByCard: boolean;
  sales: SalesFacts;
  /** Name and address, a line each; empty where the operator has not said. */
  seller: readonly string[];
  /** Null where the operator has not said. */
  contactEmail: string | null;
  /** When data are loaded, as a sentence. */
  schedule: string;
  curatedDir: string;
}

export function serviceFacts(
  settings: Settings,
  packs: readonly CreditPack[],
  sales: SalesFacts,
): ServiceFacts {
  return {
    baseUrl: serviceAddress(settings),
    freeGrant: settings.FREE_GRANT,
    limits: [
      limits('Without a key, by address', settings.ANONYMOUS_PER_MINUTE, settings.ANONYMOUS_PER_DAY),
      limits('Account', settings.FREE_PER_MINUTE, settings.FREE_PER_DAY),
      limits('Account that has bought credits', settings.PAID_PER_MINUTE, settings.PAID_PER_DAY),
      limits('Pages and pictures, by address', settings.PAGES_PER_MINUTE, settings.PAGES_PER_DAY),
    ],
    packs,
    paysByCard: settings.STRIPE_SECRET_KEY !== undefined,
    sales,
    seller: sellerLines(settings.INVOICE_FROM),
    contactEmail: settings.CONTACT_EMAIL ?? null,
    schedule: scheduleText(settings),
    curatedDir: settings.CURATED_DIR,
  };
}

const limits = (who: string, perMinute: number, perDay: number): Limits => ({ who, perMinute, perDay });

/** The default of the setting names nobody. */
const NOBODY = 'Almanac';

const sellerLines = (invoiceFrom: string): string[] =>
  invoiceFrom === NOBODY ? [] : invoiceFrom.split(/\r?\n/).filter((line) => line.trim() !== '');

const DAILY = /^(\d{1,2}) (\d{1,2}) \* \* \*$/;

function scheduleText({ NIGHTLY_CRON: pattern, SNAPSHOT_ORIGIN: origin }: Settings): string {
  if (origin !== undefined) return 'This service follows the editions that its origin publishes.';
  if (pattern === 'off') return 'Data are loaded when the operator starts a build; there is no schedule.';
  const [, minute, hour] = DAILY.exec(pattern) ?? [];
  if (minute === undefined || hour === undefined)
    return `Data are loaded by the schedule “${pattern}” (cron, UTC).`;
  return `Data are loaded every day from ${hour.padStart(2, '0')}:${minute.padStart(2, '0')} UTC.`;
}
