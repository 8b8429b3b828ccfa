/**
 * Pages of the operator area with 100,000 accounts: search, filters, deep paging, and a long ledger, each as a complete
 * HTTP response with session and markup.
 */
import type { AnyAdminService, Visitor } from '../admin/harness.ts';
import { startAdminOn } from '../admin/harness.ts';
import { startRedis } from '../redis.ts';
import type { Row } from './report.ts';
import type { Session } from './session.ts';

const ACCOUNTS = 100_000;
const ENTRIES = 100_000;
const AT_ONCE = 500;
const ROUNDS = 25;
const WITHIN_MS = 200;
const NAMES = ['Amara Okafor', 'Bertil Ångström', 'Chioma Eze', 'Dörte Meyer', 'Ester Nováková'];

async function inChunks(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => work(from + at)));
}

/** Creates the accounts, one in twenty suspended, and a long ledger for one. @returns the id of that one */
async function fill({ accounts }: AnyAdminService): Promise<string> {
  let last = '';
  await inChunks(ACCOUNTS, async (index) => {
    const name = `${NAMES[index % NAMES.length]} ${index}`;
    const { account_id } = await accounts.create({ email: `person-${index}@example.org`, name, by: 'bench' });
    if (index % 20 === 0) await accounts.suspend(account_id);
    else last = account_id;
  });
  await inChunks(ENTRIES, () => accounts.grant(last, { credits: 1, by: 'bench', reason: 'for the ledger' }));
  return last;
}

async function timed(operator: Visitor, name: string, paths: readonly string[]): Promise<Row> {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const path = paths[round % paths.length] ?? '';
    const begun = performance.now();
    const { status } = await operator.get(path);
    rounds.push(performance.now() - begun);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
  }
  return { name, measured: { unit: 'ms', rounds }, goal: { at: 'most', bound: WITHIN_MS } };
}

/** Requests each page repeatedly with varying parameters; none is cached. */
export async function usersRows({ say }: Session): Promise<Row[]> {
  const service = await startAdminOn(await startRedis());
  try {
    say(`making ${ACCOUNTS} accounts`);
    const id = await fill(service);
    // Accounts changed within the last minute are read again by every search.
    service.clock.ms += 600_000;
    const operator = await service.signedIn();
    const users = '/admin/users?';
    // The first request reads all accounts into memory.
    await operator.get(users);
    const middle = (await service.accounts.ledger(id, { limit: 500 })).at(-1)?.id ?? '';
    const words = ['777', 'PERSON-4', 'Ångström 9', 'example.org', 'nobody at all', 'acc_'];
    const searches = words.map((word) => `${users}q=${encodeURIComponent(word)}`);
    return [
      await timed(operator, 'users, 100,000 accounts: a search', searches),
      await timed(operator, '...with a status', [
        `${users}q=meyer&status=suspended`,
        `${users}status=active`,
      ]),
      await timed(operator, '...the last page', [
        `${users}offset=${ACCOUNTS - 50}`,
        `${users}q=eze&offset=19950`,
      ]),
      await timed(operator, '...500 on a page', [`${users}limit=500&offset=50000`]),
      await timed(operator, 'an account with 100,000 ledger entries', [
        `/admin/users/${id}`,
        `/admin/users/${id}?before=${middle}`,
      ]),
    ];
  } finally {
    await service.stop();
  }
}
