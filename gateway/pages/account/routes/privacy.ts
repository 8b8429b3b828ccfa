/** A person's own data: everything as a file, an erasure to ask for, the account to close. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RequestKind, SubjectRequest } from '../../../accounts/privacy/requests.ts';
import { AccountError } from '../../../accounts/records.ts';
import { isPassword } from '../../../accounts/sign-in/passwords.ts';
import { PageError, parseFields, untrimmedField } from '../../shared/forms.ts';
import { clearSessionCookie, redirectWithFlash } from '../../shared/protected-area.ts';
import { type AccountContext, accountIdOf, accountOf, auditedChange } from '../context.ts';

const sureForm = z.object({ password: untrimmedField(1_000) });
const PACE = { free: 5, longest_ms: 300_000 };

interface DataPage {
  requests: (SubjectRequest & { file: string | null })[];
  open: { export: boolean; erasure: boolean };
  isClosed: boolean;
  problem: string;
}

/** What stays with the person of a closed account. */
const kept = { config: { allowsRestricted: true } };

export function privacyRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view<DataPage>('data.njk');

  const show = async (request: FastifyRequest, reply: FastifyReply, problem = ''): Promise<FastifyReply> => {
    const requests = (await context.requests.listOf(accountIdOf(request))).toReversed();
    const held = await Promise.all(
      requests.map(async (one) => ({ ...one, file: await fileOf(context, one) })),
    );
    const isOpen = (kind: RequestKind): boolean =>
      requests.some((one) => one.kind === kind && (one.status === 'pending' || one.status === 'ready'));
    const open = { export: isOpen('export'), erasure: isOpen('erasure') };
    const { state } = await accountOf(context, request);
    return view(reply, 'Your data', { requests: held, open, isClosed: state === 'closed', problem });
  };

  scope.get('/data', kept, (request, reply) => show(request, reply));

  scope.post('/data/export', kept, async (request, reply) => {
    await ask(context, request, 'export');
    return redirectWithFlash(
      context,
      reply,
      '/account/data',
      'Your data is being prepared. You get a mail when it is ready.',
    );
  });

  scope.post('/data/erasure', kept, async (request, reply) => {
    const problem = await unsure(context, request);
    if (problem !== null) return show(request, reply.code(422), problem);
    await ask(context, request, 'erasure');
    return redirectWithFlash(
      context,
      reply,
      '/account/data',
      'Your erasure is asked for. It is carried out within days.',
    );
  });

  scope.get('/data/:request_id/download', kept, async (request, reply) => {
    const { request_id } = request.params as { request_id: string };
    const one = await context.requests.get(request_id);
    if (one.account_id !== accountIdOf(request) || one.kind !== 'export')
      throw new AccountError('request_unknown', `There is no request ${request_id}.`);
    const bytes = await context.rights.download(one);
    if (bytes === null) throw new PageError(410, 'This file is not ready, or was kept for its seven days.');
    return reply
      .header('Content-Type', 'application/json; charset=utf-8')
      .header('Content-Disposition', `attachment; filename="almanac-${request_id}.json"`)
      .send(bytes);
  });

  scope.post('/close', async (request, reply) => {
    const problem = await unsure(context, request);
    if (problem !== null) return show(request, reply.code(422), problem);
    const account_id = accountIdOf(request);
    await auditedChange(context, request, { action: 'account.close', after: { state: 'closed' } }, () =>
      context.accounts.close(account_id),
    );
    if (request.webSession) await context.sessions.end(request.webSession);
    clearSessionCookie(reply, context.site);
    return reply.redirect('/account/closed', 303);
  });

  const closed = context.view<object>('closed.njk');
  scope.get('/closed', { config: { allowsAnonymous: true } }, async (_request, reply) =>
    closed(reply, 'Your account is closed', {}),
  );
}

/** Opens the request and has it prepared. The sweep prepares it too, should this job be lost. */
async function ask(context: AccountContext, request: FastifyRequest, kind: RequestKind): Promise<void> {
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

async function fileOf({ rights }: AccountContext, one: SubjectRequest): Promise<string | null> {
  const isThere = one.kind === 'export' && one.ready_at_ms !== null && (await rights.isHeld(one));
  return isThere ? `/account/data/${encodeURIComponent(one.request_id)}/download` : null;
}

/** What cannot be undone takes the password once more. Null when it was the right one. */
async function unsure(context: AccountContext, request: FastifyRequest): Promise<string | null> {
  const { password } = parseFields(sureForm, request.body);
  const account_id = accountIdOf(request);
  const wait_ms = await context.throttle.attempt('account-password', account_id, PACE);
  if (wait_ms > 0) return `Too many attempts. Try again in ${Math.ceil(wait_ms / 1000)} s.`;
  if (!(await isPassword(password, await context.people.passwordOf(account_id))))
    return 'The password is not right.';
  await context.throttle.forgive('account-password', account_id);
  return null;
}
