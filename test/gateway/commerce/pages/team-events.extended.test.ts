/**
 * Random sequences of what happens in a team, over the pages and with sessions of their own: after each event, every person
 * may do exactly what an independent model says, and every key works exactly as it says.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PasswordHasher } from '../../../../gateway/commerce/people/passwords.ts';
import { type Fields, hiddenTokens, type Page, type Visitor } from '../../../admin/harness.ts';
import { PASSWORD, useAccountPages } from './harness.ts';
import { type Act, GRACE_MS, PEOPLE, TeamModel, type Who } from './team-model.ts';

const KEYS = '/account/keys';
const MEMBERS = '/account/members';
/** Refused keys are remembered for a second. */
const STEP_MS = 2_000;

/** What is sent to ask whether an act is allowed, without doing anything: a form that no role may send filled like this. */
const PROBES: readonly (readonly [Act, path: string, Fields])[] = [
  ['keys', KEYS, { label: '', expires: 'never' }],
  ['billing', '/account/orders', { pack: 'starter', payment: 'nothing' }],
  ['manage', `${MEMBERS}/invite`, { email: 'x@example.org', role: 'emperor' }],
];

let teams = 0;
const harness = await useAccountPages();
const hashed = await new PasswordHasher(16).hash(PASSWORD);

interface Person {
  person_id: string;
  email: string;
  visitor: Visitor;
  /** Tokens of a form of the team that was opened before the latest event, perhaps in another role. */
  form: Fields | null;
  /** Path of the last invitation. */
  link: string;
}

class Team {
  readonly model = new TeamModel();
  readonly account_id: string;
  readonly people: readonly Person[];

  constructor(account_id: string, people: readonly Person[]) {
    this.account_id = account_id;
    this.people = people;
    this.model.now_ms = harness.clock.ms;
  }

  static async found(): Promise<Team> {
    teams += 1;
    const { account_id, person_id, email, visitor } = await harness.customer('Team');
    const owner = { person_id, email, visitor, form: null, link: '/account/invitation/none' };
    const others = PEOPLE.slice(1).map(async (who): Promise<Person> => {
      const { persons, sessions, site } = harness.context;
      const email = `member-${who}-of-${teams}@example.org`;
      const { person_id } = await persons.findOrCreate(email, '');
      await persons.setPassword(person_id, hashed);
      const { epoch = '' } = (await persons.get(person_id)) ?? {};
      const visitor = harness.visitor();
      visitor.cookies.set(site.cookie, (await sessions.begin(person_id, epoch)).id);
      return { person_id, email, visitor, form: null, link: '/account/invitation/none' };
    });
    return new Team(account_id, [owner, ...(await Promise.all(others))]);
  }

  person(who: Who): Person {
    return this.people[who] as Person;
  }

  idOf(who: Who): string {
    return this.person(who).person_id;
  }

  /** Sends a form with the tokens of a page that the person can open. */
  async send(who: Who, path: string, fields: Fields = {}): Promise<Page> {
    const { visitor } = this.person(who);
    const isMember = (await visitor.get(MEMBERS)).status === 200;
    return visitor.submit(isMember ? MEMBERS : '/account/accounts', path, fields);
  }

