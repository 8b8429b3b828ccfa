/** Lists operators. Owners invite and remove them, change their roles, and end their sessions. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Confirmation, confirmedAction, OPTIONAL_REASON } from '../../gateway/commerce/people/people.ts';
import { AccountError } from '../../gateway/commerce/store/store.ts';
import { formatField, PageError, parseFields, textField } from '../../gateway/web/forms.ts';
import { type AdminArea, actorOf, idOf, shownChanges } from '../context.ts';
import { sendRecords } from '../list.ts';
import { type OperatorRecord, ROLES, type Role } from '../operators.ts';

const PATH = '/admin/operators';
const OWNERS = { config: { ownersOnly: true } };

const roleField = z.enum(ROLES, { error: `one of ${ROLES.join(', ')}` });
const roleFields = z.object({ role: roleField });
const inviteForm = z.object({ email: textField(254), role: roleField });
const listQuery = z.object({ format: formatField });

const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  viewer: 'reads everything and changes nothing',
  operator: 'changes everything but operators',
  owner: 'also manages operators',
};

export const operatorSubject = (email: string): string => `operator ${email}`;

const listed = (operator: OperatorRecord) => ({
  ...operator,
  path: `${PATH}/${operator.id}`,
  state: operator.hasPassword ? 'active' : 'invited',
});

const isOwner = ({ user }: FastifyRequest): boolean => user?.role === 'owner';

export function operatorRoutes(scope: FastifyInstance, area: AdminArea): void {
  const { operators, operatorLinks, secondFactor } = area;
  const listView = area.view('operators.njk');
  const operatorView = area.view('operator.njk');
  const linkView = area.view('operator-link.njk');

  async function find(request: FastifyRequest): Promise<OperatorRecord> {
    const operator = (await operators.list()).find(({ id }) => id === idOf(request));
    if (!operator) throw new PageError(404, 'There is no such operator.');
    return operator;
  }

  const shown = async (operator: OperatorRecord) => ({
    ...listed(operator),
    hasSecondFactor: await secondFactor.isOn(operator.email),
  });

  async function showList(
    reply: FastifyReply,
    form: { email: string; role: Role; problem: string },
  ): Promise<FastifyReply> {
    return listView(reply, 'Operators', {
      operators: await Promise.all((await operators.list()).map(shown)),
      isOwner: isOwner(reply.request),
      roles: ROLES,
      form,
      csv: `${PATH}?format=csv`,
    });
  }

  scope.get('/operators', async (request, reply) => {
    const { format } = parseFields(listQuery, request.query);
    if (format === 'csv')
      return sendRecords(reply, 'operators', COLUMNS, (await operators.list()).map(listed));
    return showList(reply, { email: '', role: 'operator', problem: '' });
  });

  scope.get('/operators/:id', async (request, reply) => {
    const operator = await find(request);
    return operatorView(reply, operator.email, {
      operator: await shown(operator),
      isOwner: isOwner(request),
      roles: ROLES,
      ...(await shownChanges(area, operatorSubject(operator.email))),
    });
  });

  /** Mails a link for choosing a password, or shows it where there is no mail server. */
  async function sendLink(reply: FastifyReply, operator: OperatorRecord): Promise<FastifyReply> {
    const { email } = operator;
    const { path: back } = listed(operator);
    const link = await operatorLinks.send(operator, actorOf(reply.request));
    if (link === null) return reply.leadTo(back, `A link was mailed to ${email}.`);
    return linkView(reply, `Link for ${email}`, { email, link, back });
  }

  scope.post('/operators/invite', OWNERS, async (request, reply) => {
    const { email: typed, role } = parseFields(inviteForm, request.body);
    const change = {
      action: 'operator.invite',
      subject: operatorSubject(typed.toLowerCase()),
      after: { role },
    };
    try {
      const invited = await request.audited(change, () => operators.invite(typed, role));
      return await sendLink(reply, invited);
    } catch (error) {
      if (!(error instanceof AccountError) || !['bad_input', 'account_exists'].includes(error.code))
        throw error;
      const status = error.code === 'bad_input' ? 422 : 409;
      return showList(reply.code(status), { email: typed, role, problem: error.message });
    }
  });

  scope.post('/operators/:id/link', OWNERS, async (request, reply) => {
    const operator = await find(request);
    const change = { action: 'operator.link', subject: operatorSubject(operator.email) };
    return request.audited(change, () => sendLink(reply, operator));
  });

  confirmedAction(scope, area, {
    path: '/operators/:id/role',
    fields: roleFields,
    options: OWNERS,
    reason: () => OPTIONAL_REASON,
    ask: async (request, { role }) => roleChange(await find(request), role),
    async act(request, _reply, { fields: { role }, reason }) {
      const { path, email, role: before } = listed(await find(request));
      await request.audited(
        {
          action: 'operator.role',
          subject: operatorSubject(email),
          before: { role: before },
          after: { role },
          reason,
        },
        () => operators.setRole(email, role),
      );
      return { path, notice: `${email} is ${role}.` };
    },
  });

  confirmedAction(scope, area, {
    path: '/operators/:id/end-sessions',
    fields: z.object({}),
    options: OWNERS,
    reason: () => OPTIONAL_REASON,
    ask: async (request) => endOfSessions(await find(request)),
    async act(request, _reply, { reason }) {
      const { path, email } = listed(await find(request));
      const change = { action: 'operator.end_sessions', subject: operatorSubject(email), reason };
      await request.audited(change, () => operators.endSessions(email));
      return { path, notice: `All sessions of ${email} have ended.` };
    },
  });

  confirmedAction(scope, area, {
    path: '/operators/:id/clear-second-factor',
    fields: z.object({}),
    options: OWNERS,
    reason: () => OPTIONAL_REASON,
    ask: async (request) => clearance(await find(request)),
    async act(request, _reply, { reason }) {
      const { path, email } = listed(await find(request));
      if (email === actorOf(request))
        throw new PageError(409, 'Turn your own second factor off in your menu, with a code.');
      const change = {
        action: 'operator.second_factor',
        subject: operatorSubject(email),
        reason,
        after: { second_factor: 'cleared' },
      };
      const isCleared = await request.audited(change, () => secondFactor.turnOff(email));
      const state = isCleared ? 'is cleared' : 'was off already';
      return { path, notice: `The second factor of ${email} ${state}.` };
    },
  });

  confirmedAction(scope, area, {
    path: '/operators/:id/remove',
    fields: z.object({}),
    options: OWNERS,
    reason: () => OPTIONAL_REASON,
    ask: async (request) => removal(await find(request)),
    async act(request, _reply, { reason }) {
      const { email, role } = await find(request);
      const change = { action: 'operator.remove', subject: operatorSubject(email), before: { role }, reason };
      await request.audited(change, () => operators.remove(email));
      return { path: PATH, notice: `${email} is removed.` };
    },
  });
}

