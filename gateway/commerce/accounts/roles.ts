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
