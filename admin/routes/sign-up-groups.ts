/** Accounts that signed up alike: from one address range, or with one mailbox or mail domain. */
import type { FastifyInstance } from 'fastify';
import { type AccountGroup, type GroupKind, signUpGroups } from '../../gateway/commerce/accounts/accounts.ts';
import { type AccountRecord, nullIfUnknown } from '../../gateway/commerce/store/store.ts';
import type { AdminArea } from '../context.ts';

const MOST_GROUPS = 50;
const MOST_ACCOUNTS = 20;

const SHARED: Record<GroupKind, string> = {
  mailbox: 'one mailbox, spelt differently',
  range: 'one address range',
  domain: 'one mail domain',
};

interface ShownGroup {
  shared: string;
  /** How many signed up, erased ones included. */
  count: number;
  last_ms: number;
  accounts: AccountRecord[];
}

export function signUpGroupsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view<{ groups: ShownGroup[]; most: number }>('sign-up-groups.njk');

  scope.get('/users/groups', async (_request, reply) => {
    const groups = await signUpGroups(area, MOST_GROUPS);
    const shown = await Promise.all(groups.map((group) => shownGroup(area, group)));
    return view(reply, 'Accounts that signed up alike', { groups: shown, most: MOST_ACCOUNTS });
  });
}

async function shownGroup(
  area: AdminArea,
  { kind, last_ms, account_ids }: AccountGroup,
): Promise<ShownGroup> {
  const newest = account_ids.slice(0, MOST_ACCOUNTS);
  const accounts = await Promise.all(newest.map((id) => area.accounts.get(id).catch(nullIfUnknown)));
  return {
    shared: SHARED[kind],
    count: account_ids.length,
    last_ms,
    accounts: accounts.filter((account) => account !== null),
  };
}
