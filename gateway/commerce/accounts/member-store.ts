/**
 * Members of accounts. An account has one owner, and others with lesser roles.
 *
 * - Each change is one script, which checks the role of whoever asks for it. So a form that is still open, or an
 *   invitation that is still in the mail, is of no use to somebody who lost the role.
 * - An invitation is valid while the member who sent it is the owner.
 * - The person who signs up becomes the owner, by the script that creates the account.
 */
import { readScript, type Script, type ScriptArguments } from '../../../data/runtime/redis-scripts.ts';
import { DAY_MS, redisKeys } from '../../../data/schema/redis-keys.ts';
import { AccountError, type Hash, Store, validateEmail } from '../store/store.ts';
import { PersonStore } from './person-store.ts';

const INVITE = readScript(import.meta.url, 'lua/invite-member.lua', 3);
const WITHDRAW = readScript(import.meta.url, 'lua/withdraw-invitation.lua', 2);
const ACCEPT = readScript(import.meta.url, 'lua/accept-invitation.lua', 3);
const CHANGE_MEMBER = readScript(import.meta.url, 'lua/change-member.lua', 2);
const MOVE_OWNERSHIP = readScript(import.meta.url, 'lua/move-ownership.lua', 4);

export const INVITATION_TTL_MS = 7 * DAY_MS;
/** Members and invitations of one account together. */
export const MAX_MEMBERS = 50;

/** What the members of an account may do. */
export const ROLES = ['owner', 'billing', 'developer', 'viewer'] as const;
export type Role = (typeof ROLES)[number];
/** Roles that an owner gives; see `MemberStore.moveOwnership` for the ownership. */
export const GIVEN_ROLES = ['billing', 'developer', 'viewer'] as const;
export type GivenRole = (typeof GIVEN_ROLES)[number];

/**
 * `read`: everything of the account; `keys`: create, change and revoke keys; `webhooks`: add, change and remove webhooks;
 * `billing`: orders and alerts; `manage`: members, name, data requests, closing.
 */
export type Permission = 'read' | 'keys' | 'webhooks' | 'billing' | 'manage';

export const PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  owner: ['read', 'keys', 'webhooks', 'billing', 'manage'],
  billing: ['read', 'billing'],
  developer: ['read', 'keys', 'webhooks'],
  viewer: ['read'],
};

/** What the former owner becomes when the ownership moves. */
export const FORMER_OWNER: GivenRole = 'developer';

export const isRole = (word: string | null | undefined): word is Role => ROLES.some((role) => role === word);

export interface Invitation {
  invitation_id: string;
  email: string;
  role: GivenRole;
  /** The person who sent it. */
  by: string;
  created_at_ms: number;
  until_ms: number;
}

const REFUSALS: Readonly<Record<string, string>> = {
  closed: 'The account is suspended or closed.',
  not_owner: 'Only the owner of the account can do this.',
  not_member: 'This person is not a member of the account.',
  is_owner: 'The owner keeps this role until the ownership has moved to somebody else.',
  full: `An account has at most ${MAX_MEMBERS} members and invitations.`,
  invalid: 'This invitation is no longer valid.',
};

export class MemberStore extends Store {
  readonly #persons = new PersonStore(this.deps);

  /** The role of a person now; null for somebody who is not a member. */
  async roleOf(account_id: string, person_id: string): Promise<Role | null> {
    const role = await this.redis.hget(redisKeys.members(account_id), `${person_id}:role`);
    return isRole(role) ? role : null;
  }

  /** The owner first, then by the time at which they were added. */
  async list(account_id: string): Promise<Member[]> {
    return membersFrom(await this.redis.hgetall(redisKeys.members(account_id)));
  }

  /** Those that can be accepted, oldest first. */
  async invitations(account_id: string): Promise<Invitation[]> {
    const [stored, members] = await Promise.all([
      this.redis.hgetall(redisKeys.invitations(account_id)),
      this.list(account_id),
    ]);
    const owner = members.find(({ role }) => role === 'owner')?.person_id;
    return invitationsFrom(stored).filter(({ by, until_ms }) => by === owner && until_ms > this.now());
  }

  async invitation(account_id: string, invitation_id: string): Promise<Invitation | null> {
    return (await this.invitations(account_id)).find((one) => one.invitation_id === invitation_id) ?? null;
  }

