/**
 * Where a host sends a person, and the page on which the person lets it use an account, or not. What the host asks is checked
 * before anybody signs in; the answer leads back to the host.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DAY_MS } from '../../../../data/schema/redis-keys.ts';
import { PageError, parseFields, textField } from '../../../web/forms.ts';
import { PERMISSIONS } from '../../accounts/accounts.ts';
import { type AuthorizationRequest, redirectHost } from '../../connections/connections.ts';
import { accountSubject } from '../../history/history.ts';
import { AccountError, badInput } from '../../store/store.ts';
import { findImitated, type NamedClient } from '../client-names.ts';
import { type AccountContext, personIdOf } from '../context.ts';
import { ANONYMOUS, orShowAgain } from '../forms.ts';
import { membershipsOf } from '../signed-in.ts';
import { throttleConnect } from '../throttles.ts';
import { parseLimit } from './key-form.ts';

const LIFETIMES = [
  { days: '30', text: '30 days from now' },
  { days: '90', text: '90 days from now' },
  { days: '365', text: 'a year from now' },
] as const;

const consentForm = z.object({
  decision: z.enum(['allow', 'deny', '']).default(''),
  account_id: textField(100),
  limit: textField(20).default('1000'),
  days: z.enum(LIFETIMES.map(({ days }) => days)).default('90'),
});
type Consent = z.infer<typeof consentForm>;

export function consentRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('consent.njk');

  scope.get('/connect', ANONYMOUS, async (request, reply) => {
    const wait_s = await throttleConnect(context.throttle, request.ip);
    if (wait_s > 0) {
      reply.header('Retry-After', wait_s);
      throw new PageError(429, `Too many programs were sent here. Try again in ${wait_s} s.`);
    }
    const begun = await context.authorizations.begin(request.query as Record<string, unknown>);
    return reply.redirect('redirect' in begun ? begun.redirect : `/account/connect/${begun.request_id}`, 303);
  });

  const findRequest = async (request: FastifyRequest): Promise<AuthorizationRequest> => {
    const { request_id } = request.params as { request_id: string };
    const found = await context.authorizations.find(request_id);
    if (!found) throw new PageError(410, 'This request is over. Go back to the host and connect it again.');
    return found;
  };

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { asked, form, problem = '' }: { asked: AuthorizationRequest; form: Consent; problem?: string },
  ): Promise<FastifyReply> => {
    const accounts = await findPayers(context, personIdOf(request));
    allowReturn(reply, asked.redirect_uri);
    const { client, host, redirect_uri } = asked;
    return view(reply, `Connect ${client.name}`, {
      accounts,
      problem,
      lifetimes: LIFETIMES,
      client: { name: client.name, host: provedHost(client.client_id, host) },
      path: `/account/connect/${asked.request_id}`,
      form: { ...form, account_id: form.account_id || (request.user?.account?.account_id ?? '') },
      returnsTo: { host: redirectHost(redirect_uri), isLocal: LOCAL.test(redirectHost(redirect_uri)) },
      warnings: await findWarnings(context, asked, accounts),
    });
  };

  scope.get('/connect/:request_id', async (request, reply) =>
    show(request, reply, { asked: await findRequest(request), form: consentForm.parse({}) }),
  );

  scope.post('/connect/:request_id', async (request, reply) => {
    const form = parseFields(consentForm, request.body);
    const asked = await findRequest(request);
    if (form.decision === 'deny') return reply.redirect(await context.authorizations.deny(asked), 303);
    const again = (problem: string) => show(request, reply, { asked, form, problem });
    return orShowAgain(reply, again, async () => {
      if (form.decision === '') throw badInput('Choose whether to allow it.');
      return reply.redirect(await allow(context, request, asked, form), 303);
    });
  });
}

/** @returns where the person goes on, with the code */
async function allow(
  context: AccountContext,
  request: FastifyRequest,
  asked: AuthorizationRequest,
  { account_id, limit, days }: Consent,
): Promise<string> {
  const monthly_limit = parseLimit(limit);
  if (monthly_limit === null) throw badInput('Give a monthly limit in credits.');
  const expires_at_ms = context.now() + Number(days) * DAY_MS;
  const given = { account_id, person_id: personIdOf(request), monthly_limit, expires_at_ms };
  const after = { monthly_limit, expires_at_ms };
  const payers = await findPayers(context, given.person_id);
  if (!payers.some((payer) => payer.account_id === account_id))
    throw new AccountError('member_refused', 'Choose one of your accounts.');
  const { url } = await request.audited(
    { action: 'connection.allow', subject: accountSubject(account_id), after },
    () => context.authorizations.allow(asked, given),
    ({ connection_id }) => ({ after: { connection_id, ...after } }),
  );
  return url;
}

/** Accounts that the person may let hosts pay with, the person's own first. */
async function findPayers(context: AccountContext, person_id: string) {
  const memberships = await membershipsOf(context, person_id);
  const usable = memberships.filter(
    ({ state, role }) => state === 'active' && PERMISSIONS[role].includes('keys'),
  );
  return Promise.all(
    usable.map(async ({ account_id, name, email }) => {
      const { credits } = await context.accounts.get(account_id);
      return { account_id, label: name === '' ? email : `${name} (${email})`, balance: credits.balance };
    }),
  );
}

type Payer = Awaited<ReturnType<typeof findPayers>>[number];

/** Of a program on the person's device: its own listener, or the scheme of its links. */
const LOCAL = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$|:$/;

/** Nothing proves who a client is that registered itself and takes its answer on the person's device. */
const provedHost = (client_id: string, host: string): string | null =>
  LOCAL.test(host) && !client_id.includes(':') ? null : host;

/** Hosts that may pass for what they are, and are connected to one of the accounts. */
async function findConnected(context: AccountContext, accounts: readonly Payer[]): Promise<NamedClient[]> {
  const lists = await Promise.all(accounts.map(({ account_id }) => context.connections.list(account_id)));
  return lists.flat().flatMap(({ state, client_name, client_id, host }) => {
    const proved = state === 'active' ? provedHost(client_id, host) : null;
    return proved === null ? [] : [{ name: client_name, host: proved }];
  });
}

async function findWarnings(
  context: AccountContext,
  { client, redirect_uri, host }: AuthorizationRequest,
  accounts: readonly Payer[],
): Promise<string[]> {
  const asking = { name: client.name, host: provedHost(client.client_id, host) };
  const own = new URL(context.publicUrl()).hostname;
  const imitated = findImitated(asking, { own, connected: await findConnected(context, accounts) });
  const warnings: string[] = [];
  if (imitated) {
    const fact = asking.host === null ? 'nothing proves that it is' : `it belongs to ${asking.host}`;
    warnings.push(
      `“${client.name}” looks like ${imitated.name} of ${imitated.host}, but ${fact}. Deny it unless you know why.`,
    );
  }
  if (LOCAL.test(redirectHost(redirect_uri)))
    warnings.push(
      'The answer goes to a program on this device, and any program on it could have asked. Allow it only if you began this yourself just now.',
    );
  return warnings;
}

/** Lets the form of the page lead to the host: browsers hold redirects after a form to `form-action`. */
function allowReturn(reply: FastifyReply, redirect_uri: string): void {
  const { protocol, host } = new URL(redirect_uri);
  const source = /^[\w.-]+(:\d+)?$/.test(host) ? `${protocol}//${host}` : protocol;
  const policy = String(reply.getHeader('content-security-policy'));
  reply.header(
    'content-security-policy',
    policy.replace("form-action 'self'", `form-action 'self' ${source}`),
  );
}
