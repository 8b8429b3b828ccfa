/**
 * Confirmation pages: a destructive or costly action asks before it acts.
 *
 * GET of the action's path shows what will happen, to whom and with which figures, and a form that posts to the same
 * path. Actions that touch the books or the public require a reason, which the audit log keeps.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { z } from 'zod';
import { PageError, parseFields, untrimmedField } from '../../web/forms.ts';
import type { PageView, ProtectedArea } from './protected-area.ts';

export interface Confirmation {
  /** The action with its object, such as "Suspend ann@example.org". */
  title: string;
  /** What will happen, one sentence each. */
  effects: readonly string[];
  figures: readonly Figure[];
  /** Label of the button that acts. */
  button: string;
  /** Takes nothing from anybody; default false. */
  isHarmless?: boolean;
  /** Sent with the form. */
  values?: Readonly<Record<string, string>>;
  /** Where "Cancel" leads. */
  back: string;
}

export interface Figure {
  label: string;
  value: string;
}

export interface ReasonField {
  name: string;
  label: string;
  hint: string;
  isRequired: boolean;
  maxLength: number;
}

const HINT = 'stored in the audit log: name no person';
export const REASON: ReasonField = {
  name: 'reason',
  label: 'Reason',
  hint: HINT,
  isRequired: true,
  maxLength: 500,
};
export const OPTIONAL_REASON: ReasonField = { ...REASON, hint: `optional; ${HINT}`, isRequired: false };

export interface ConfirmationPage {
  confirmation: Confirmation;
  /** Where its form is sent. */
  action: string;
  reason: (ReasonField & { typed: string }) | null;
  asksPassword: boolean;
  problem: string;
}

/** Where to go and what to say there; or why nothing was done. */
export type Outcome = { path: string; notice: string | null } | { status: number; problem: string };

export interface Decision<Fields> {
  fields: Fields;
  reason: string;
  password: string;
}

export interface ConfirmedAction<Fields = unknown> {
  /** Below the area's root. */
  path: string;
  /** Values of the query and of the form, besides reason and password. */
  fields: z.ZodType<Fields>;
  reason(fields: Fields): ReasonField | null;
  /** Whether the user's password is asked for again; `act` checks it. */
  asksPassword?: boolean;
  options?: RouteShorthandOptions;
  ask(request: FastifyRequest, fields: Fields): Promise<Confirmation>;
  act(request: FastifyRequest, reply: FastifyReply, decision: Decision<Fields>): Promise<Outcome>;
}

const MAX_PASSWORD_LENGTH = 1_000;
const integers = new Intl.NumberFormat('en');

export const formatCount = (value: number): string => integers.format(value);

/** `1 key` or `2 keys`. */
export const counted = (value: number, one: string, many: string): string =>
  `${formatCount(value)} ${value === 1 ? one : many}`;

/** `100 → 95`; one number when nothing changes. */
export const formatChange = (before: number, after: number): string =>
  before === after ? formatCount(before) : `${formatCount(before)} → ${formatCount(after)}`;

interface Area extends Pick<ProtectedArea, 'sessions'> {
  view(template: string): PageView;
}

/** Returns what shows a confirmation page. @param action where its form is sent */
export function confirmationView(area: Pick<Area, 'view'>) {
  const view = area.view('confirmation.njk');
  return (reply: FastifyReply, page: ConfirmationPage): Promise<FastifyReply> =>
    view(reply, page.confirmation.title, page);
}

/** Adds both routes of an action. */
export function confirmedAction<Fields>(
  scope: FastifyInstance,
  area: Area,
  {
    path,
    fields: schema,
    reason: reasonOf,
    asksPassword = false,
    options = {},
    ask,
    act,
  }: ConfirmedAction<Fields>,
): void {
  const view = confirmationView(area);

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { fields, reason, problem }: { fields: Fields; reason: string; problem: string },
  ): Promise<FastifyReply> => {
    const field = reasonOf(fields);
    return view(reply, {
      confirmation: await ask(request, fields),
      action: request.url.split('?', 1)[0] ?? '',
      reason: field && { ...field, typed: reason },
      asksPassword,
      problem,
    });
  };

  scope.get(path, options, async (request, reply) => {
    if (!request.user?.canWrite)
      throw new PageError(403, 'Your role is read-only: you can see everything here and change nothing.');
    return show(request, reply, { fields: parseFields(schema, request.query), reason: '', problem: '' });
  });

  scope.post(path, options, async (request, reply) => {
    const fields = parseFields(schema, request.body);
    const decision = { fields, ...readDecision(request.body, reasonOf(fields)) };
    if (decision.reason === '' && reasonOf(fields)?.isRequired)
      return show(request, reply.code(422), { ...decision, problem: 'Give a reason.' });
    const outcome = await act(request, reply, decision);
    if ('path' in outcome) return reply.leadTo(outcome.path, outcome.notice);
    return show(request, reply.code(outcome.status), { ...decision, problem: outcome.problem });
  });
}

function readDecision(body: unknown, field: ReasonField | null): { reason: string; password: string } {
  const { password } = parseFields(z.object({ password: untrimmedField(MAX_PASSWORD_LENGTH) }), body);
  if (field === null) return { reason: '', password };
  const text = z.string().trim().max(field.maxLength).default('');
  return { reason: parseFields(z.object({ [field.name]: text }), body)[field.name] ?? '', password };
}
