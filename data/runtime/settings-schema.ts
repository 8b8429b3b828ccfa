/**
 * Every setting: its type, default and help. What depends on several of them is checked by `readSettings`.
 * The README's table is held against this schema by a test, both ways.
 */
import { isIP } from 'node:net';
import { z } from 'zod';

const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const port = whole(0, 65535);
const count = z.coerce.number().int().min(1);
const url = z.url({ protocol: /^https?$/ });
const matching = (pattern: RegExp, expected: string) => z.string().regex(pattern, expected);

/** The members of a comma-separated setting. */
export const splitList = (list: string): string[] =>
  list
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');

function isPlainUrl(text: string): boolean {
  const parsed = URL.parse(text);
  return parsed !== null && !(parsed.username || parsed.password || parsed.search || parsed.hash);
}

function isAddressRange(range: string): boolean {
  const [address = '', bits, ...more] = range.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** A name that nothing else has below `/.well-known/`, and one line of text. */
const WELL_KNOWN_FILE =
  /^(?<name>(?!almanac-|oauth-|openid-)[A-Za-z0-9][A-Za-z0-9._-]{0,63})=(?<text>[\x20-\x7e]{1,1000})$/;

/** Texts by name, from `name=text` members separated by `|`; null where one is bad or comes twice. */
export function readWellKnown(list: string): ReadonlyMap<string, string> | null {
  const members = list === '' ? [] : list.split('|').map((member) => WELL_KNOWN_FILE.exec(member)?.groups);
  const files = new Map(members.map((groups) => [groups?.name ?? '', groups?.text ?? '']));
  return files.has('') || files.size < members.length ? null : files;
}

export const settingsSchema = z.object({
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
  ADMIN_URL: url
    .optional()
    .describe(
      'Public URL of the operator area, for links in its mails; default `/admin` below PUBLIC_URL, or where ADMIN_PORT listens',
    ),
  METRICS_PORT: port.optional().describe('Port of Prometheus metrics; without it they are off'),
  HEALTH_PORT: port.optional().describe("Port of the worker's `/healthz`; without it there is none"),
  REDIS_URL: matching(/^(rediss?|unix):\/\//, 'a redis://, rediss:// or unix:// address')
    .optional()
    .describe('Redis or Valkey; without it a private one is started under VAR_DIR'),
  REDIS_CLUSTER: z.stringbool().default(false).describe('REDIS_URL names one node of a cluster'),
  REDIS_WAIT_REPLICAS: whole(0, 10)
    .default(0)
    .describe('Replicas that must hold a change of money before it is acknowledged'),
  VAR_DIR: z.string().default('var').describe('Everything a run writes'),
  SNAPSHOT_DIR: z.string().optional().describe('Published snapshots; default `VAR_DIR/snapshots`'),
  SNAPSHOT_ORIGIN: url
    .refine(isPlainUrl, 'an address without user, query and fragment')
    .optional()
    .describe(
      'Address of published snapshots to follow: object storage or a web server; with it nothing is built',
    ),
  SNAPSHOT_ORIGIN_KEY: z
    .string()
    .optional()
    .describe('Public keys of the origin, separated by commas; one of them must have signed its log'),
  SNAPSHOT_ORIGIN_TOKEN: matching(/^[\x21-\x7e]+$/, 'a token without spaces')
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
  SIGNING_KEY: matching(
    /^PRIVATE\+KEY\+[^+\s]+\+[0-9a-f]{8}\+\S{44}$/,
    'a private key, PRIVATE+KEY+<name>+<id>+<base64>',
  )
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
  NIGHTLY_CRON: matching(/^(off|\S+(\s+\S+){4,5})$/, 'five fields of a cron pattern, or off')
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
  PUBLIC_URL: url
    .optional()
    .describe(
      'Public URL of the service, as pages, citations, descriptions of data, `/v1/almanac.duckdb`, mails and payments name it; default `http://localhost:PORT`',
    ),
  WELL_KNOWN: z
    .string()
    .default('')
    .refine((list) => readWellKnown(list) !== null, 'files as name=text, separated by |, each name once')
    .describe(
      'Files under `/.well-known/` by which a directory checks whose domain it is, as `name=text`, separated by `|`',
    ),
  FREE_GRANTS_PER_RANGE: count
    .default(10)
    .describe('Free grants in 30 days to sign-ups from one address range (IPv4 /24, IPv6 /48)'),
  FREE_GRANTS_PER_DOMAIN: count
    .default(10)
    .describe('Free grants in 30 days to sign-ups with one mail domain, public mail providers excepted'),
  FREE_GRANT: whole(0, 1_000_000_000)
    .default(1000)
    .describe('Credits that an account gets once, when its e-mail address is confirmed'),
  SMTP_URL: matching(/^smtps?:\/\//, 'an smtp:// or smtps:// address')
    .optional()
    .describe(
      'Mail server; without it mails are written to `VAR_DIR/mail`, and links are logged except in production',
    ),
  MAIL_FROM: matching(/^[^\r\n]+$/, 'one line')
    .default('Almanac <no-reply@localhost>')
    .describe('Sender of mails'),
  WEBHOOK_PRIVATE_TARGETS: z
    .stringbool()
    .default(false)
    .describe(
      'Customers may have webhooks, and clients their documents, at loopback and private addresses, and over http; for development',
    ),
  STRIPE_SECRET_KEY: z.string().optional().describe('Turns on payment by card through Stripe Checkout'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .optional()
    .describe('Signing secret of the Stripe webhook that posts to `/account/stripe/webhook`'),
  STRIPE_API_BASE: url.optional().describe("Base URL of Stripe's API, for tests; default Stripe's own"),
  CONTACT_EMAIL: z.email().optional().describe('Address for questions, shown on the contact page'),
  INVOICE_FROM: z.string().default('Almanac').describe('Name and address of the seller on invoices'),
  INVOICE_COUNTRY: matching(/^[A-Z]{2}$/, 'two capital letters (ISO 3166), such as DE')
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
  INVOICE_DUE_DAYS: whole(1, 365).default(30).describe('Days in which an invoice is to be paid'),
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
  OPERATOR_WEBHOOK_URL: url.optional().describe('URL that is told the same as a signed webhook'),
  OPERATOR_WEBHOOK_SECRET: matching(
    /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/,
    'whsec_ and 24 to 64 bytes in Base64',
  )
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
