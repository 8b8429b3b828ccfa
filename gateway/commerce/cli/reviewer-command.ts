/** `npm run account -- reviewer`: a sign-in for whoever reviews the service for a directory. It ends by itself. */

import { randomBytes } from 'node:crypto';
import { DAY_MS } from '../../../data/schema/redis-keys.ts';
import { serviceAddress } from '../../api/http/http.ts';
import { founderOf, PersonStore } from '../accounts/accounts.ts';
import { accountSubject } from '../history/history.ts';
import { PasswordHasher, SecondFactorStore } from '../people/people.ts';
import { AccountError, validateEmail } from '../store/store.ts';
import {
  auditedChange,
  BY,
  type Command,
  type CommandContext,
  email,
  formatTime,
  requiredCount,
  requiredText,
  UsageError,
} from './command.ts';

const NAME = 'Reviewer';
const PASSWORD_BYTES = 15;
const CREDITS = '500';
const DAYS = '30';
const DAYS_MAX = 90;

/** Its account, which is made if there is none. @throws {AccountError} `account_exists` for that of somebody else */
async function findOrCreate({ store }: CommandContext, persons: PersonStore, address: string) {
  const person = await persons.findByEmail(address);
  if (person === null) return store.create({ email: address, name: NAME, verified: true, by: BY });
  const isUnfinished = person.password === null && person.name === NAME;
  if (person.password_until_ms === null && !isUnfinished)
    throw new AccountError(
      'account_exists',
      `${address} belongs to somebody: a reviewer needs an address of its own.`,
    );
  return store.findByEmail(address);
}

export const reviewer: Command = {
  help: 'make or renew the sign-in of a reviewer: a new password, no second factor; shown only once',
  options: {
    email: { ...email, help: 'an address that nobody signs in with' },
    credits: {
      type: 'string',
      value: 'N',
      help: `its balance, and so all that it can spend; default ${CREDITS}`,
    },
    days: { type: 'string', value: 'N', help: `when its sign-in ends; default ${DAYS}, at most ${DAYS_MAX}` },
  },
  async run(context, values) {
    const { store, redis, settings } = context;
    const address = validateEmail(requiredText(values, 'email'));
    const credits = requiredCount({ credits: CREDITS, ...values }, 'credits');
    const days = requiredCount({ days: DAYS, ...values }, 'days');
    if (days < 1 || days > DAYS_MAX)
      throw new UsageError(`--days takes a whole number from 1 to ${DAYS_MAX}.`);
    const stores = { redis, now: Date.now, random: randomBytes };
    const persons = new PersonStore(stores);
    const { account_id } = await findOrCreate(context, persons, address);
    const owner = founderOf(account_id);
    const password = randomBytes(PASSWORD_BYTES).toString('base64url');
    const until_ms = Date.now() + days * DAY_MS;
    const hashed = await new PasswordHasher().hash(password);
    const until = formatTime(until_ms);
    const change = {
      action: 'account.reviewer',
      subject: accountSubject(account_id),
      after: { credits, until },
    };
    const balance = await auditedChange(redis, change, async () => {
      await persons.setPassword(owner, hashed, { until_ms });
      await new SecondFactorStore(stores, 'account').erase(owner);
      const { credits: held } = await store.get(account_id);
      if (held.balance >= credits) return held.balance;
      const missing = credits - held.balance;
      return (await store.grant(account_id, { credits: missing, by: BY, reason: 'reviewer' })).balance;
    });
    const sign_in = `${serviceAddress(settings)}/account/sign-in`;
    return { account_id, sign_in, email: address, password, until, balance };
  },
};
