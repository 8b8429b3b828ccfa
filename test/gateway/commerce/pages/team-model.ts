/** What a team may do, written down a second time: the rules of roles, invitations and keys without the product. */
export const PEOPLE = [0, 1, 2, 3] as const;
export type Who = (typeof PEOPLE)[number];
export type TeamRole = 'owner' | 'billing' | 'developer' | 'viewer';
export type Act = 'read' | 'keys' | 'billing' | 'manage';
const MAY: Readonly<Record<TeamRole, string>> = {
  owner: 'read keys billing manage',
  billing: 'read billing',
  developer: 'read keys',
  viewer: 'read',
};
const MOST_KEYS = 10;
export const GRACE_MS = 3_600_000;

export interface TeamKey {
  key_id: string;
  key: string;
  maker: Who;
  /** When it stops; Infinity for never. */
  ends_ms: number;
  isReplaced: boolean;
}

export class TeamModel {
  readonly roles = new Map<Who, TeamRole>([[0, 'owner']]);
  readonly keys: TeamKey[] = [];
  readonly #invited = new Map<Who, TeamRole>();
  isSuspended = false;
  now_ms = 0;

  owner(): Who {
    return PEOPLE.find((who) => this.roles.get(who) === 'owner') ?? 0;
  }

  may(who: Who, act: Act): boolean {
    const role = this.roles.get(who);
    return role !== undefined && MAY[role].split(' ').includes(act);
  }

  works({ ends_ms }: TeamKey): boolean {
    return !this.isSuspended && this.#lives(ends_ms);
  }

  #lives(ends_ms: number): boolean {
    return this.now_ms < ends_ms;
  }

  /** A member other than the owner. */
  #isLesser(who: Who): boolean {
    return this.roles.has(who) && this.roles.get(who) !== 'owner';
  }

  // Each method makes the change, and returns whether it is possible.

  invite(by: Who, to: Who, role: TeamRole): boolean {
    if (!this.may(by, 'manage') || this.isSuspended) return false;
    this.#invited.set(to, role);
    return true;
  }

  accept(who: Who): boolean {
    const role = this.#invited.get(who);
    if (role === undefined || this.isSuspended) return false;
    this.#invited.delete(who);
    if (!this.roles.has(who)) this.roles.set(who, role);
    return true;
  }

  setRole(by: Who, to: Who, role: TeamRole): boolean {
    if (!this.may(by, 'manage') || !this.#isLesser(to)) return false;
    this.roles.set(to, role);
    return true;
  }

  remove(by: Who, to: Who, revokes: boolean): boolean {
    if (!this.may(by, 'manage') || !this.#isLesser(to)) return false;
    this.roles.delete(to);
    for (const key of this.keys) if (revokes && key.maker === to) this.#end(key, this.now_ms);
    return true;
  }

  leave(who: Who): boolean {
    if (!this.#isLesser(who)) return false;
    this.roles.delete(who);
    return true;
  }

  moveOwnership(by: Who, to: Who): boolean {
    if (!this.may(by, 'manage') || this.isSuspended || !this.#isLesser(to)) return false;
    this.roles.set(by, 'developer').set(to, 'owner');
    this.#invited.clear();
    return true;
  }

  canMint(by: Who): boolean {
    const living = this.keys.filter(({ ends_ms }) => this.#lives(ends_ms));
    return this.may(by, 'keys') && !this.isSuspended && living.length < MOST_KEYS;
  }

  add(made: { key_id: string; key: string; maker: Who }): void {
    this.keys.push({ ...made, ends_ms: Number.POSITIVE_INFINITY, isReplaced: false });
  }

  canRotate(by: Who, key: TeamKey, isAtOnce: boolean): boolean {
    if (!this.may(by, 'keys') || this.isSuspended || !this.#lives(key.ends_ms) || key.isReplaced)
      return false;
    const others = this.keys.filter((other) => this.#lives(other.ends_ms) && !(isAtOnce && other === key));
    return others.length < MOST_KEYS;
  }

  replace(key: TeamKey, isAtOnce: boolean): void {
    key.isReplaced = true;
    this.#end(key, isAtOnce ? this.now_ms : this.now_ms + GRACE_MS);
  }

  revoke(by: Who, key: TeamKey): boolean {
    if (!this.may(by, 'keys')) return false;
    this.#end(key, this.now_ms);
    return true;
  }

  #end(key: TeamKey, at_ms: number): void {
    key.ends_ms = Math.min(key.ends_ms, at_ms);
  }
}
