/** Members of the account: who is in it, invitations, roles, removing, leaving and moving the ownership. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Feed } from '../../../api/metering/metering.ts';
import { PageError, parseFields, textField } from '../../../web/forms.ts';
import { FORMER_OWNER, GIVEN_ROLES, type KeyRecord } from '../../accounts/accounts.ts';
import { type Confirmation, counted, tooManyAttempts } from '../../people/people.ts';
import { may } from '../access.ts';
import { type AccountContext, accountIdOf, personIdOf } from '../context.ts';
import { confirmed, orShowAgain } from '../forms.ts';
import { throttleInvitation } from '../throttles.ts';

const MEMBERS_PATH = '/account/members';

const givenRole = z.enum(GIVEN_ROLES);
const inviteForm = z.object({ email: textField(254), role: givenRole });
const roleForm = z.object({ role: givenRole });
const nameForm = z.object({ name: textField(200) });
const removeForm = z.object({ keys: z.enum(['revoke', 'keep']) });

async function listMembers(context: AccountContext, request: FastifyRequest) {
  const members = await context.members.list(accountIdOf(request));
  const persons = await Promise.all(members.map(({ person_id }) => context.persons.get(person_id)));
  return members.map((member, index) => ({
    ...member,
    email: persons[index]?.email ?? member.person_id,
    name: persons[index]?.name ?? '',
    isSelf: member.person_id === personIdOf(request),
  }));
}

type ListedMember = Awaited<ReturnType<typeof listMembers>>[number];

/** The member of the path. @throws {PageError} 404 */
async function findMember(context: AccountContext, request: FastifyRequest): Promise<ListedMember> {
  const { person_id } = request.params as { person_id: string };
  const found = (await listMembers(context, request)).find((member) => member.person_id === person_id);
  if (!found) throw new PageError(404, 'This person is not a member of the account.');
  return found;
}

export function membersRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('members.njk');

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    form = { email: '', role: 'developer', problem: '' },
  ): Promise<FastifyReply> => {
    const account_id = accountIdOf(request);
    const [members, invitations, account] = await Promise.all([
      listMembers(context, request),
      context.members.invitations(account_id),
      context.accounts.get(account_id),
    ]);
    return view(reply, 'Members', {
      members,
      invitations,
      roles: GIVEN_ROLES,
      form,
      accountName: account.name,
      mayManage: may(request, 'manage'),
      isOwner: request.user?.account?.role === 'owner',
    });
  };

  scope.get('/members', (request, reply) => show(request, reply));

  scope.post('/members/invite', async (request, reply) => {
    const { email, role } = parseFields(inviteForm, request.body);
    const account_id = accountIdOf(request);
    const wait_s = await throttleInvitation(context.throttle, account_id);
    if (wait_s > 0) return show(request, reply, { email, role, problem: tooManyAttempts(reply, wait_s) });
    const work = async (): Promise<FastifyReply> => {
      const { invitation_id } = await request.audited(
        { action: 'member.invite', after: { role } },
        () => context.members.invite(account_id, { email, role, by: personIdOf(request) }),
        (invited) => ({ after: { role, invitation_id: invited.invitation_id } }),
      );
      await context.jobs.add('invitation', { account_id, invitation_id });
      return reply.leadTo(MEMBERS_PATH, `${email} is invited. The link is valid for seven days.`);
    };
    return orShowAgain(reply, (problem) => show(request, reply, { email, role, problem }), work, 'input');
  });

  scope.post('/members/invitations/:invitation_id/withdraw', async (request, reply) => {
    const { invitation_id } = request.params as { invitation_id: string };
    await request.audited({ action: 'member.withdraw', after: { invitation_id } }, () =>
      context.members.withdraw(accountIdOf(request), invitation_id, personIdOf(request)),
    );
    return reply.leadTo(MEMBERS_PATH, 'The invitation is withdrawn.');
  });

  scope.post('/members/:person_id/role', async (request, reply) => {
    const { role } = parseFields(roleForm, request.body);
    const { person_id, email, role: before } = await findMember(context, request);
    const facts = { before: { person_id, role: before }, after: { person_id, role } };
    await request.audited({ action: 'member.role', ...facts }, () =>
      context.members.setRole(accountIdOf(request), { person_id, role, by: personIdOf(request) }),
    );
    return reply.leadTo(MEMBERS_PATH, `${email} is ${role} now.`);
  });

  scope.post('/members/name', async (request, reply) => {
    const { name } = parseFields(nameForm, request.body);
    await request.audited({ action: 'account.rename' }, () =>
      context.accounts.rename(accountIdOf(request), name),
    );
    return reply.leadTo(MEMBERS_PATH, 'The name of the account is changed.');
  });
}

