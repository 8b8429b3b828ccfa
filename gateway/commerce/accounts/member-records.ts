/** Members and invitations, from the hashes that hold them. All times are Unix milliseconds. */
import { type GivenRole, isRole, type Role } from './roles.ts';

export interface Member {
  person_id: string;
  role: Role;
  added_at_ms: number;
  /** The person who invited the member; null for the first owner. */
  by: string | null;
}

export interface Invitation {
  invitation_id: string;
  email: string;
  role: GivenRole;
  /** The person who sent it. */
  by: string;
  created_at_ms: number;
  until_ms: number;
}

type Facts = Readonly<Record<string, string>>;

const idsOf = (facts: Facts, field: string): string[] =>
  Object.keys(facts)
    .filter((name) => name.endsWith(`:${field}`))
    .map((name) => name.slice(0, -field.length - 1));

/** The owner first, then by the time at which they were added. */
export function membersFrom(facts: Facts): Member[] {
  const members = idsOf(facts, 'role').flatMap((person_id): Member[] => {
    const role = facts[`${person_id}:role`];
    if (!isRole(role)) return [];
    const added_at_ms = Number(facts[`${person_id}:added_at_ms`]);
    return [{ person_id, role, added_at_ms, by: facts[`${person_id}:by`] || null }];
  });
  const rank = ({ role, added_at_ms }: Member): number => (role === 'owner' ? -1 : added_at_ms);
  return members.sort((a, b) => rank(a) - rank(b) || (a.person_id < b.person_id ? -1 : 1));
}

/** Oldest first. */
export function invitationsFrom(facts: Facts): Invitation[] {
  return idsOf(facts, 'email')
    .map((id): Invitation => {
      const field = (name: string): string => facts[`${id}:${name}`] ?? '';
      return {
        invitation_id: id,
        email: field('email'),
        role: field('role') as GivenRole,
        by: field('by'),
        created_at_ms: Number(field('created_at_ms')),
        until_ms: Number(field('until_ms')),
      };
    })
    .sort((a, b) => a.created_at_ms - b.created_at_ms || (a.invitation_id < b.invitation_id ? -1 : 1));
}
