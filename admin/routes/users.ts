/** Searches accounts, and groups those that signed up alike: from one address range, or with one mailbox or mail domain. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AccountGroup, type GroupKind, signUpGroups } from '../../gateway/commerce/accounts/accounts.ts';
import { nullIfUnknown } from '../../gateway/commerce/store/store.ts';
import { integerField, parseFields, textField } from '../../gateway/web/forms.ts';
import { ACCOUNT_SORT } from '../account-index.ts';
import type { AdminArea } from '../context.ts';
import { LIST_FIELDS, listLinks, sendRecords } from '../list.ts';

const PATH = '/admin/users';
const EXPORT_BATCH = 500;

const query = z.object({
  q: textField(200),
  status: textField(50),
  sort: ACCOUNT_SORT.field,
  ...LIST_FIELDS,
  offset: integerField(0, 100_000_000, 0),
});

export function usersRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('users.njk');

  signUpGroupsRoutes(scope, area);

  scope.get('/users', async (request, reply) => {
    const { q, status, sort, limit, offset, format } = parseFields(query, request.query);
    if (format === 'csv')
      return sendRecords(reply, 'accounts', COLUMNS, exportRecords(area, { q, state: status, sort }));
    const { total, ids } = await area.index.search({ q, state: status, sort, limit, offset });
    const accounts = await Promise.all(ids.map((id) => area.accounts.get(id)));
    const filters = { q, status };
    return view(reply, 'Users', {
      ...filters,
      limit,
      accounts,
      ...listLinks(PATH, filters, { order: ACCOUNT_SORT, sort, total, limit, offset }),
    });
  });
}

const COLUMNS = [
  ...['account_id', 'email', 'name', 'status', 'tier', 'verified'],
  ...['balance', 'lifetime_granted', 'lifetime_spent', 'created_at'],
];

/** All matches, read in batches while they are sent. */
async function* exportRecords(area: AdminArea, filters: { q: string; state: string; sort: string }) {
  const { ids } = await area.index.search({ ...filters, limit: Number.MAX_SAFE_INTEGER, offset: 0 });
  for (let from = 0; from < ids.length; from += EXPORT_BATCH) {
    const batch = ids.slice(from, from + EXPORT_BATCH);
    for (const account of await Promise.all(batch.map((id) => area.accounts.get(id))))
      yield { ...account.credits, ...account, status: account.state };
  }
}

const MOST_GROUPS = 50;
const MOST_ACCOUNTS = 20;

const SHARED: Record<GroupKind, string> = {
  mailbox: 'one mailbox, spelt differently',
  range: 'one address range',
  domain: 'one mail domain',
};

function signUpGroupsRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('sign-up-groups.njk');

  scope.get('/users/groups', async (_request, reply) => {
    const groups = await signUpGroups(area, MOST_GROUPS);
    const shown = await Promise.all(groups.map((group) => shownGroup(area, group)));
    return view(reply, 'Accounts that signed up alike', { groups: shown, most: MOST_ACCOUNTS });
  });
}

async function shownGroup(area: AdminArea, { kind, last_ms, account_ids }: AccountGroup) {
  const newest = account_ids.slice(0, MOST_ACCOUNTS);
  const accounts = await Promise.all(newest.map((id) => area.accounts.get(id).catch(nullIfUnknown)));
  return {
    shared: SHARED[kind],
    /** How many signed up, erased ones included. */
    count: account_ids.length,
    last_ms,
    accounts: accounts.filter((account) => account !== null),
  };
}
