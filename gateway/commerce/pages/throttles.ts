/** Throttles of what anybody may ask for without signing in, mails and passwords chosen through a mailed link; and of webhooks. */
import { addressDigest, DAY_MS } from '../../../data/schema/redis-keys.ts';
import { addressUnit } from '../../api/metering/metering.ts';
import { SIGN_IN_LINK_TTL_MS, type Throttle, type ThrottlePolicy } from '../people/people.ts';

const MAIL_PER_ADDRESS: ThrottlePolicy = { free_attempts: 10, max_delay_ms: 900_000, decay_ms: DAY_MS };
const MAIL_PER_EMAIL: ThrottlePolicy = { free_attempts: 3, max_delay_ms: 3_600_000, decay_ms: DAY_MS };
/** Whoever uses up the mails of somebody else sends them a link that works until the next one comes. */
const SIGN_IN_LINK_PER_EMAIL: ThrottlePolicy = { ...MAIL_PER_EMAIL, max_delay_ms: SIGN_IN_LINK_TTL_MS };
const INVITATIONS_PER_ACCOUNT: ThrottlePolicy = {
  free_attempts: 20,
  max_delay_ms: 3_600_000,
  decay_ms: DAY_MS / 24,
};
/** For test events and repeated deliveries, which members send by hand. */
const WEBHOOKS_PER_ACCOUNT: ThrottlePolicy = { free_attempts: 30, max_delay_ms: 60_000, decay_ms: 60_000 };
const CHOICE_PER_ADDRESS: ThrottlePolicy = { free_attempts: 20, max_delay_ms: 300_000, decay_ms: 60_000 };
const CHOICE_PER_LINK: ThrottlePolicy = { free_attempts: 5, max_delay_ms: 300_000, decay_ms: 60_000 };

/** A request of a client writes a record, and may fetch a document, before anybody has signed in. */
const CONNECT_PER_ADDRESS: ThrottlePolicy = { free_attempts: 60, max_delay_ms: 60_000, decay_ms: 10_000 };

export interface Asker {
  /** The client's IP address. */
  address: string;
  email: string;
}

/** Seconds to wait before the next mail may be requested, or 0; the same for known and unknown addresses. */
export const throttleMail = (throttle: Throttle, { address, email }: Asker): Promise<number> =>
  throttle.attemptAll([
    ['account-mail-address', addressUnit(address), MAIL_PER_ADDRESS],
    ['account-mail-email', addressDigest(email), MAIL_PER_EMAIL],
  ]);

/** Seconds to wait before the account may mail another invitation, or 0. */
export const throttleInvitation = (throttle: Throttle, account_id: string): Promise<number> =>
  throttle.attempt('account-invitation', account_id, INVITATIONS_PER_ACCOUNT);

/** Seconds to wait before the account may have another webhook sent by hand, or 0. */
export const throttleWebhooks = (throttle: Throttle, account_id: string): Promise<number> =>
  throttle.attempt('account-webhooks', account_id, WEBHOOKS_PER_ACCOUNT);

/** As `throttleMail`, for sign-in links, which no other mail uses up. */
export const throttleSignInLink = (throttle: Throttle, { address, email }: Asker): Promise<number> =>
  throttle.attemptAll([
    ['account-mail-address', addressUnit(address), MAIL_PER_ADDRESS],
    ['account-sign-in-link', addressDigest(email), SIGN_IN_LINK_PER_EMAIL],
  ]);

/** Seconds to wait before a client may send somebody from the address, or 0. */
export const throttleConnect = (throttle: Throttle, address: string): Promise<number> =>
  throttle.attempt('account-connect', addressUnit(address), CONNECT_PER_ADDRESS);

/** Seconds to wait before a password may be hashed for a link that is valid, or 0. @param id of the link's account */
export const throttleChoice = (throttle: Throttle, address: string, id: string): Promise<number> =>
  throttle.attemptAll([
    ['account-choice-address', addressUnit(address), CHOICE_PER_ADDRESS],
    ['account-choice-link', id, CHOICE_PER_LINK],
  ]);
