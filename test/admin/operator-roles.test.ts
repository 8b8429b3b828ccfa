/** What each role may do, in any order of changes; stores written before there were owners. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ROLES, type Role } from '../../admin/operators.ts';
import { addressDigest } from '../../data/schema/redis-keys.ts';
import { flushRedis } from '../redis.ts';
import { PASSWORD, tokenOf, useAdmin, type Visitor } from './harness.ts';

const ADDRESSES = ['ann@example.org', 'ben@example.org', 'cem@example.org'];
const ACTIONS = ['read', 'write', 'manage'] as const;
type Action = (typeof ACTIONS)[number];

const service = await useAdmin();

const who = fc.constantFrom(...ADDRESSES);
const role = fc.constantFrom(...ROLES);
const event = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('put' as const), who, role }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('role' as const), who, role }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), who }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('sign in' as const), who }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('act' as const),
      session: fc.nat(20),
      action: fc.constantFrom(...ACTIONS),
    }),
  },
);
type Event = typeof event extends fc.Arbitrary<infer One> ? One : never;

/** Who may do what, computed apart from the product. */
class Model {
  readonly roles = new Map<string, Role>();
  /** Counts everything that ends the sessions of an address. */
  readonly ends = new Map<string, number>();

  end(address: string): void {
    this.ends.set(address, this.endsOf(address) + 1);
  }

  endsOf(address: string): number {
    return this.ends.get(address) ?? 0;
  }

  wouldLeaveNoOwner(address: string, next: Role | null): boolean {
    const owners = [...this.roles].filter(([, held]) => held === 'owner').map(([owner]) => owner);
    return owners.length === 1 && owners[0] === address && next !== 'owner';
  }

  statusOf(action: Action, address: string, ends: number): number {
    const held = this.roles.get(address);
    if (held === undefined || this.endsOf(address) !== ends) return 401;
    if (action === 'read') return 200;
    const needed = action === 'write' ? ['operator', 'owner'] : ['owner'];
    return needed.includes(held) ? 303 : 403;
  }
}

interface OpenSession {
  visitor: Visitor;
  /** Of the forms that this browser has open. */
  token: string;
  address: string;
  ends: number;
}

describe('operators', () => {
  let accountId: string;
  const BYSTANDER = 'bystander@example.org';

  async function startAfresh(): Promise<void> {
    await flushRedis(service.client);
    const account = { email: 'customer@example.org', verified: true, credits: 0, by: 'test' };
    accountId = (await service.accounts.create(account)).account_id;
    await service.operators.put(BYSTANDER, 'viewer', PASSWORD);
  }

  async function attempt({ visitor, token: _csrf }: OpenSession, action: Action): Promise<number> {
    if (action === 'read') return (await visitor.get('/admin/operators')).status;
    const path =
      action === 'write'
        ? `users/${accountId}/restore`
        : `operators/${addressDigest(BYSTANDER)}/end-sessions`;
    return (await visitor.post(`/admin/${path}`, { _csrf })).status;
  }

  async function run(events: readonly Event[]): Promise<void> {
    await startAfresh();
    const model = new Model();
    const sessions: OpenSession[] = [];
    for (const one of events) {
      if (one.do === 'act') {
        const session = sessions[one.session % Math.max(1, sessions.length)];
        if (!session) continue;
        const expected = model.statusOf(one.action, session.address, session.ends);
        expect([one, await attempt(session, one.action)]).toEqual([one, expected]);
      } else if (one.do !== 'sign in') await change(model, one);
      else if (model.roles.has(one.who)) sessions.push(await signIn(one.who, model));
      else expect([one, await service.operators.findLogin(one.who)]).toEqual([one, null]);
    }
  }

  async function signIn(address: string, model: Model): Promise<OpenSession> {
    const visitor = service.visitor();
    expect((await visitor.signIn(address, PASSWORD)).status).toBe(303);
    const token = tokenOf(await visitor.get('/admin/operators'));
    return { visitor, token, address, ends: model.endsOf(address) };
  }

  async function change(model: Model, one: Exclude<Event, { do: 'act' | 'sign in' }>): Promise<void> {
    const { operators } = service;
    const address = one.who;
    if (one.do === 'end') {
      await operators.endSessions(address);
      model.end(address);
      return;
    }
    if (one.do === 'role' && !model.roles.has(address)) return;
    const next = one.do === 'remove' ? null : one.role;
    const work = (): Promise<unknown> => {
      if (one.do === 'put') return operators.put(address, one.role, PASSWORD);
      return next === null ? operators.remove(address) : operators.setRole(address, next);
    };
    if (model.wouldLeaveNoOwner(address, next)) {
      await expect(work()).rejects.toThrow('is the last owner');
      return;
    }
    await work();
    if (next === null) model.roles.delete(address);
    else model.roles.set(address, next);
    if (one.do !== 'role') model.end(address);
  }

  it('can do in any order of changes only what their role of the moment allows', async () => {
    await fc.assert(fc.asyncProperty(fc.array(event, { minLength: 12, maxLength: 40 }), run), {
      numRuns: 25,
      endOnFailure: true,
    });
  });

  it('keep an owner when all owners are demoted and removed at once', async () => {
    const { operators } = service;
    await startAfresh();
    for (const address of ADDRESSES) await operators.put(address, 'owner', PASSWORD);
    const changes = ADDRESSES.flatMap((address) => [
      operators.setRole(address, 'viewer'),
      operators.remove(address),
    ]);
    await Promise.allSettled(changes);
    const roles = Object.values(await service.client.hgetall('operators:roles'));
    expect(roles.filter((held) => held === 'owner')).toHaveLength(1);
  });
});
