/** The page of privacy requests, and data exports. `leaving.ts` closes and erases. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PrivacyRequest, PrivacyRequestKind } from '../../../accounts/privacy/request-store.ts';
import { AccountError } from '../../../accounts/records.ts';
import { PageError } from '../../shared/forms.ts';
import { redirectWithFlash } from '../../shared/protected-area.ts';
import { type AccountContext, accountIdOf, accountOf, auditedChange } from '../context.ts';

export const PRIVACY_PATH = '/account/data';

interface DataPage {
  requests: (PrivacyRequest & { file: string | null })[];
  open: { export: boolean; erasure: boolean };
  isClosed: boolean;
}

/** A closed account keeps these routes. */
export const RESTRICTED = { config: { allowsRestricted: true } };

export function privacyRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<DataPage>('data.njk');

  const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const requests = (await context.requests.listOf(accountIdOf(request))).toReversed();
    const rows = await Promise.all(
      requests.map(async (one) => ({ ...one, file: await fileOf(context, one) })),
    );
    const isOpen = (kind: PrivacyRequestKind): boolean =>
      requests.some((one) => one.kind === kind && (one.status === 'pending' || one.status === 'ready'));
    const open = { export: isOpen('export'), erasure: isOpen('erasure') };
    const { state } = await accountOf(context, request);
    return view(reply, 'Your data', { requests: rows, open, isClosed: state === 'closed' });
  };

  scope.get('/data', RESTRICTED, (request, reply) => show(request, reply));

  scope.post('/data/export', RESTRICTED, async (request, reply) => {
    await openRequest(context, request, 'export');
    return redirectWithFlash(
      context,
      reply,
      PRIVACY_PATH,
      'Your data is being prepared. We will e-mail you when it is ready.',
    );
  });

  scope.get('/data/:request_id/download', RESTRICTED, async (request, reply) => {
    const { request_id } = request.params as { request_id: string };
    const one = await context.requests.get(request_id);
    if (one.account_id !== accountIdOf(request) || one.kind !== 'export')
      throw new AccountError('request_unknown', `There is no request ${request_id}.`);
    const bytes = await context.privacy.download(one);
    if (bytes === null)
      throw new PageError(410, 'This file is not ready yet, or has expired. Files are kept for seven days.');
    return reply
      .header('Content-Type', 'application/json; charset=utf-8')
      .header('Content-Disposition', `attachment; filename="almanac-${request_id}.json"`)
      .send(bytes);
  });
}

/** Opens a request and queues its preparation. The periodic sweep repeats a lost job. */
export async function openRequest(
  context: AccountContext,
  request: FastifyRequest,
  kind: PrivacyRequestKind,
): Promise<void> {
  const account_id = accountIdOf(request);
  const { request_id } = await auditedChange(
    context,
    request,
    { action: `request.${kind}` },
    () => context.requests.open(account_id, kind),
    (opened) => ({ after: { request_id: opened.request_id } }),
  );
  await context.jobs.add('prepare', { request_id }, `prepare-${request_id}`);
}

async function fileOf({ privacy }: AccountContext, one: PrivacyRequest): Promise<string | null> {
  const isAvailable = one.kind === 'export' && one.ready_at_ms !== null && (await privacy.hasExport(one));
  return isAvailable ? `${PRIVACY_PATH}/${encodeURIComponent(one.request_id)}/download` : null;
}
