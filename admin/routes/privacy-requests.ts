/** Lists and closes privacy requests (exports and erasures). To close an erasure as done is to carry it out. */

import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { DAY_MS } from '../../data/schema/redis-keys.ts';
import { accountSubject } from '../../gateway/accounts/audit/audit-log.ts';
import { describeRemoved } from '../../gateway/accounts/privacy/erasures.ts';
import type { PrivacyRequest } from '../../gateway/accounts/privacy/request-store.ts';
import { type Cell, sendCsv } from '../../gateway/pages/shared/csv-export.ts';
import { formatField, parseFields, textField } from '../../gateway/pages/shared/forms.ts';
import { redirectWithFlash } from '../../gateway/pages/shared/protected-area.ts';
import { type AdminArea, actorOf, auditedChange, userPath } from '../context.ts';

const PATH = '/admin/gdpr';
const query = z.object({ format: formatField });
const closeForm = z.object({ status: textField(50), note: textField(2_000) });

interface QueuedRequest extends Omit<PrivacyRequest, 'note'> {
  age_days: number;
  user: string;
  /** The typed note when the form was refused. */
  note: string;
}

interface QueuePage {
  requests: QueuedRequest[];
  problem: string;
}

const COLUMNS = ['request_id', 'account_id', 'kind', 'status', 'created_at', 'ready_at', 'age_days'];

export function privacyRequestRoutes(scope: FastifyInstance, area: AdminArea): void {
  const view = area.view<QueuePage>('privacy-requests.njk');

  async function queue(): Promise<QueuedRequest[]> {
    const open = await area.requests.listOpen();
    return open.map((request) => ({
      ...request,
      note: '',
      age_days: Math.floor((area.now() - request.created_at_ms) / DAY_MS),
      user: userPath(request.account_id),
    }));
  }

  async function page(reply: FastifyReply, problem = '', kept?: { id: string; note: string }) {
    const requests = (await queue()).map((request) =>
      request.request_id === kept?.id ? { ...request, note: kept.note } : request,
    );
    return view(reply, 'Privacy requests', { requests, problem });
  }

  scope.get('/gdpr', async (request, reply) => {
    const { format } = parseFields(query, request.query);
    if (format === 'csv') return sendCsv(reply, 'subject-requests', COLUMNS, (await queue()).map(row));
    return page(reply);
  });

  scope.post<{ Params: { id: string } }>('/gdpr/:id/close', async (request, reply) => {
    const { id } = request.params;
    const { status, note } = parseFields(closeForm, request.body);
    const before = await area.requests.get(id);
    if (status !== 'done' && status !== 'failed')
      return page(reply.code(422), 'Close a request as done or as failed.', { id, note });
    const { notice } = await auditedChange(
      area,
      request,
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
    return redirectWithFlash(area, reply, PATH, notice);
  });
}

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

const row = (request: QueuedRequest): Cell[] => [
  ...[request.request_id, request.account_id, request.kind, request.status],
  new Date(request.created_at_ms).toISOString(),
  request.ready_at_ms === null ? '' : new Date(request.ready_at_ms).toISOString(),
  request.age_days,
];
