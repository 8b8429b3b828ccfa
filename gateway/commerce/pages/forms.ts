/**
 * What the forms of account pages share: a form is parsed, validated, carried out and answered with a notice; one that is
 * refused is shown again with what was typed and the reason.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseFields } from '../../web/forms.ts';
import {
  type ConfirmedAction,
  confirmedAction,
  confirmPassword,
  type Outcome,
  passwordProblem,
  rememberBrowser,
  setSessionCookie,
  tooManyAttempts,
} from '../people/people.ts';
import { AccountError, addressProblem, validateEmail } from '../store/store.ts';
import { type AccountContext, personIdOf } from './context.ts';
import { type Asker, throttleChoice } from './throttles.ts';

/** Answers without a session. */
export const ANONYMOUS = { config: { allowsAnonymous: true } };
/** Answers those who are in no account, or in a closed one, too. */
export const RESTRICTED = { config: { allowsRestricted: true } };

export const tokenOf = (request: FastifyRequest): string => (request.params as { token: string }).token;

/** Carries a form out; shows it again where the change is refused. @param refusals `input`: other refusals are thrown */
export async function orShowAgain(
  reply: FastifyReply,
  show: (problem: string) => Promise<FastifyReply>,
  work: () => Promise<FastifyReply>,
  refusals: 'all' | 'input' = 'all',
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AccountError) || error.code === 'unavailable') throw error;
    if (refusals === 'input' && error.code !== 'bad_input') throw error;
    reply.code(error.code === 'bad_input' ? 422 : 409);
    return show(error.message);
  }
}

/** An action that asks on a page of its own, without a reason, and for the password where it says so. */
export function confirmed(
  scope: FastifyInstance,
  context: AccountContext,
  {
    act,
    ...action
  }: Pick<ConfirmedAction<object>, 'path' | 'asksPassword' | 'options' | 'ask'> & {
    act(request: FastifyRequest, reply: FastifyReply): Promise<Outcome>;
  },
): void {
  confirmedAction(scope, context, {
    ...action,
    fields: z.object({}),
    reason: () => null,
    async act(request, reply, { password }) {
      const refused = action.asksPassword ? await reauthenticate(context, request, reply, password) : null;
      return refused === null ? act(request, reply) : { status: reply.statusCode, problem: refused };
    },
  });
}

interface MailForm<Fields> {
  path: string;
  title: string;
  template: string;
  fields: z.ZodType<Fields>;
  /** What the page shows besides the form. */
  page?: object;
  problem?(email: string): string | null;
  /** Seconds to wait, or 0. */
  wait(throttle: AccountContext['throttle'], asker: Asker): Promise<number>;
  /** What helps those who have to wait. */
  hint?: string;
  /** Queues the mail. */
  send(fields: Fields): Promise<void>;
}

/** A page that asks for an address and mails a link there. The answer is the same whoever has the address. */
export function mailForm<Fields extends { email: string }>(
  scope: FastifyInstance,
  context: AccountContext,
  { path, title, template, fields, page = {}, problem = addressProblem, wait, hint, send }: MailForm<Fields>,
): void {
  const view = context.view(template);
  const mailSent = context.view('mail-sent.njk');
  const show = (reply: FastifyReply, form: Fields, why = ''): Promise<FastifyReply> =>
    view(reply, title, { ...page, form: { ...form, problem: why } });

  scope.get(path, ANONYMOUS, (_request, reply) => show(reply, fields.parse({})));

  scope.post(path, ANONYMOUS, async (request, reply) => {
    const form = parseFields(fields, request.body);
    const { email } = form;
    const why = problem(email);
    if (why !== null) return show(reply.code(422), form, why);
    const wait_s = await wait(context.throttle, { address: request.ip, email });
    if (wait_s > 0)
      return show(reply, form, [tooManyAttempts(reply, wait_s), hint].filter(Boolean).join(' '));
    await send({ ...form, email: validateEmail(email) });
    return mailSent(reply, 'Check your e-mail', { email });
  });
}

const INVALID_LINK = { template: 'invalid-link.njk', title: 'This link is no longer valid' };

interface LinkPages<Found, Fields> {
  /** Without the token. */
  path: string;
  /** Where a new link can be asked for; or the page that says that there is none. */
  again: string | { template: string; title: string };
  fields: z.ZodType<Fields>;
  /** What the link is for, without using it up; null if it is no longer valid. */
  peek(token: string): Promise<Found | null>;
  show(reply: FastifyReply, found: Found, token: string, problem?: string): Promise<FastifyReply>;
  /** Uses the link up. Null if it is no longer valid. */
  act(
    request: FastifyRequest,
    reply: FastifyReply,
    found: Found,
    fields: Fields,
  ): Promise<FastifyReply | string | null>;
}

/** The pages behind a mailed link. GET does not use the link up: mail scanners open links too. */
export function linkPages<Found, Fields>(
  scope: FastifyInstance,
  context: AccountContext,
  { path, again, fields, peek, show, act }: LinkPages<Found, Fields>,
): void {
  const said = typeof again === 'string' ? INVALID_LINK : again;
  const view = context.view(said.template);
  const invalid = (reply: FastifyReply) => view(reply.code(410), said.title, { again });

  scope.get(`${path}/:token`, ANONYMOUS, async (request, reply) => {
    const found = await peek(tokenOf(request));
    return found === null ? invalid(reply) : show(reply, found, tokenOf(request));
  });

  scope.post(`${path}/:token`, ANONYMOUS, async (request, reply) => {
    const form = parseFields(fields, request.body);
    const found = await peek(tokenOf(request));
    if (found === null) return invalid(reply);
    const done = await act(request, reply, found, form);
    if (typeof done === 'string') return show(reply, found, tokenOf(request), done);
    // A reply that was sent is undefined once it is awaited.
    return done === null ? invalid(reply) : reply;
  });
}

/**
 * Why the password that was chosen through a valid link may not be hashed now, or null. The status of `reply` is set.
 * @param choice `id` of the account or address, for the throttle
 */
export async function choiceProblem(
  { throttle }: AccountContext,
  reply: FastifyReply,
  { password, email, id }: { password: string; email: string; id: string },
): Promise<string | null> {
  const problem = await passwordProblem(password, email);
  if (problem !== null) {
    reply.code(422);
    return problem;
  }
  const wait_s = await throttleChoice(throttle, reply.request.ip, id);
  return wait_s > 0 ? tooManyAttempts(reply, wait_s) : null;
}

/** See `confirmPassword`. */
export async function reauthenticate(
  context: AccountContext,
  request: FastifyRequest,
  reply: FastifyReply,
  typed: string,
): Promise<string | null> {
  const subject = personIdOf(request);
  const stored = (await context.persons.get(subject))?.password ?? null;
  return confirmPassword(context, reply, { counter: 'account-password', subject, typed, stored });
}

/** After all sessions of the person have ended: gives this browser a new one, whose next page shows the notice. */
export async function restartSession(
  { persons, sessions, site }: AccountContext,
  request: FastifyRequest,
  reply: FastifyReply,
  notice: string,
): Promise<void> {
  const person = await persons.get(personIdOf(request));
  if (!person) return;
  const session = await sessions.begin(person.person_id, person.epoch, request.headers['user-agent']);
  if (request.user?.account) await sessions.setAccount(session, request.user.account.account_id);
  await sessions.setNotice(session, notice);
  setSessionCookie(reply, site, session);
  await rememberBrowser(reply, site, person);
}
