/** Mails about keys that are about to expire: 7 days and 1 day before, once each, to the owner and the key's maker. */
import { DAY_MS, redisKeys } from '../../../../data/schema/redis-keys.ts';
import { type KeyRecord, nullIfUnknown, throwUnavailable } from '../../store/store.ts';
import { momentOf } from '../mail/notice-mail.ts';
import { keyExpires } from '../mail/notice-mails.ts';
import { accountLine, authorOf } from './authors.ts';
import type { NoticeDependencies } from './notices.ts';

const DAYS_BEFORE = [1, 7] as const;
const ACCOUNTS_AT_ONCE = 200;

/**
 * How many days before its end a key is told of now: 7, 1, or null. An end that was set so late that it came as no
 * surprise is not told: a key for two days, or the grace period after a rotation.
 * @param keys all of the account
 */
export function daysToTell(key: KeyRecord, keys: readonly KeyRecord[], now_ms: number): number | null {
  const { state, expires_at_ms, created_at_ms, replaced_by } = key;
  if (state !== 'active' || expires_at_ms === null || expires_at_ms <= now_ms) return null;
  const successor = keys.find(({ key_id }) => key_id === replaced_by);
  const set_at_ms = successor?.created_at_ms ?? created_at_ms;
  const days = DAYS_BEFORE.find((some) => expires_at_ms - now_ms <= some * DAY_MS);
  return days !== undefined && expires_at_ms - set_at_ms > days * DAY_MS ? days : null;
}

/** Of the job and of the mail. */
const idOf = ({ key_id, days, person_id }: { key_id: string; days: number; person_id: string }): string =>
  `key-expires-${key_id}-${days}-${person_id}`;

type Dependencies = NoticeDependencies & {
  /** Unix milliseconds. */
  now: () => number;
};

export class ExpiringKeys {
  readonly #deps: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
  }

  /** Looks through the keys of all accounts, and queues the mails that are due. */
  async queueDue(): Promise<void> {
    const { redis } = this.#deps;
    for (let from = 0; ; from += ACCOUNTS_AT_ONCE) {
      const ids = await redis
        .zrange(redisKeys.accounts, String(from), String(from + ACCOUNTS_AT_ONCE - 1))
        .catch(throwUnavailable);
      if (ids.length === 0) return;
      await Promise.all(ids.map((account_id) => this.#queueOf(account_id)));
    }
  }

  async #queueOf(account_id: string): Promise<void> {
    const { accounts, jobs, now } = this.#deps;
    const keys = await accounts.keys.list(account_id);
    for (const key of keys) {
      const days = daysToTell(key, keys, now());
      if (days === null) continue;
      for (const person_id of await this.#recipients(account_id, key)) {
        const data = { account_id, key_id: key.key_id, person_id, days };
        await jobs.addOnce('key-expires', data, idOf(data));
      }
    }
  }

  async #recipients(account_id: string, { by }: KeyRecord): Promise<string[]> {
    const members = await this.#deps.members.list(account_id);
    return members
      .filter(({ role, person_id }) => role === 'owner' || person_id === by)
      .map(({ person_id }) => person_id);
  }

  /** Job: tells one person, unless the key has ended or the person is no longer to be told. */
  async send(account_id: string, told: { key_id: string; person_id: string; days: number }): Promise<void> {
    const { accounts, persons, mailer, publicUrl, contact, now } = this.#deps;
    const { key_id, person_id, days } = told;
    const [account, person, keys] = await Promise.all([
      accounts.get(account_id).catch(nullIfUnknown),
      persons.get(person_id),
      accounts.keys.list(account_id),
    ]);
    const key = keys.find((one) => one.key_id === key_id);
    if (!account || !person || !key || daysToTell(key, keys, now()) === null) return;
    if (!(await this.#recipients(account_id, key)).includes(person_id)) return;
    const maker = await authorOf(this.#deps, key.by, { account, reader: person_id });
    const made = key.by === '' ? [] : [`Made by: ${maker}`];
    const facts = [...made, `Made at: ${momentOf(key.created_at_ms)}`, ...accountLine(account)];
    const about = { facts, publicUrl: publicUrl(), contact: contact() };
    await mailer.send({ ...keyExpires(person.email, key, days, about), id: idOf(told) });
  }
}
