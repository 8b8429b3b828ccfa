/** Which audited changes are told by mail, and to whom. */

import type { Role } from '../../accounts/accounts.ts';
import { type AuditEntry, NOT_CONFIRMED } from '../../history/history.ts';

export const ORDER_STEPS = ['placed', 'paid', 'failed', 'cancelled', 'refunded'] as const;
export type OrderStep = (typeof ORDER_STEPS)[number];
export type KeyChange = 'created' | 'rotated' | 'revoked';

/** A change of an account that its members are told, or of a person. */
export type Notice =
  | { kind: 'order'; step: OrderStep; order_id: string }
  /** Of a rotation, the key that was replaced. */
  | { kind: 'key'; change: KeyChange; key_id: string }
  | { kind: 'suspended' | 'restored' }
  /** What the account had at that moment; null if it is not known. */
  | { kind: 'closed'; forfeited: { credits: number; keys: number } | null }
  | { kind: 'password'; person_id: string }
  /** Person ids. */
  | { kind: 'ownership'; from: string; to: string };

/** Roles that are told; the maker of a key is told as well, and each person that the notice names. */
export const TOLD_ROLES: Readonly<Record<Notice['kind'], readonly Role[]>> = {
  order: ['owner', 'billing'],
  key: ['owner'],
  suspended: ['owner'],
  restored: ['owner'],
  closed: ['owner'],
  password: [],
  ownership: [],
};

/** Names the event, so that a change that is audited twice is told once. */
export function eventOf({ id }: AuditEntry, notice: Notice): string {
  if (notice.kind === 'order') return `${notice.order_id}-${notice.step}`;
  return notice.kind === 'key' ? `key-${notice.key_id}-${notice.change}` : id;
}

const ORDER_ACTIONS: Readonly<Record<string, OrderStep>> = {
  'order.place': 'placed',
  'order.cancel': 'cancelled',
  'order.paid': 'paid',
  'order.failed': 'failed',
  'order.cancelled': 'cancelled',
  'order.refunded': 'refunded',
};
const KEY_ACTIONS: Readonly<Record<string, KeyChange>> = {
  'key.create': 'created',
  'key.rotate': 'rotated',
  'key.revoke': 'revoked',
};

/** The id behind `account acc_…`; null for a subject of another kind. */
const idOf = (kind: 'account' | 'order' | 'person', subject: string): string | null =>
  subject.startsWith(`${kind} `) ? subject.slice(kind.length + 1) : null;

const textOf = (...facts: unknown[]): string | null =>
  facts.find((fact): fact is string => typeof fact === 'string' && fact !== '') ?? null;

/** The account whose members are told; null for orders that are named by their own id, and for persons. */
export const accountIdOf = ({ subject }: AuditEntry): string | null => idOf('account', subject);

/** Whether the process ended during the change, so that only the present state tells if it was made. */
export const isConfirmed = ({ after }: AuditEntry): boolean => after.outcome !== NOT_CONFIRMED;

/** Null for a change that nobody is told of. */
export function noticeOf(entry: AuditEntry): Notice | null {
  const { action, subject, before, after } = entry;
  const step = ORDER_ACTIONS[action];
  if (step !== undefined) {
    const order_id = textOf(after.order_id, after.order, idOf('order', subject));
    return order_id === null ? null : { kind: 'order', step, order_id };
  }
  const change = KEY_ACTIONS[action];
  if (change !== undefined) {
    const key_id = textOf(before.key_id, after.key_id);
    const isOver = change === 'revoked' && before.state !== undefined && before.state !== 'active';
    return key_id === null || isOver ? null : { kind: 'key', change, key_id };
  }
  if (action === 'account.suspend') return { kind: 'suspended' };
  if (action === 'account.restore') return { kind: 'restored' };
  if (action === 'account.close') return { kind: 'closed', forfeited: forfeitedOf(entry) };
  const [from, to] = [textOf(before.owner), textOf(after.owner)];
  if (action === 'ownership.move') return from && to ? { kind: 'ownership', from, to } : null;
  const person_id = idOf('person', subject);
  return action === 'account.password' && person_id !== null ? { kind: 'password', person_id } : null;
}

function forfeitedOf({ before: { credits, keys } }: AuditEntry): { credits: number; keys: number } | null {
  return typeof credits === 'number' && typeof keys === 'number' ? { credits, keys } : null;
}