  async expectAsModelled(probe: number): Promise<void> {
    await Promise.all(PEOPLE.map((who) => this.#expectAccess(who, probe)));
    for (const key of this.model.keys) {
      const { status } = await harness.call(key.key, '/v1/ping');
      expect([key.key_id, status]).toEqual([key.key_id, this.model.works(key) ? 200 : 401]);
    }
  }

  /** Whoever has a form of the team sends that of before the event. */
  async #expectAccess(who: Who, probe: number): Promise<void> {
    const person = this.person(who);
    const [act, path, fields] = PROBES[probe % PROBES.length] ?? ['read', KEYS, {}];
    const page = await person.visitor.get(KEYS);
    const fresh = page.status === 200 ? hiddenTokens(page) : null;
    const form = person.form ?? fresh ?? {};
    const answer = await person.visitor.post(path, { ...form, ...fields });
    const { model } = this;
    expect([who, page.status]).toEqual([who, model.may(who, 'read') ? 200 : 303]);
    expect([who, act, answer.status]).toEqual([who, act, model.may(who, act) ? 422 : 403]);
    person.form = fresh ? hiddenTokens(await person.visitor.get(KEYS)) : person.form;
  }
}

const done = ({ status }: Page): boolean => status < 400;

/** An event with the numbers that it is made of; returns whether it was carried out, and whether the model says so. */
type Event = (team: Team, by: Who, to: Who, number: number) => Promise<{ was: boolean; is: boolean }>;

const roleOf = (number: number) => (['billing', 'developer', 'viewer'] as const)[number % 3] ?? 'viewer';

const invite: Event = async (team, by, to, number) => {
  const { email } = team.person(to);
  const role = roleOf(number);
  const is = team.model.invite(by, to, role);
  const mail = is ? harness.mailbox.next(email, /invites/) : null;
  const was = done(await team.send(by, `${MEMBERS}/invite`, { email, role }));
  if (mail && was) team.person(to).link = harness.pathOf((await mail).link);
  return { was, is };
};

const accept: Event = async (team, who) => {
  const { link } = team.person(who);
  return { was: done(await team.send(who, link)), is: team.model.accept(who) };
};

const role: Event = async (team, by, to, number) => {
  const role = roleOf(number);
  const was = done(await team.send(by, `${MEMBERS}/${team.idOf(to)}/role`, { role }));
  return { was, is: team.model.setRole(by, to, role) };
};

const remove: Event = async (team, by, to, number) => {
  const keys = number % 2 === 0 ? 'revoke' : 'keep';
  const was = done(await team.send(by, `${MEMBERS}/${team.idOf(to)}/remove`, { keys }));
  return { was, is: team.model.remove(by, to, keys === 'revoke') };
};

const leave: Event = async (team, who) => ({
  was: done(await team.send(who, `${MEMBERS}/leave`)),
  is: team.model.leave(who),
});

const move: Event = async (team, by, to) => {
  const was = done(await team.send(by, `${MEMBERS}/${team.idOf(to)}/ownership`, { password: PASSWORD }));
  return { was, is: team.model.moveOwnership(by, to) };
};

/** Keeps a key that a page shows. */
function keep(team: Team, maker: Who, { html }: Page): void {
  const [key = '', key_id = ''] = /alm_live_([0-9a-z]{12})_[0-9A-Za-z]{40}/.exec(html) ?? [];
  team.model.add({ key_id, key, maker });
}

const mint: Event = async (team, by) => {
  const is = team.model.canMint(by);
  const page = await team.send(by, KEYS, { label: '', expires: '' });
  if (done(page)) keep(team, by, page);
  return { was: done(page), is };
};

const rotate: Event = async (team, by, _to, number) => {
  const key = team.model.keys[number % Math.max(1, team.model.keys.length)];
  if (!key) return mint(team, by, by, number);
  const isAtOnce = number % 2 === 0;
  const is = team.model.canRotate(by, key, isAtOnce);
  const page = await team.send(by, `${KEYS}/${key.key_id}/rotate`, { grace: isAtOnce ? '0' : '1' });
  if (done(page)) {
    team.model.replace(key, isAtOnce);
    keep(team, by, page);
  }
  return { was: done(page), is };
};

const revoke: Event = async (team, by, _to, number) => {
  const key = team.model.keys[number % Math.max(1, team.model.keys.length)];
  if (!key) return mint(team, by, by, number);
  const was = done(await team.send(by, `${KEYS}/${key.key_id}/revoke`));
  return { was, is: team.model.revoke(by, key) };
};

const suspend: Event = async ({ account_id, model }) => {
  await harness.accounts.suspend(account_id);
  model.isSuspended = true;
  return { was: true, is: true };
};

const restore: Event = async ({ account_id, model }) => {
  await harness.accounts.restore(account_id);
  model.isSuspended = false;
  return { was: true, is: true };
};

/** A grace period passes; nobody's session ends by being idle. */
const wait: Event = async (team) => {
  for (let passed_ms = 0; passed_ms < GRACE_MS; passed_ms += GRACE_MS / 4) {
    harness.clock.ms += GRACE_MS / 4;
    await Promise.all(team.people.map(({ visitor }) => visitor.get('/account/profile')));
  }
  return { was: true, is: true };
};

const EVENTS = { invite, accept, role, remove, leave, move };
const KEY_EVENTS = { mint, rotate, revoke };
const OUTER = { suspend, restore, wait };
const ALL: Readonly<Record<string, Event>> = { ...EVENTS, ...KEY_EVENTS, ...OUTER };

/** Somebody, or whoever owns the account then. */
type Somebody = Who | 'owner';
type Step = readonly [event: string, by: Somebody, to: Who, number: number];

const who = fc.constantFrom(...PEOPLE);
const named = (events: object) => fc.constantFrom(...Object.keys(events));
const event = fc.oneof(
  { weight: 5, arbitrary: named(EVENTS) },
  { weight: 3, arbitrary: named(KEY_EVENTS) },
  { weight: 1, arbitrary: named(OUTER) },
);
/** The owner acts more often than others, who may do little. */
const actor = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Somebody>('owner') },
  { weight: 3, arbitrary: who },
);
const single = fc.tuple(event, actor, who, fc.nat(100)).map((step): Step[] => [step]);
/** Sequences that chance alone brings about too rarely: what was mailed must not outlive its ground. */
const story = fc.tuple(fc.nat(2), who, who).map(
  ([which, one, other]): Step[] =>
    [
      [
        ['remove', 'owner', one, 0],
        ['move', 'owner', one, 0],
        ['invite', 'owner', one, 1],
        ['accept', one, one, 0],
        ['move', 'owner', one, 0],
      ] as Step[],
      [
        ['remove', 'owner', one, 1],
        ['invite', 'owner', one, 1],
        ['move', 'owner', other, 0],
        ['move', 'owner', 0, 0],
        ['accept', one, one, 0],
      ] as Step[],
      [
        ['role', 'owner', one, 1],
        ['mint', one, one, 0],
        ['role', 'owner', one, 2],
        ['rotate', one, one, 0],
        ['revoke', one, one, 0],
      ] as Step[],
    ][which] ?? [],
);
const steps = fc
  .array(fc.oneof({ weight: 8, arbitrary: single }, { weight: 1, arbitrary: story }), {
    minLength: 8,
    maxLength: 14,
  })
  .map((parts) => parts.flat());
/** Brings everybody in, so that sequences are not about an owner alone. */
const BEGINNING = PEOPLE.slice(1).flatMap((to, index): Step[] => [
  ['invite', 0, to, index],
  ['accept', to, to, 0],
  ['mint', to, to, 0],
]);

it('no order of events lets anybody, or any key, do more or less than the model', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const team = await Team.found();
      for (const [index, [name, somebody, to, number]] of [...BEGINNING, ...steps].entries()) {
        const by = somebody === 'owner' ? team.model.owner() : somebody;
        harness.clock.ms += STEP_MS;
        team.model.now_ms = harness.clock.ms;
        const { was, is } = (await ALL[name]?.(team, by, to, number)) ?? { was: true, is: false };
        team.model.now_ms = harness.clock.ms;
        expect([name, by, to, was]).toEqual([name, by, to, is]);
        if (index >= BEGINNING.length - 1) await team.expectAsModelled(number);
      }
    }),
    { numRuns: 25, endOnFailure: true },
  );
});
