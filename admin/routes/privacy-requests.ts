/** Lists and closes privacy requests (exports and erasures). Closing an erasure as done runs it. */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import { accountSubject } from '../../gateway/commerce/history/history.ts';
import {
  type Confirmation,
  confirmedAction,
  counted,
  type Figure,
  type ReasonField,
} from '../../gateway/commerce/people/people.ts';
import {
  describeRemoved,
  type ErasureCounts,
  type PrivacyRequest,
} from '../../gateway/commerce/privacy/privacy.ts';
import type { AccountRecord } from '../../gateway/commerce/store/store.ts';
import { formatField, parseFields, TableSort, textField } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf, idOf, userPath } from '../context.ts';
import { listLinks, sendRecords } from '../list.ts';

const PATH = '/admin/gdpr';
const SORT = new TableSort<QueuedRequest>({
  id: ({ request_id }) => request_id,
  account: ({ account_id }) => account_id,
  kind: ({ kind }) => kind,
  status: ({ status }) => status,
  requested: ({ created_at_ms }) => created_at_ms,
  ready: ({ ready_at_ms }) => ready_at_ms,
});
const query = z.object({ sort: SORT.field, format: formatField });

interface QueuedRequest extends PrivacyRequest {
  age_days: number;
  user: string;
}

const COLUMNS = ['request_id', 'account_id', 'kind', 'status', 'created_at', 'ready_at', 'age_days'];

export function privacyRequestRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view('privacy-requests.njk');

  async function queue(): Promise<QueuedRequest[]> {
    const open = await area.requests.listOpen();
    return open.map((request) => ({
      ...request,
      age_days: Math.floor((area.now() - request.created_at_ms) / DAY_MS),
      user: userPath(request.account_id),
    }));
  }

  scope.get('/gdpr', async (request, reply) => {
    const { sort, format } = parseFields(query, request.query);
    const requests = SORT.sort(await queue(), sort);
    if (format === 'csv') return sendRecords(reply, 'subject-requests', COLUMNS, requests);
    return view(reply, 'Privacy requests', { requests, ...listLinks(PATH, {}, { order: SORT, sort }) });
  });

  confirmedAction(scope, area, {
    path: '/gdpr/:id/close',
    fields: z.object({ status: textField(50) }),
    reason: () => NOTE,
    async ask(request, { status }) {
      const one = await area.requests.get(idOf(request));
      const account = await area.accounts.get(one.account_id);
      if (status !== 'done') return failure(one, account);
      if (one.kind === 'export') return delivery(one, account);
      return erasure(one, account, await area.erasures.find(one.account_id));
    },
    async act(request, _reply, { fields: { status }, reason: note }) {
      const id = idOf(request);
      const before = await area.requests.get(id);
      if (status !== 'done' && status !== 'failed')
        return { status: 422, problem: 'Close a request as done or as failed.' };
      const { notice } = await request.audited(
        {
          action: 'request.close',
          subject: accountSubject(before.account_id),
          before: { request: id, status: before.status },
          after: { request: id, status },
          reason: note,
        },
        () => closeAs(area, before, status, { note, by: actorOf(request) }),
        ({ changed }) => (changed ? {} : null),
      );
      return { path: PATH, notice };
    },
  });
}

const NOTE: ReasonField = {
  name: 'note',
  label: 'Note',
  hint: 'optional; the customer sees it, and the audit log keeps it',
  isRequired: false,
  maxLength: 2_000,
};

const closing = (
  { request_id, kind, status, plan }: PrivacyRequest,
  { account_id, email, credits }: AccountRecord,
): Figure[] => [
  { label: 'Customer', value: `${email}, ${account_id}` },
  { label: 'Request', value: `${request_id}, ${kind}, ${status}` },
  ...(plan === null ? [] : [{ label: 'Prepared', value: plan }]),
  { label: 'Balance', value: counted(credits.balance, 'credit', 'credits') },
];

const failure = (request: PrivacyRequest, account: AccountRecord): Confirmation => ({
  title: `Close request ${request.request_id} as failed`,
  effects: [
    `The ${request.kind} is not carried out, and the customer is told so. The customer can ask again.`,
  ],
  figures: closing(request, account),
  button: 'Close as failed',
  values: { status: 'failed' },
  back: PATH,
});

const delivery = (request: PrivacyRequest, account: AccountRecord): Confirmation => ({
  title: `Close export ${request.request_id} as done`,
  effects: [
    'Close an export yourself only when you have handed the data over. A download by the customer closes it too.',
    ...(request.status === 'pending' ? ['Its file is not ready yet: it cannot be closed as done now.'] : []),
  ],
  figures: closing(request, account),
  button: 'Close as done',
  isHarmless: true,
  values: { status: 'done' },
  back: PATH,
});

const erasure = (request: PrivacyRequest, account: AccountRecord, found: ErasureCounts): Confirmation => ({
  title: `Erase ${account.email}`,
  effects: [
    `Removes now: ${describeRemoved(found)}.`,
    'Closes the account and ends its sessions. The remaining credits can no longer be spent.',
    'Ledger, orders and usage stay under an anonymous id. This cannot be undone.',
  ],
  figures: closing(request, account),
  button: 'Erase now',
  values: { status: 'done' },
  back: PATH,
});

/** Closes a request, as done only by carrying it out. `changed` is false if it already had that status. */
async function closeAs(
  { requests, erasures }: AdminArea,
  { request_id, kind, status: before }: PrivacyRequest,
  status: 'done' | 'failed',
  closing: { note: string; by: string },
): Promise<{ changed: boolean; notice: string }> {
  const notice = `Request ${request_id} is ${status}.`;
  if (status === 'failed') return { ...(await requests.fail(request_id, closing)), notice };
  if (kind === 'export') return { ...(await requests.complete(request_id, closing)), notice };
  const { removed, erased_as } = await erasures.erase(request_id, closing);
  const result = `Removed: ${describeRemoved(removed)}. ${erased_as} replaces the person.`;
  return { changed: before !== 'done', notice: `${notice} ${result}` };
}
