/** Subject rights from the command line: asking on behalf of a person who wrote, and carrying out erasures. */
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import type { RedisClient } from '../../../data/runtime/redis.ts';
import type { Settings } from '../../../data/runtime/settings.ts';
import { Archive } from '../../archive/archive.ts';
import type { AccountStore } from '../account-store.ts';
import { AuditLog } from '../audit/audit-log.ts';
import { Alerts } from '../balance-alerts.ts';
import { createMailer } from '../mail/mailer.ts';
import { SubjectRights } from '../privacy/fulfilment.ts';
import { type RequestKind, RequestStore } from '../privacy/requests.ts';
import { AccountError } from '../records.ts';

type Values = Readonly<Record<string, string | boolean | undefined>>;

interface RightsTools {
  store: AccountStore;
  redis: RedisClient;
  settings: Settings;
}

interface RightsCommand {
  help: string;
  options: Readonly<Record<string, { type: 'string' | 'boolean'; value?: string; help: string }>>;
  run(tools: RightsTools, values: Values): Promise<Record<string, unknown>>;
}

const BY = 'command line';
const KINDS: readonly RequestKind[] = ['export', 'erasure'];

function subjectRights({ store: accounts, redis, settings }: RightsTools) {
  const now = Date.now;
  const random = randomBytes;
  const log = pino({ level: 'silent' });
  const requests = new RequestStore({ redis, now, random });
  const alerts = new Alerts(redis);
  const archive = new Archive(settings.ARCHIVE_DIR);
  const audit = new AuditLog(redis, now, archive);
  const mailer = createMailer(settings, { now, log });
  const held = { redis, accounts, alerts, requests, audit, archive, now };
  const rights = new SubjectRights({ ...held, random, mailer, log });
  return { requests, rights };
}

function wordOf(values: Values, name: string): string {
  const value = values[name];
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new AccountError('bad_input', `--${name} is needed.`);
}

const request: RightsCommand = {
  help: 'ask for an export or an erasure on behalf of a person',
  options: {
    email: { type: 'string', value: 'ADDRESS', help: 'whose account' },
    kind: { type: 'string', value: 'KIND', help: 'export or erasure' },
  },
  async run(tools, values) {
    const word = wordOf(values, 'kind');
    const kind = KINDS.find((known) => known === word);
    if (!kind) throw new AccountError('bad_input', `--kind takes ${KINDS.join(' or ')}, not "${word}".`);
    const { account_id } = await tools.store.findByEmail(wordOf(values, 'email'));
    const { requests, rights } = subjectRights(tools);
    const { request_id } = await requests.open(account_id, kind);
    const { status, plan } = await rights.prepare(request_id);
    return { request_id, account_id, kind, status, plan };
  },
};

const erase: RightsCommand = {
  help: 'carry out an erasure that was asked for, or all that are ready',
  options: {
    request: { type: 'string', value: 'ID', help: 'which request' },
    ready: { type: 'boolean', help: 'all that are ready, as the nightly batch does' },
  },
  async run(tools, values) {
    const { rights } = subjectRights(tools);
    if (values.ready !== true) return { ...(await rights.erase(wordOf(values, 'request'), BY)) };
    const erased = [];
    for (const { request_id } of await rights.erasable()) erased.push(await rights.erase(request_id, BY));
    return { erased };
  },
};

export const RIGHTS_COMMANDS: Readonly<Record<string, RightsCommand>> = { request, erase };