  /** Replaces an earlier invitation of the same address. @throws {AccountError} `bad_input`, `member_refused` */
  async invite(
    account_id: string,
    { email, role, by }: { email: string; role: GivenRole; by: string },
  ): Promise<Pick<Invitation, 'invitation_id'>> {
    const created_at_ms = this.now();
    const until_ms = created_at_ms + INVITATION_TTL_MS;
    const invitation_id = this.newId('inv');
    const invitation = { email: validateEmail(email), role, by, created_at_ms, until_ms };
    await this.#change(INVITE, [
      ...[redisKeys.account(account_id), redisKeys.members(account_id), redisKeys.invitations(account_id)],
      ...[created_at_ms, invitation_id, JSON.stringify(invitation), MAX_MEMBERS],
    ]);
    return { invitation_id };
  }

  /** @throws {AccountError} `member_refused` */
  async withdraw(account_id: string, invitation_id: string, by: string): Promise<void> {
    const names = [redisKeys.members(account_id), redisKeys.invitations(account_id)];
    await this.#change(WITHDRAW, [...names, invitation_id, by]);
  }

  /** Makes the person a member. Whether it is the invited one is for the caller to check. @throws {AccountError} `member_refused` */
  async accept(account_id: string, invitation_id: string, person_id: string): Promise<void> {
    await this.#persons.addAccount(person_id, account_id);
    await this.#change(ACCEPT, [
      ...[redisKeys.account(account_id), redisKeys.members(account_id), redisKeys.invitations(account_id)],
      ...[this.now(), invitation_id, person_id],
    ]);
  }

  /** @throws {AccountError} `member_refused` */
  async setRole(
    account_id: string,
    { person_id, role, by }: { person_id: string; role: GivenRole; by: string },
  ): Promise<void> {
    const names = [redisKeys.members(account_id), redisKeys.connections(account_id)];
    const allows = PERMISSIONS[role].includes('keys') ? '1' : '';
    await this.#change(CHANGE_MEMBER, [...names, person_id, role, by, this.now(), allows]);
  }

  /** Removes a member: by the owner, or by the member. @throws {AccountError} `member_refused` */
  async remove(account_id: string, { person_id, by }: { person_id: string; by: string }): Promise<void> {
    const names = [redisKeys.members(account_id), redisKeys.connections(account_id)];
    await this.#change(CHANGE_MEMBER, [...names, person_id, '', by, this.now(), '']);
    await this.#persons.removeAccount(person_id, account_id);
  }

  /**
   * Moves the ownership to another member. All invitations end.
   * @param to the member, with the present address
   * @throws {AccountError} `member_refused`
   */
  async moveOwnership(
    account_id: string,
    { to, by }: { to: { person_id: string; email: string }; by: string },
  ): Promise<void> {
    const { redis, now } = this;
    await redis.zadd(redisKeys.accountsChanged, now(), account_id);
    await this.expectEvents(account_id);
    await this.#change(MOVE_OWNERSHIP, [
      ...[redisKeys.account(account_id), redisKeys.members(account_id), redisKeys.invitations(account_id)],
      ...[redisKeys.accountOutbox(account_id), to.person_id, to.email, by, FORMER_OWNER, now()],
    ]);
  }

  async #change(script: Script, values: ScriptArguments): Promise<void> {
    const [result] = await this.run(script, values);
    if (result !== 'done')
      throw new AccountError('member_refused', REFUSALS[String(result)] ?? 'This is not possible.');
  }
}

/** The owner first, then by the time at which they were added. */
function membersFrom(facts: Hash) {
  const members = Object.entries(facts).flatMap(([field, role]) => {
    const [person_id = '', name] = field.split(':');
    if (name !== 'role' || !isRole(role)) return [];
    const added_at_ms = Number(facts[`${person_id}:added_at_ms`]);
    // The person who invited the member; null for the first owner.
    return [{ person_id, role, added_at_ms, by: facts[`${person_id}:by`] || null }];
  });
  const rank = ({ role, added_at_ms }: { role: Role; added_at_ms: number }) =>
    role === 'owner' ? -1 : added_at_ms;
  return members.sort((a, b) => rank(a) - rank(b) || (a.person_id < b.person_id ? -1 : 1));
}
export type Member = ReturnType<typeof membersFrom>[number];

/** Oldest first. */
const invitationsFrom = (stored: Hash): Invitation[] =>
  Object.entries(stored)
    .map(([invitation_id, json]): Invitation => ({ invitation_id, ...JSON.parse(json) }))
    .sort((a, b) => a.created_at_ms - b.created_at_ms || (a.invitation_id < b.invitation_id ? -1 : 1));
