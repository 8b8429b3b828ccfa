/** The page of privacy requests, and data exports. `leaving.ts` closes and erases. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PageError, parseFields } from '../../../web/forms.ts';
import { prepareJobId } from '../../notifications/notifications.ts';
import type { PrivacyRequest, PrivacyRequestKind } from '../../privacy/privacy.ts';
import { AccountError } from '../../store/store.ts';
import { type AccountContext, accountIdOf, accountOf } from '../context.ts';
import { RESTRICTED } from '../forms.ts';

export const PRIVACY_PATH = '/account/data';

const dataQuery = z.object({ follow: z.enum(['', 'yes']).default('') });
const REFRESH_S = 5;

export function privacyRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('data.njk');

  scope.get('/data', RESTRICTED, async (request, reply) => {
    const requests = (await context.requests.listOf(accountIdOf(request))).toReversed();
    const rows = await Promise.all(requests.map((one) => listed(context, one)));
    const { follow } = parseFields(dataQuery, request.query);
    const isPreparing = rows.some(({ status, isGivenUp }) => status === 'pending' && !isGivenUp);
    const refresh = isPreparing ? { isOn: follow === 'yes', every_s: REFRESH_S } : null;
    if (refresh?.isOn) reply.header('Refresh', REFRESH_S);
    const isOpen = (kind: PrivacyRequestKind): boolean =>
      requests.some((one) => one.kind === kind && (one.status === 'pending' || one.status === 'ready'));
    const open = { export: isOpen('export'), erasure: isOpen('erasure') };
    const { state } = await accountOf(context, request);
    return view(reply, 'Your data', { requests: rows, refresh, open, isClosed: state === 'closed' });
  });

  scope.post('/data/export', RESTRICTED, async (request, reply) => {
    await openRequest(context, request, 'export');
    return reply.leadTo(PRIVACY_PATH, 'Your data is being prepared. We will e-mail you when it is ready.');
  });

  scope.get('/data/:request_id/download', RESTRICTED, async (request, reply) => {
    const { request_id } = request.params as { request_id: string };
    const one = await context.requests.get(request_id);
    if (one.account_id !== accountIdOf(request) || one.kind !== 'export')
      throw new AccountError('request_unknown', `There is no request ${request_id}.`);
    const file = await context.privacy.download(one);
    if (file === null)
      throw new PageError(410, 'This file is not ready yet, or has expired. Files are kept for seven days.');
    return reply
      .header('Content-Length', file.size_bytes)
      .header('Content-Type', 'application/zip')
      .header('Content-Disposition', `attachment; filename="almanac-${request_id}.zip"`)
      .send(file.content);
  });
}

/** Opens a request and queues its preparation. The periodic sweep repeats a lost job. */
export async function openRequest(
  context: AccountContext,
  request: FastifyRequest,
  kind: PrivacyRequestKind,
): Promise<void> {
  const account_id = accountIdOf(request);
  const { request_id } = await request.audited(
    { action: `request.${kind}` },
    () => context.requests.open(account_id, kind),
    (opened) => ({ after: { request_id: opened.request_id } }),
  );
  await context.jobs.add('prepare', { request_id }, prepareJobId(request_id));
}

async function listed({ privacy, givenUpJobs }: AccountContext, one: PrivacyRequest) {
  const { request_id, status } = one;
  const hasFile = await privacy.hasExport(one);
  return {
    ...one,
    file: hasFile ? `${PRIVACY_PATH}/${encodeURIComponent(request_id)}/download` : null,
    /** Its preparation failed five times. */
    isGivenUp: status === 'pending' && (await givenUpJobs.has(prepareJobId(request_id))),
  };
}