export function removeMemberRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('member-remove.njk');

  /** Active keys that a member made. */
  const keysOf = async (
    request: FastifyRequest,
    { person_id, email }: ListedMember,
  ): Promise<KeyRecord[]> => {
    const keys = await context.accounts.keys.list(accountIdOf(request));
    return keys.filter(({ state, by }) => state === 'active' && (by === person_id || by === email));
  };

  /** Live feed links that a member made of any key. */
  const feedsOf = async (request: FastifyRequest, { person_id }: ListedMember): Promise<Feed[]> =>
    (await context.feeds.list(accountIdOf(request))).filter(
      ({ state, by }) => state === 'active' && by === person_id,
    );

  scope.get('/members/:person_id/remove', async (request, reply) => {
    const member = await findMember(context, request);
    const [keys, feeds] = await Promise.all([keysOf(request, member), feedsOf(request, member)]);
    return view(reply, 'Remove a member', { member, keys, feeds });
  });

  scope.post('/members/:person_id/remove', async (request, reply) => {
    const { keys } = parseFields(removeForm, request.body);
    const member = await findMember(context, request);
    const { person_id, email, role } = member;
    const account_id = accountIdOf(request);
    // The keys come first: whoever is removed must not be left with keys that were to end.
    const revokes = keys === 'revoke' && role !== 'owner';
    const made = revokes ? await keysOf(request, member) : [];
    const feeds = revokes ? await feedsOf(request, member) : [];
    for (const { key_id } of made)
      await request.audited({ action: 'key.revoke', after: { key_id, state: 'revoked' } }, () =>
        context.accounts.keys.revoke(key_id, { by: personIdOf(request) }),
      );
    for (const { feed_id } of feeds)
      await request.audited({ action: 'feed.revoke', after: { feed_id, state: 'revoked' } }, () =>
        context.feeds.revoke(account_id, feed_id),
      );
    await request.audited({ action: 'member.remove', before: { person_id, role } }, () =>
      context.members.remove(account_id, { person_id, by: personIdOf(request) }),
    );
    const ended = [
      ...(made.length > 0 ? [`${counted(made.length, 'key is', 'keys are')} revoked.`] : []),
      ...(feeds.length > 0 ? [`${counted(feeds.length, 'feed link is', 'feed links are')} revoked.`] : []),
    ];
    return reply.leadTo(MEMBERS_PATH, [`${email} is removed.`, ...ended].join(' '));
  });

  confirmed(scope, context, {
    path: '/members/leave',
    ask: async (request) => leaving((await context.accounts.get(accountIdOf(request))).email),
    async act(request) {
      const person_id = personIdOf(request);
      await request.audited({ action: 'member.leave', before: { person_id } }, () =>
        context.members.remove(accountIdOf(request), { person_id, by: person_id }),
      );
      return { path: '/account/accounts', notice: 'You are no longer a member of the account.' };
    },
  });
}

export function ownershipRoutes(scope: FastifyInstance, context: AccountContext): void {
  /** An erasure also erases the owner, and only the one who asked for it may be. @throws {PageError} 404, 409 */
  const findNewOwner = async (request: FastifyRequest): Promise<ListedMember> => {
    if (await context.requests.hasOpen(accountIdOf(request), 'erasure'))
      throw new PageError(
        409,
        'The erasure of this account was asked for. Its ownership can no longer be moved.',
      );
    return findMember(context, request);
  };

  confirmed(scope, context, {
    path: '/members/:person_id/ownership',
    asksPassword: true,
    ask: async (request) => movingOwnership((await findNewOwner(request)).email),
    async act(request) {
      const to = await findNewOwner(request);
      const by = personIdOf(request);
      const facts = { before: { owner: by }, after: { owner: to.person_id } };
      await request.audited({ action: 'ownership.move', ...facts }, () =>
        context.members.moveOwnership(accountIdOf(request), { to, by }),
      );
      return { path: MEMBERS_PATH, notice: `${to.email} is the owner of the account now.` };
    },
  });
}

const movingOwnership = (email: string): Confirmation => ({
  title: 'Move the ownership',
  effects: [
    `From now on ${email} alone can manage members, close the account and have it erased. Mails about the account go there.`,
    `You become ${FORMER_OWNER}, and only ${email} can give the ownership back. Open invitations end. Both of you are told by mail.`,
  ],
  figures: [{ label: 'New owner', value: email }],
  button: 'Move ownership',
  back: MEMBERS_PATH,
});

const leaving = (account: string): Confirmation => ({
  title: 'Leave the account',
  effects: [
    'From the next page on you can neither see the account nor change it. Hosts that you connected are refused. Keys and feed links that you made keep working until somebody revokes them.',
    'Only its owner can invite you again.',
  ],
  figures: [{ label: 'Account of', value: account }],
  button: 'Leave',
  back: MEMBERS_PATH,
});
