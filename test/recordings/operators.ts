/** The operator area: every page, and a form of each kind sent by an owner, after strangers and viewers tried. */
import { createHash } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminService, PASSWORD, startAdmin, type Visitor } from '../admin/harness.ts';
import { seedAlike, seedRuns, seedUsage } from '../admin/seeds.ts';
import { codeAt, STEP_MS } from '../gateway/commerce/authenticator.ts';
import { Mailbox } from '../gateway/commerce/pages/mailbox.ts';
import { type Area, explore } from './pages.ts';
import type { Recorder } from './recorder.ts';

const SECOND_MS = 1000;
const LAST = [
  /move$/,
  /(suspend|revoke|toggle|reset)$/,
  /(accept|cancel|dismiss)$/,
  /close$/,
  /(end-sessions|remove)$/,
];
/** No page links to these. */
const UNLINKED = [
  '/admin/nothing',
  '/admin/users/acc_none',
  '/admin/runs/none/none',
  '/admin/runs/compare',
  '/admin/orders?format=csv',
];

export async function recordOperators(recorder: Recorder): Promise<void> {
  const mailbox = new Mailbox();
  await using lake = await mkdtempDisposable(join(tmpdir(), 'alm-recordings-'));
  const alerts = {
    OPERATOR_ALERT_EMAIL: 'night-shift@almanac.example.org',
    OPERATOR_WEBHOOK_URL: 'https://hooks.example.org/alerts',
    OPERATOR_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  };
  let drawn = 0;
  // Tables may be sorted by ids.
  const random = (outputLength: number): Buffer =>
    createHash('shake256', { outputLength }).update(String(drawn++)).digest();
  await using service = await startAdmin(alerts, { mailer: mailbox, lakeDir: lake.path, random });
  recorder.watch('operators', service.url);
  const id = await seedUsage(service);
  await seedRuns(service);
  await seedAlike(service);
  const stranger = service.visitor();
  for (const path of ['/admin/', '/admin/users', '/admin/sign-in/code', '/admin/password/none'])
    await stranger.get(path);
  await stranger.signIn('owner@example.org', 'wrong');
  const viewer = await service.signedIn('viewer');
  await explore({ ...areaOf(service, viewer), typed: () => ({}), left: /sign-out|second-factor/ }, [
    '/admin/',
  ]);
  await viewer.submit('/admin/', `/admin/users/${id}/credits`, { delta: '5' });
  const owner = await service.signedIn('owner');
  const rollback = `/admin/snapshots/${service.snapshots.current()?.id}/rollback`;
  const invited = { email: 'ann@example.org', role: 'operator' };
  const { location: ann } = await owner.submit('/admin/operators', '/admin/operators/invite', invited);
  const forms = [`${ann}/role?role=viewer`, `${ann}/clear-second-factor`];
  const edited = '/admin/indicators/alpha.life_expectancy';
  await owner.submit(edited, `${edited}/preview`, { name: 'Previewed' });
  await explore(areaOf(service, owner), ['/admin/', rollback, ...forms, ...UNLINKED], LAST);
  await recordSecondFactor(service, owner);
  for (const { link } of mailbox.to('ann@example.org').slice(0, 1)) {
    const { pathname } = new URL(link ?? '', service.url);
    await stranger.submit(pathname, pathname, { password: 'short' });
  }
  recorder.addMails(mailbox.all);
}

function areaOf({ url, clock }: AdminService, visitor: Visitor): Area {
  const typed = {
    reason: 'because <b>so</b>',
    note: 'a note',
    delta: '7',
    email: 'ann@example.org',
    role: 'operator',
    name: 'Typed <b>name</b>',
    description: 'Typed.',
    unit: 'typed',
    licence: 'CC BY 4.0',
    licence_url: 'https://example.org/',
    attribution: 'Typed',
  };
  const settle = async (): Promise<void> => {
    clock.ms += SECOND_MS;
  };
  return { visitor, url, root: '/admin', typed: () => typed, left: /sign-out|second-factor/, settle };
}

async function recordSecondFactor(service: AdminService, visitor: Visitor): Promise<void> {
  const setUp = '/admin/second-factor/set-up';
  await visitor.get('/admin/second-factor');
  const secret = /name="secret" value="([^"]+)"/.exec((await visitor.get(setUp)).html)?.[1] ?? '';
  const code = (): string => {
    service.clock.ms += STEP_MS;
    return codeAt(secret, service.clock.ms);
  };
  await visitor.submit(setUp, setUp, { secret, code: '000000', password: PASSWORD });
  await visitor.submit(setUp, setUp, { secret, code: code(), password: PASSWORD });
  const other = service.visitor();
  await other.signIn('owner@example.org', PASSWORD);
  for (const typed of ['000000', code()])
    await other.submit('/admin/sign-in/code', '/admin/sign-in/code', { code: typed });
  const area = { ...areaOf(service, visitor), left: /^(?!.*second-factor)/ };
  await explore({ ...area, typed: () => ({ code: code() }) }, ['/admin/second-factor']);
  await visitor.submit('/admin/', '/admin/sign-out', {});
}
