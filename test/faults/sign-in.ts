/**
 * Floods of the account pages that make the service hash passwords: made-up reset links, and sign-ins of account holders
 * from many addresses. Others sign in meanwhile.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import { founderOf, PersonStore } from '../../gateway/commerce/accounts/person-store.ts';
import { PasswordHasher } from '../../gateway/commerce/people/passwords.ts';
import { hiddenTokens, PASSWORD, Visitor } from '../admin/harness.ts';
import { median } from '../bench/report.ts';
import { Deployment, storeOn } from './deployment.ts';
import type { Reporter } from './table.ts';

const OPERATOR = 'operator@example.org';
const FLOODERS = 16;
/** So many sign-ins fill the queue of account holders and more. */
const SIGN_IN_FLOODERS = 150;
/** How long a flooder who was refused with 503 waits before its next guess. */
const PAUSE_MS = 500;

export default async function signInFaults(report: Reporter, { rounds } = { rounds: 10 }): Promise<void> {
  await using deployment = await Deployment.open();
  const gateway = await deployment.gateway({
    TRUST_PROXY: '127.0.0.1',
    ADMIN_EMAIL: OPERATOR,
    ADMIN_PASSWORD: PASSWORD,
  });
  await using people = new People(`http://127.0.0.1:${gateway.port}`);
  const emails = await createPeople(deployment, 3 * rounds);
  const alone = await signInAll(people, emails.splice(0, rounds));
  await underResets(people, emails.splice(0, rounds), alone, report);
  await underSignIns(people, emails, report);
}

/** Visitors with a network address each, so that no throttle applies to them. */
class People {
  readonly #agent = new Agent({ connections: 256 });
  readonly #url: string;
  #count = 0;

  constructor(url: string) {
    this.#url = url;
  }

  visitor(): Visitor {
    const visitor = new Visitor(this.#url, this.#agent);
    this.#count += 1;
    visitor.headers['x-forwarded-for'] =
      `10.${this.#count >> 16}.${(this.#count >> 8) & 255}.${this.#count & 255}`;
    return visitor;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#agent.close();
  }
}

/** Verified accounts that can sign in. */
async function createPeople(deployment: Deployment, count: number): Promise<string[]> {
  const redis = await deployment.connect();
  const persons = new PersonStore({ redis, now: Date.now, random: randomBytes });
  const store = storeOn(redis);
  const hashed = await new PasswordHasher().hash(PASSWORD);
  const emails = Array.from({ length: count }, () => `${randomBytes(8).toString('hex')}@example.org`);
  for (const email of emails) {
    const { account_id } = await store.create({ email, verified: true, by: 'faults' });
    await persons.setPassword(founderOf(account_id), hashed);
  }
  return emails;
}

interface SignIns {
  tried: number;
  signedIn: number;
  customer_ms: number;
  operator_ms: number;
}

/** Each customer signs in, and the operator after each. Times are medians. */
async function signInAll(people: People, emails: readonly string[]): Promise<SignIns> {
  const times: Record<'customer' | 'operator', number[]> = { customer: [], operator: [] };
  let signedIn = 0;
  const signIn = async (who: 'customer' | 'operator', from: string, email: string): Promise<void> => {
    const visitor = people.visitor();
    const tokens = hiddenTokens(await visitor.get(from));
    const begun = performance.now();
    const root = from.split('/')[1];
    const { status } = await visitor.post(`/${root}/sign-in`, {
      ...tokens,
      email,
      password: PASSWORD,
      next: '',
    });
    times[who].push(performance.now() - begun);
    if (status === 303) signedIn += 1;
  };
  for (const email of emails) {
    await signIn('customer', '/account/sign-in', email);
    await signIn('operator', '/admin/', OPERATOR);
  }
  return {
    tried: 2 * emails.length,
    signedIn,
    customer_ms: median(times.customer),
    operator_ms: median(times.operator),
  };
}

/** Repeats a request of each flooder until `work` has ended. @returns how often each status came */
async function flood(
  flooders: readonly ((turn: number) => Promise<{ status: number }>)[],
  work: () => Promise<void>,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let isOpen = true;
  const running = flooders.map(async (send) => {
    for (let turn = 0; isOpen; turn++) {
      const { status } = await send(turn);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  try {
    await work();
  } finally {
    isOpen = false;
    await Promise.all(running);
  }
  return statuses;
}

const rounded = (ms: number): string => `${Math.round(ms)} ms`;

async function underResets(
  people: People,
  emails: readonly string[],
  alone: SignIns,
  report: Reporter,
): Promise<void> {
  const flooders = await Promise.all(
    Array.from({ length: FLOODERS }, async () => {
      const visitor = people.visitor();
      const tokens = hiddenTokens(await visitor.get('/account/forgot'));
      const fields = { _csrf: tokens._csrf ?? '', password: PASSWORD };
      return () => visitor.post(`/account/reset/${randomBytes(16).toString('base64url')}`, fields);
    }),
  );
  const begun = performance.now();
  let during: SignIns | null = null;
  const statuses = await flood(flooders, async () => {
    during = await signInAll(people, emails);
  });
  const seconds = (performance.now() - begun) / 1000;
  const { tried, signedIn, customer_ms, operator_ms } = during ?? alone;
  const refused = statuses.get(410) ?? 0;
  const figure = `${Math.round(refused / seconds)} resets a second, each answered 410; ${signedIn} of ${tried} signed in, account holders in ${rounded(customer_ms)} (alone ${rounded(alone.customer_ms)}), operators in ${rounded(operator_ms)} (alone ${rounded(alone.operator_ms)})`;
  const isKept = signedIn === tried && [...statuses.keys()].every((status) => status === 410);
  report('A flood of password resets with made-up links keeps nobody from signing in', figure, isKept);
}

async function underSignIns(people: People, emails: readonly string[], report: Reporter): Promise<void> {
  const flooders = await Promise.all(
    Array.from({ length: SIGN_IN_FLOODERS }, async () => {
      const visitor = people.visitor();
      const { _csrf = '' } = hiddenTokens(await visitor.get('/account/sign-in'));
      return async (turn: number) => {
        // Another network address each time, so that the throttle stops none of them.
        visitor.headers['x-forwarded-for'] = people.visitor().headers['x-forwarded-for'] ?? '';
        const email = `${randomBytes(8).toString('hex')}-${turn}@example.org`;
        const answer = await visitor.post('/account/sign-in', {
          _csrf,
          email,
          password: 'a guess',
          next: '',
        });
        if (answer.status === 503) await pause(PAUSE_MS);
        return answer;
      };
    }),
  );
  const times: number[] = [];
  let signedIn = 0;
  const statuses = await flood(flooders, async () => {
    for (const _ of emails) {
      const visitor = people.visitor();
      const tokens = hiddenTokens(await visitor.get('/admin/'));
      const begun = performance.now();
      const fields = { ...tokens, email: OPERATOR, password: PASSWORD, next: '' };
      if ((await visitor.post('/admin/sign-in', fields)).status === 303) signedIn += 1;
      times.push(performance.now() - begun);
    }
  });
  const figure = `${statuses.get(401) ?? 0} guesses hashed, ${statuses.get(503) ?? 0} refused with 503 because the queue was full; ${signedIn} of ${emails.length} operators signed in, in ${rounded(median(times))} (slowest ${rounded(Math.max(...times))})`;
  const isFull = (statuses.get(503) ?? 0) > 0;
  report(
    'Operators sign in while guesses from many addresses fill the queue of account holders',
    figure,
    isFull && signedIn === emails.length,
  );
}
