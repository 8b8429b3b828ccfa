/** The second factor of operators: required or not, cleared by owners and by the command line. */
import { beforeEach, describe, expect, it } from 'vitest';
import { OPERATOR_COMMANDS } from '../../admin/operator-commands.ts';
import { addressDigest } from '../../data/schema/redis-keys.ts';
import { codeAt, STEP_MS } from '../gateway/commerce/authenticator.ts';
import { Mailbox } from '../gateway/commerce/pages/mailbox.ts';
import { flushRedis } from '../redis.ts';
import { PASSWORD, tokenOf, useAdmin, type Visitor, wordsOf } from './harness.ts';

const SET_UP = '/admin/second-factor/set-up';
const CODE = '/admin/sign-in/code';
const ANN = 'ann@example.org';
const ANN_PATH = `/admin/operators/${addressDigest(ANN)}`;

const mailbox = new Mailbox();
const service = await useAdmin({ ADMIN_SECOND_FACTOR: 'required' }, { mailer: mailbox });
beforeEach(async () => {
  await flushRedis(service.client);
  await service.operators.put('owner@example.org', 'owner', PASSWORD);
  await service.operators.put(ANN, 'operator', PASSWORD);
});

/** The code of the next step, so that each is used once. */
function nextCode(secret: string): string {
  service.clock.ms += STEP_MS;
  return codeAt(secret, service.clock.ms);
}

async function signedIn(email: string): Promise<Visitor> {
  const visitor = service.visitor();
  expect((await visitor.signIn(email, PASSWORD)).status).toBe(303);
  return visitor;
}

/** @returns the secret */
async function setUp(visitor: Visitor): Promise<string> {
  const secret = /name="secret" value="([A-Z2-7]{32})"/.exec((await visitor.get(SET_UP)).html)?.[1] ?? '';
  const page = await visitor.submit(SET_UP, SET_UP, { secret, code: nextCode(secret), password: PASSWORD });
  expect(wordsOf(page)).toContain('Keep these recovery codes');
  return secret;
}

describe('where a second factor is required', () => {
  it('an operator without one can do nothing before setting it up', async () => {
    const ann = await signedIn(ANN);
    for (const path of ['/admin/', '/admin/users', '/admin/operators', '/admin/rebuild'])
      expect(await ann.get(path)).toMatchObject({ status: 303, location: SET_UP });
    const _csrf = tokenOf(await ann.get(SET_UP));
    const refused = await ann.post('/admin/rebuild', { _csrf, reason: 'anything' });
    expect(refused.status).toBe(403);
    expect(wordsOf(refused)).toContain('Set up your second factor first.');
    expect(wordsOf(await ann.get(SET_UP))).toContain('A second factor is required here.');
    const mail = mailbox.next(ANN);
    await setUp(ann);
    expect((await mail).text).toContain('now asks for a code');
    expect((await ann.get('/admin/rebuild')).status).toBe(200);
  });

  it('the next sign-in asks for a code, which works once', async () => {
    const secret = await setUp(await signedIn(ANN));
    const visitor = service.visitor();
    expect(await visitor.signIn(ANN, PASSWORD)).toMatchObject({ status: 303, location: CODE });
    expect((await visitor.get('/admin/')).status).toBe(401);
    const code = nextCode(secret);
    expect((await visitor.submit(CODE, CODE, { code })).status).toBe(303);
    expect((await visitor.get('/admin/')).status).toBe(200);
    const thief = service.visitor();
    await thief.signIn(ANN, PASSWORD);
    expect((await thief.submit(CODE, CODE, { code })).status).toBe(401);
  });

  it('turning it off ends all access but to setting it up', async () => {
    const ann = await signedIn(ANN);
    const secret = await setUp(ann);
    await ann.submit('/admin/second-factor', '/admin/second-factor/off', { code: nextCode(secret) });
    expect(await ann.get('/admin/users')).toMatchObject({ status: 303, location: SET_UP });
  });

  it('the wrong password sets nothing up', async () => {
    const ann = await signedIn(ANN);
    const secret = /name="secret" value="([A-Z2-7]{32})"/.exec((await ann.get(SET_UP)).html)?.[1] ?? '';
    const page = await ann.submit(SET_UP, SET_UP, { secret, code: nextCode(secret), password: 'no' });
    expect(page.status).toBe(422);
    expect((await ann.get('/admin/')).status).toBe(303);
  });
});

describe('a second factor', () => {
  const isAsked = async (): Promise<boolean> =>
    (await service.visitor().signIn(ANN, PASSWORD)).location === CODE;

  it('is cleared by an owner, audited, and never by an operator', async () => {
    const ann = await signedIn(ANN);
    await setUp(ann);
    const owner = await signedIn('owner@example.org');
    await setUp(owner);
    expect((await ann.get(`${ANN_PATH}/clear-second-factor`)).status).toBe(403);
    expect(await isAsked()).toBe(true);
    const path = `${ANN_PATH}/clear-second-factor`;
    await owner.submit(path, path, { reason: 'lost phone' });
    expect(await isAsked()).toBe(false);
    expect(await ann.get('/admin/users')).toMatchObject({ status: 303, location: SET_UP });
    const [entry] = await service.audit
      .list({
        subject: `operator ${ANN}`,
        limit: 2,
      })
      .then((entries) => entries.filter(({ action }) => action === 'operator.second_factor'));
    expect(entry).toMatchObject({ by: 'owner@example.org', reason: 'lost phone' });
    const own = `/admin/operators/${addressDigest('owner@example.org')}/clear-second-factor`;
    expect((await owner.submit(own, own, {})).status).toBe(409);
  });

  it('is cleared by a reset on the command line, audited', async () => {
    await setUp(await signedIn(ANN));
    await OPERATOR_COMMANDS['operator-reset']?.run({ redis: service.client }, { email: ANN });
    await service.operators.choosePassword(ANN, (await service.operators.epochOf(ANN)) ?? '', PASSWORD);
    expect(await isAsked()).toBe(false);
    const log = await service.audit.list({
      subject: `operator ${ANN}`,
    });
    expect(log.find(({ action }) => action === 'operator.reset')?.after).toMatchObject({
      second_factor: false,
    });
  });

  it('is not passed on to a later operator with the same address', async () => {
    await setUp(await signedIn(ANN));
    await service.operators.remove(ANN);
    await service.operators.put(ANN, 'operator', PASSWORD);
    expect(await isAsked()).toBe(false);
  });

  it('stays when an owner has its operator choose a new password', async () => {
    await setUp(await signedIn(ANN));
    await service.operators.choosePassword(ANN, (await service.operators.epochOf(ANN)) ?? '', PASSWORD);
    expect(await isAsked()).toBe(true);
  });
});
