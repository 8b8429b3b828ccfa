/**
 * All settings, parsed once from the environment. No other product file reads `process.env`.
 * The README's table is held against this schema by a test, both ways.
 */
import { isIP } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { parseKey } from '../proofs/verify-receipt.ts';

const port = z.coerce.number().int().min(0).max(65535);
const count = z.coerce.number().int().min(1);
const emptyIsAbsent = (value: unknown): unknown => (value === '' ? undefined : value);

/** The members of a comma-separated setting. */
export const splitList = (list: string): string[] =>
  list
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');

function isPlainUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

function isAddressRange(range: string): boolean {
  const [address = '', bits, ...more] = range.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

const schema = z.object({
  PORT: port.default(8080).describe('Port of the gateway; 0 picks a free one'),
  HOST: z.string().default('127.0.0.1').describe('Address the gateway listens on'),
  WORKERS: count
    .optional()
    .describe(
      'Worker processes that share the port; default one per core, fewer with less than 768 MB for each',
    ),
  ADMIN_PORT: port
    .optional()
    .describe('Separate port of the operator area (`npm run admin`); with it the gateway serves no `/admin`'),
  ADMIN_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Public URL of the operator area, for links in its mails; default `/admin` below PUBLIC_URL, or where ADMIN_PORT listens',
    ),
  METRICS_PORT: port.optional().describe('Port of Prometheus metrics; without it they are off'),
  HEALTH_PORT: port.optional().describe("Port of the worker's `/healthz`; without it there is none"),
  REDIS_URL: z
    .string()
    .regex(/^(rediss?|unix):\/\//, 'a redis://, rediss:// or unix:// address')
    .optional()
    .describe('Redis or Valkey; without it a private one is started under VAR_DIR'),
  REDIS_CLUSTER: z.stringbool().default(false).describe('REDIS_URL names one node of a cluster'),
  REDIS_WAIT_REPLICAS: z.coerce
    .number()
    .int()
    .min(0)
    .max(10)
    .default(0)
    .describe('Replicas that must hold a change of money before it is acknowledged'),
  VAR_DIR: z.string().default('var').describe('Everything a run writes'),
  SNAPSHOT_DIR: z.string().optional().describe('Published snapshots; default `VAR_DIR/snapshots`'),
  SNAPSHOT_ORIGIN: z
    .url({ protocol: /^https?$/ })
    .refine(isPlainUrl, 'an address without user, query and fragment')
    .optional()
    .describe(
      'Address of published snapshots to follow: object storage or a web server; with it nothing is built',
    ),
  SNAPSHOT_ORIGIN_KEY: z
    .string()
    .optional()
    .describe('Public keys of the origin, separated by commas; one of them must have signed its log'),
  SNAPSHOT_ORIGIN_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'a token without spaces')
    .optional()
    .describe('Sent to the origin as `Authorization: Bearer`; over https, or to this machine'),
  SNAPSHOT_ORIGIN_POLL_S: count.default(30).describe('Seconds between two looks at the origin'),
  OBJECT_CACHE_GB: z.coerce
    .number()
    .positive()
    .default(5)
    .describe('Disk space for files of earlier editions that were fetched from the origin'),
  CURATED_DIR: z.string().default('data').describe('The curated data: countries, topics, providers, overlay'),
  PROVIDER_MIRROR: z.string().optional().describe('A directory or URL that replaces every upstream origin'),
  SNAPSHOT_KEEP: count
    .default(5)
    .describe('Published snapshots that keep their prerendered files, for rollback'),
  SIGNING_KEY: z
    .string()
    .regex(/^PRIVATE\+KEY\+[^+\s]+\+[0-9a-f]{8}\+\S{44}$/, 'a private key, PRIVATE+KEY+<name>+<id>+<base64>')
    .optional()
    .describe(
      'Private key that signs the log of editions; without it the build makes one in `VAR_DIR/signing/key`',
    ),
  LAKE_KEEP: count.default(5).describe('Ingestion runs kept per provider'),
  ARCHIVE_DIR: z.string().optional().describe('Archived ledger, usage and audit; default `VAR_DIR/archive`'),
  LEDGER_LIVE_DAYS: count
    .default(3)
    .describe('Whole days that ledger entries stay in Redis before they are archived'),
  AUDIT_LIVE_DAYS: count
    .default(90)
    .describe('Whole days that audit entries stay in Redis before they are archived'),
  INGEST_PARALLEL: count.default(2).describe('Providers ingested at the same time'),
  NIGHTLY_CRON: z
    .string()
    .regex(/^(off|\S+(\s+\S+){4,5})$/, 'five fields of a cron pattern, or off')
    .default('0 2 * * *')
    .describe('When the worker starts the nightly build, in UTC; `off` disables it'),
  SNAPSHOT_POLL_MS: count.default(1000).describe('Poll interval for the published snapshot'),
  HOT_CACHE_MB: count.default(64).describe('Memory for hot indicators, in MB; all workers together'),
  QUERY_TIMEOUT_MS: count.default(10_000).describe('Longest time one DuckDB query may take'),
  TRUST_PROXY: z
    .string()
    .default('')
    .refine((list) => splitList(list).every(isAddressRange), 'addresses or CIDR ranges separated by commas')
    .describe('Comma-separated addresses or CIDR ranges of trusted proxies (X-Forwarded-For)'),
  ANONYMOUS_PER_MINUTE: count.default(30).describe('Requests per minute, per address or unverified account'),
  ANONYMOUS_PER_DAY: count.default(1000).describe('Requests per day, per address or unverified account'),
  PAGES_PER_MINUTE: count.default(120).describe('Pages and pictures of the site per minute and address'),
  PAGES_PER_DAY: count.default(5000).describe('Pages and pictures of the site per day and address'),
  FREE_PER_MINUTE: count.default(120).describe('Requests per minute, verified account'),
  FREE_PER_DAY: count.default(10_000).describe('Requests per day, verified account'),
  PAID_PER_MINUTE: count.default(600).describe('Requests per minute, after the first paid order'),
  PAID_PER_DAY: count.default(100_000).describe('Requests per day, after the first paid order'),
  DEMO_KEY: z
    .stringbool()
    .optional()
    .describe(
      'Create a demo account with credits at start and print its key; default only with the private Redis, and never with NODE_ENV=production',
    ),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Public URL of the service, as pages, citations, descriptions of data, `/v1/almanac.duckdb`, mails and payments name it; default `http://localhost:PORT`',
    ),
  FREE_GRANTS_PER_RANGE: count
    .default(10)
    .describe('Free grants in 30 days to sign-ups from one address range (IPv4 /24, IPv6 /48)'),
  FREE_GRANTS_PER_DOMAIN: count
    .default(10)
    .describe('Free grants in 30 days to sign-ups with one mail domain, public mail providers excepted'),
  FREE_GRANT: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000_000)
    .default(1000)
    .describe('Credits that an account gets once, when its e-mail address is confirmed'),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'an smtp:// or smtps:// address')
    .optional()
    .describe(
      'Mail server; without it mails are written to `VAR_DIR/mail`, and links are logged except in production',
    ),
  MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]+$/, 'one line')
    .default('Almanac <no-reply@localhost>')
    .describe('Sender of mails'),
  WEBHOOK_PRIVATE_TARGETS: z
    .stringbool()
    .default(false)
    .describe(
      'Customers may have webhooks at loopback and private addresses, and over http; for development',
    ),
  STRIPE_SECRET_KEY: z.string().optional().describe('Turns on payment by card through Stripe Checkout'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .optional()
    .describe('Signing secret of the Stripe webhook that posts to `/account/stripe/webhook`'),
  STRIPE_API_BASE: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("Base URL of Stripe's API, for tests; default Stripe's own"),
  CONTACT_EMAIL: z.email().optional().describe('Address for questions, shown on the contact page'),
  INVOICE_FROM: z.string().default('Almanac').describe('Name and address of the seller on invoices'),
  INVOICE_COUNTRY: z
    .string()
    .regex(/^[A-Z]{2}$/, 'two capital letters (ISO 3166), such as DE')
    .optional()
    .describe('Country of the seller, two letters (ISO 3166)'),
  INVOICE_VAT_ID: z.string().max(30).default('').describe('VAT id of the seller'),
  INVOICE_VAT_RATE: z.coerce
    .number()
    .min(0)
    .max(50)
    .multipleOf(0.01)
    .default(0)
    .describe(
      "VAT of the seller's country that prices contain, in percent; 0 for none; needs INVOICE_COUNTRY and INVOICE_VAT_ID",
    ),
  INVOICE_DUE_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(365)
    .default(30)
    .describe('Days in which an invoice is to be paid'),
  INVOICE_PAY_TO: z.string().default('').describe('Bank details printed on unpaid invoices'),
  ADMIN_EMAIL: z.email().optional().describe('Operator created at start when none exists'),
  ADMIN_PASSWORD: z
    .string()
    .min(8)
    .optional()
    .describe("That operator's password: at least 10 characters, not a common one"),
  OPERATOR_ALERT_EMAIL: z
    .email()
    .optional()
    .describe('Address that is told when something needs attention, and when it no longer does'),
  OPERATOR_WEBHOOK_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('URL that is told the same as a signed webhook'),
  OPERATOR_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, 'whsec_ and 24 to 64 bytes in Base64')
    .optional()
    .describe('Secret that signs that webhook: `whsec_` and 24 to 64 bytes in Base64'),
  ADMIN_SECOND_FACTOR: z
    .enum(['optional', 'required'])
    .default('optional')
    .describe('With `required`, an operator without a second factor sets it up before anything else'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('Lowest log level'),
  LOG_FORMAT: z
    .enum(['json', 'text'])
    .optional()
    .describe('`json`, or `text` for people; default `text` on a terminal and `json` elsewhere'),
  NODE_ENV: z
    .string()
    .default('development')
    .describe(
      'With `production` nothing secret is created or printed: no demo account, key, operator password or link of a mail',
    ),
});

