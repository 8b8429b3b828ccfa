/** A person's own data: everything as a file, an erasure to ask for, the account to close. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RequestKind, SubjectRequest } from '../../../accounts/privacy/requests.ts';
import { AccountError } from '../../../accounts/records.ts';
import { isPassword } from '../../../accounts/sign-in/passwords.ts';
import { readFields, verbatim } from '../../shared/fields.ts';
import { PageProblem } from '../../shared/page-problem.ts';
import { dropSession } from '../../shared/site.ts';
import { type AccountArea, accountIdOf, accountOf, change, goOn } from '../context.ts';

const sureForm = z.object({ password: verbatim(1_000) });
const PACE = { free: 5, longest_ms: 300_000 };

interface DataPage {
  requests: (SubjectRequest & { file: string | null })[];
  open: { export: boolean; erasure: boolean };
  isClosed: boolean;
  problem: string;
}

/** What stays with the person of a closed account. */
const kept = { config: { onlyPage: true } };

export function rightsRoutes(scope: FastifyInstance, area: AccountArea): void {
  const view = area.view<DataPage>('data.njk');

  const show = async (request: FastifyRequest, reply: FastifyReply, problem = ''): Promise<FastifyReply> => {
    const requests = (await area.requests.listOf(accountIdOf(request))).toReversed();
    const held = await Promise.all(requests.map(async (one) => ({ ...one, file: await fileOf(area, one) })));
    const isOpen = (kind: RequestKind): boolean =>
      requests.some((one) => one.kind === kind && (one.status === 'pending' || one.status === 'ready'));
    const open = { export: isOpen('export'), erasure: isOpen('erasure') };
    const { state } = await accountOf(area, request);
    return view(reply, 'Your data', { requests: held, open, isClosed: state === 'closed', problem });
  };

  scope.get('/data', kept, (request, reply) => show(request, reply));

  scope.post('/data/export', kept, async (request, reply) => {
    await ask(area, request, 'export');
    return goOn(
      area,
      reply,
      '/account/data',
      'Your data is being prepared. You get a mail when it is ready.',
    );
  });

  scope.post('/data/erasure', kept, async (request, reply) => {
    const problem = await unsure(area, request);
    if (problem !== null) return show(request, reply.code(422), problem);
    await ask(area, request, 'erasure');
    return goOn(area, reply, '/account/data', 'Your erasure is asked for. It is carried out within days.');
  });

  scope.get('/data/:request_id/download', kept, async (request, reply) => {
    const { request_id } = request.params as { request_id: string };
    const one = await area.requests.get(request_id);
    if (one.account_id !== accountIdOf(request) || one.kind !== 'export')
      throw new AccountError('request_unknown', `There is no request ${request_id}.`);
    const bytes = await area.rights.download(one);
    if (bytes === null) throw new PageProblem(410, 'This file is not ready, or was kept for its seven days.');
    return reply
      .header('Content-Type', 'application/json; charset=utf-8')
      .header('Content-Disposition', `attachment; filename="almanac-${request_id}.json"`)
      .send(bytes);
  });

  scope.post('/close', async (request, reply) => {
    const problem = await unsure(area, request);
    if (problem !== null) return show(request, reply.code(422), problem);
    const account_id = accountIdOf(request);
    await change(area, request, { action: 'account.close', after: { state: 'closed' } }, () =>
      area.accounts.close(account_id),
    );
    if (request.webSession) await area.sessions.end(request.webSession);
    dropSession(reply, area.site);
    return reply.redirect('/account/closed', 303);
  });

  const closed = area.view<object>('closed.njk');
  scope.get('/closed', { config: { open: true } }, async (_request, reply) =>
    closed(reply, 'Your account is closed', {}),
  );
}

/** Opens the request and has it prepared. The sweep prepares it too, should this job be lost. */
async function ask(area: AccountArea, request: FastifyRequest, kind: RequestKind): Promise<void> {
  const account_id = accountIdOf(request);
  const { request_id } = await change(
    area,
    request,
    { action: `request.${kind}` },
    () => area.requests.open(account_id, kind),
    (opened) => ({ after: { request_id: opened.request_id } }),
  );
  await area.jobs.add('prepare', { request_id }, `prepare-${request_id}`);
}

async function fileOf({ rights }: AccountArea, one: SubjectRequest): Promise<string | null> {
  const isThere = one.kind === 'export' && one.ready_at_ms !== null && (await rights.isHeld(one));
  return isThere ? `/account/data/${encodeURIComponent(one.request_id)}/download` : null;
}

/** What cannot be undone takes the password once more. Null when it was the right one. */
async function unsure(area: AccountArea, request: FastifyRequest): Promise<string | null> {
  const { password } = readFields(sureForm, request.body);
  const account_id = accountIdOf(request);
  const wait_ms = await area.throttle.attempt('account-password', account_id, PACE);
  if (wait_ms > 0) return `Too many attempts. Try again in ${Math.ceil(wait_ms / 1000)} s.`;
  if (!(await isPassword(password, await area.people.passwordOf(account_id))))
    return 'The password is not right.';
  await area.throttle.forgive('account-password', account_id);
  return null;
}