/** Takes something from an operator. */
const ending = (operator: OperatorRecord, text: Pick<Confirmation, 'title' | 'effects' | 'button'>) => ({
  ...text,
  figures: [
    { label: 'Operator', value: operator.email },
    { label: 'Role', value: operator.role },
  ],
  back: listed(operator).path,
});

const roleChange = (operator: OperatorRecord, role: Role): Confirmation => ({
  title: `Make ${operator.email} ${role}`,
  effects: [`From the next request on, ${operator.email} ${ROLE_TEXTS[role]}.`],
  figures: [
    { label: 'Operator', value: operator.email },
    { label: 'Role', value: `${operator.role} → ${role}` },
  ],
  button: 'Change role',
  isHarmless: true,
  values: { role },
  back: listed(operator).path,
});

const endOfSessions = (operator: OperatorRecord): Confirmation =>
  ending(operator, {
    title: `End all sessions of ${operator.email}`,
    effects: [
      'Every browser that is signed in as this operator is signed out with its next request.',
      'Links for choosing a password that were sent before no longer work.',
    ],
    button: 'End sessions',
  });

const clearance = (operator: OperatorRecord): Confirmation =>
  ending(operator, {
    title: `Clear the second factor of ${operator.email}`,
    effects: [
      'The next sign-in needs the password alone. Where a second factor is required, it is set up anew then.',
      'Be sure that the request comes from this person: whoever knows the password gets in.',
    ],
    button: 'Clear second factor',
  });

const removal = (operator: OperatorRecord): Confirmation =>
  ending(operator, {
    title: `Remove ${operator.email}`,
    effects: [
      'From the next request on, this operator can do nothing here. Open sessions and links end.',
      'The audit log keeps what this operator did.',
    ],
    button: 'Remove operator',
  });

const COLUMNS = ['email', 'role', 'state', 'created_at'];