export type SettingName = keyof z.infer<typeof schema>;
export type Settings = Readonly<
  Omit<z.infer<typeof schema>, 'SNAPSHOT_DIR' | 'ARCHIVE_DIR' | 'WORKERS'> & {
    WORKERS: number;
    SNAPSHOT_DIR: string;
    ARCHIVE_DIR: string;
    LAKE_DIR: string;
    SIGNING_DIR: string;
    EXPORT_DIR: string;
    REDIS_DIR: string;
  }
>;

/** Invalid settings. The message names each and what was expected. */
export class SettingsError extends Error {
  override name = 'SettingsError';
}

/** A process takes some 700 MB under overload; measured with 4,000 connections. */
const MEMORY_PER_WORKER_BYTES = 768 * 1024 * 1024;

const PRODUCTION = 'production';

export const isProduction = ({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>): boolean => NODE_ENV === PRODUCTION;

/** Whether a demo account, its key and a first operator are created and shown at start. */
export const isDemo = (settings: Pick<Settings, 'DEMO_KEY' | 'REDIS_URL' | 'NODE_ENV'>): boolean =>
  !isProduction(settings) && (settings.DEMO_KEY ?? settings.REDIS_URL === undefined);

/** One worker a core, limited by the memory of machine or container. */
function defaultWorkers(): number {
  const allowed_bytes = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  const fitting = Math.floor(Math.min(allowed_bytes, totalmem()) / MEMORY_PER_WORKER_BYTES);
  return Math.max(1, Math.min(availableParallelism(), fitting));
}

/** What is wrong with the settings of the origin; null when nothing is. */
function originFault({
  SNAPSHOT_ORIGIN: origin,
  SNAPSHOT_ORIGIN_KEY: keys,
  SNAPSHOT_ORIGIN_TOKEN: token,
}: z.infer<typeof schema>): string | null {
  if (origin === undefined) return null;
  if (splitList(keys ?? '').length === 0)
    return 'SNAPSHOT_ORIGIN_KEY: needed with SNAPSHOT_ORIGIN: what is followed must be signed';
  for (const key of splitList(keys ?? '')) {
    try {
      parseKey(key);
    } catch (error) {
      return `SNAPSHOT_ORIGIN_KEY: ${error instanceof Error ? error.message : error}`;
    }
  }
  const { protocol, hostname } = new URL(origin);
  const isSafe = protocol === 'https:' || LOOPBACK.test(hostname);
  return token === undefined || isSafe ? null : 'SNAPSHOT_ORIGIN_TOKEN: only sent to an https:// address';
}

/**
 * Reads and freezes the settings. Paths become absolute. An empty variable counts as absent.
 * @throws {SettingsError} naming every bad setting and what was expected.
 */
export function readSettings(environment: Record<string, string | undefined> = process.env): Settings {
  const given = Object.fromEntries(
    Object.keys(schema.shape).map((name) => [name, emptyIsAbsent(environment[name])]),
  );
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`);
    throw new SettingsError(`bad settings\n  ${lines.join('\n  ')}`);
  }
  if ((parsed.data.STRIPE_SECRET_KEY === undefined) !== (parsed.data.STRIPE_WEBHOOK_SECRET === undefined)) {
    const both = 'STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are set together or not at all';
    throw new SettingsError(`bad settings\n  STRIPE_WEBHOOK_SECRET: ${both}`);
  }
  if (
    (parsed.data.OPERATOR_WEBHOOK_URL === undefined) !==
    (parsed.data.OPERATOR_WEBHOOK_SECRET === undefined)
  ) {
    const both = 'OPERATOR_WEBHOOK_URL and OPERATOR_WEBHOOK_SECRET are set together or not at all';
    throw new SettingsError(`bad settings\n  OPERATOR_WEBHOOK_SECRET: ${both}`);
  }
  if (parsed.data.DEMO_KEY && isProduction(parsed.data))
    throw new SettingsError('bad settings\n  DEMO_KEY: there is no demo account with NODE_ENV=production');
  const { REDIS_URL, REDIS_CLUSTER, REDIS_WAIT_REPLICAS } = parsed.data;
  if (REDIS_URL === undefined && (REDIS_CLUSTER || REDIS_WAIT_REPLICAS > 0)) {
    const own = 'needed with REDIS_CLUSTER and REDIS_WAIT_REPLICAS: the private Redis is one server';
    throw new SettingsError(`bad settings\n  REDIS_URL: ${own}`);
  }
  const { INVOICE_VAT_RATE, INVOICE_COUNTRY, INVOICE_VAT_ID } = parsed.data;
  if (INVOICE_VAT_RATE > 0 && (INVOICE_COUNTRY === undefined || INVOICE_VAT_ID === ''))
    throw new SettingsError('bad settings\n  INVOICE_VAT_RATE: needs INVOICE_COUNTRY and INVOICE_VAT_ID');
  const origin = originFault(parsed.data);
  if (origin !== null) throw new SettingsError(`bad settings\n  ${origin}`);
  const varDir = resolve(parsed.data.VAR_DIR);
  const { PROVIDER_MIRROR: mirror } = parsed.data;
  return Object.freeze({
    ...parsed.data,
    ...(mirror && !/^https?:\/\//.test(mirror) ? { PROVIDER_MIRROR: resolve(mirror) } : {}),
    WORKERS: parsed.data.WORKERS ?? defaultWorkers(),
    VAR_DIR: varDir,
    ...(parsed.data.SNAPSHOT_ORIGIN && { SNAPSHOT_ORIGIN: parsed.data.SNAPSHOT_ORIGIN.replace(/\/+$/, '') }),
    SNAPSHOT_DIR: resolve(parsed.data.SNAPSHOT_DIR ?? `${varDir}/snapshots`),
    ARCHIVE_DIR: resolve(parsed.data.ARCHIVE_DIR ?? `${varDir}/archive`),
    CURATED_DIR: resolve(parsed.data.CURATED_DIR),
    LAKE_DIR: `${varDir}/lake`,
    SIGNING_DIR: `${varDir}/signing`,
    EXPORT_DIR: `${varDir}/exports`,
    REDIS_DIR: `${varDir}/redis`,
  });
}

/** Name, default and help of every setting, for the README's table and `--help`. */
export const settingsTable: { name: SettingName; default: string; help: string }[] = Object.entries(
  schema.shape,
).map(([name, field]) => ({
  name: name as SettingName,
  default: field instanceof z.ZodDefault ? String(field.def.defaultValue) : '',
  help: field.description ?? '',
}));
