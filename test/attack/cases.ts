/**
 * Generates requests from the OpenAPI description. Attack cases mix valid and hostile parameters and headers; valid
 * cases follow the description.
 */
import fc from 'fast-check';
import { buildOpenApi } from '../../gateway/api/http/openapi/openapi.ts';

interface Schema {
  type?: string;
  enum?: string[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: Schema;
}

export interface Operation {
  template: string;
  parameters: Parameter[];
  keyRequired: boolean;
}

export interface AttackCase {
  /** Percent-encoded, query included. */
  path: string;
  headers: Record<string, string>;
  credential: 'none' | 'owner' | 'other';
}

const document = buildOpenApi() as {
  paths: Record<string, { get?: { parameters: Parameter[]; security: object[] } }>;
};

/** Without what is fetched or revoked by a secret or an id that only its maker has. */
export const OPERATIONS: Operation[] = Object.entries(document.paths).flatMap(([template, { get }]) =>
  get === undefined || !template.startsWith('/data/')
    ? []
    : {
        template,
        parameters: get.parameters.filter(({ in: place }) => place !== 'header'),
        keyRequired: get.security.every((scheme) => Object.keys(scheme).length > 0),
      },
);

/** Sample values by parameter name. */
export type KnownValues = Readonly<Record<string, readonly string[]>>;

/** Text that is known to break services. */
const NASTY = [
  '',
  ' ',
  '\0',
  '\r\nX-Injected: 1',
  '../../../../etc/passwd',
  '..\\..\\',
  "' OR 1=1 --",
  "'; DROP TABLE x; --",
  "\") FROM read_text('/etc/passwd') --",
  '<script>alert(1)</script>',
  '{{7*7}}',
  '%{(#a=1)}',
  '__proto__',
  'constructor',
  'null',
  'undefined',
  'NaN',
  '-0',
  '1e999',
  '0x10',
  '١٢',
  '9'.repeat(300),
  'a'.repeat(3_000),
  ','.repeat(500),
  'KEN,'.repeat(400),
  '🇰🇪',
  '\u202e\u0000\uffff',
  '%',
  '%2525',
];

/** Invalid percent-encoding or UTF-8. */
const BROKEN = ['%', '%Z', '%ff', '%C3%28', '%ED%A0%80', 'a%', '%00', '%0d%0a'];

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());

const hostileValue: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...NASTY).map(encoded),
  fc.constantFrom(...BROKEN),
  fc.string({ unit: 'binary', maxLength: 40 }).map(encoded),
  fc.integer().map(String),
  fc.double().map((value) => encoded(String(value))),
);

function validValue({ name, schema }: Parameter, known: KnownValues, template: string): fc.Arbitrary<string> {
  const values = schema.enum ?? known[`${template} ${name}`] ?? known[name];
  if (values) return fc.constantFrom(...values.map(encoded));
  if (schema.type === 'boolean') return fc.constantFrom('true', 'false', '1', '0', 'YES', 'off');
  if (schema.type === 'integer')
    return fc.integer({ min: schema.minimum ?? -9_999, max: schema.maximum ?? 9_999 }).map(String);
  if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern)).map(encoded);
  return fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).map(encoded);
}

const HEADERS: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(
    'accept',
    'accept-encoding',
    'if-none-match',
    'if-modified-since',
    'range',
    'x-request-id',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-original-url',
    'x-http-method-override',
    'forwarded',
    'origin',
    'cookie',
    'x-api-key',
    'prefer',
    'idempotency-key',
  ),
  fc.oneof(
    fc.constantFrom(
      '*',
      '*/*',
      'handling=strict',
      'retry-1',
      'br;q=0, gzip;q=2',
      'W/"x", "',
      'bytes=0-1',
      'DELETE',
      '/admin/',
      '127.0.0.1',
    ),
    fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '')),
    fc.constant('a'.repeat(3_500)),
  ),
  { maxKeys: 4 },
);

const PREFIX = fc.constantFrom('/v1', '/data/api/v1');

function assembled(
  { template, parameters }: Operation,
  prefix: string,
  values: readonly (string | null)[],
  extra: readonly string[],
): string {
  let path = template.replace('/data/api/v1', prefix);
  const query: string[] = [];
  parameters.forEach(({ name, in: place }, at) => {
    const value = values[at] ?? null;
    if (place === 'path') path = path.replace(`{${name}}`, value ?? 'x');
    else if (value !== null) query.push(`${name}=${value}`);
  });
  query.push(...extra);
  return query.length > 0 ? `${path}?${query.join('&')}` : path;
}

/** A path segment that keeps its place: neither empty nor dots. */
const asSegment = (value: string): string => (value === '' || /^\.{1,2}$/.test(value) ? 'x' : value);

/** Requests within and beyond the description of any operation. */
export function attackCases(known: KnownValues): fc.Arbitrary<AttackCase> {
  return fc.constantFrom(...OPERATIONS).chain((operation) => {
    const values = operation.parameters.map((parameter) => {
      const value = fc.oneof(
        { arbitrary: validValue(parameter, known, operation.template), weight: 2 },
        { arbitrary: hostileValue, weight: 1 },
      );
      return parameter.in === 'path' ? value.map(asSegment) : fc.option(value);
    });
    const names = operation.parameters.map(({ name }) => name);
    const extra = fc.array(
      fc
        .tuple(fc.oneof(fc.constantFrom('x', '__proto__', 'a[b]', ...names), hostileValue), hostileValue)
        .map(([name, value]) => `${name}=${value}`),
      { maxLength: 2 },
    );
    return fc
      .record({
        prefix: PREFIX,
        values: fc.tuple(...values),
        extra,
        headers: HEADERS,
        credential: fc.constantFrom('none', 'owner', 'owner', 'owner', 'other'),
      })
      .map(
        ({ prefix, values: chosen, extra: more, headers, credential }): AttackCase => ({
          path: assembled(operation, prefix, chosen, more),
          headers,
          credential: credential as AttackCase['credential'],
        }),
      );
  });
}

/** What the description can say in words only: the first of two parameters takes the place of the second. */
const INSTEAD: readonly { template: string; sent: string; leftOut: string; isNeeded: boolean }[] = [
  { template: '/data/api/v1/data', sent: 'indicators', leftOut: 'indicator', isNeeded: true },
  { template: '/data/api/v1/data', sent: 'fields', leftOut: 'layout', isNeeded: false },
  // Some formats need columns of their own.
  { template: '/data/api/v1/data', sent: 'fields', leftOut: 'format', isNeeded: false },
  { template: '/data/api/v1/data', sent: 'layout', leftOut: 'format', isNeeded: false },
  // The fixture has no figures of groups, and proves nothing that is derived.
  ...['indicator', 'indicators'].flatMap((sent) =>
    ['aggregate', 'group'].map((leftOut) => ({
      template: '/data/api/v1/data',
      sent,
      leftOut,
      isNeeded: false,
    })),
  ),
  ...['data', 'revisions'].flatMap((path) =>
    ['from', 'to'].map((leftOut) => ({
      template: `/data/api/v1/${path}`,
      sent: 'years',
      leftOut,
      isNeeded: false,
    })),
  ),
  ...['aggregate', 'transform'].map((leftOut) => ({
    template: '/data/api/v1/receipts',
    sent: 'indicator',
    leftOut,
    isNeeded: false,
  })),
];

/** Values without those that others take the place of. */
function withoutReplaced(
  { template, parameters }: Operation,
  values: readonly (string | null)[],
): (string | null)[] {
  const isSent = (name: string): boolean =>
    (values[parameters.findIndex((one) => one.name === name)] ?? null) !== null;
  const leftOut = INSTEAD.filter((rule) => rule.template === template && isSent(rule.sent)).map(
    (rule) => rule.leftOut,
  );
  return values.map((value, at) => (leftOut.includes(parameters[at]?.name ?? '') ? null : value));
}

/** Requests that follow the description in every parameter. */
export function validCases(known: KnownValues): fc.Arbitrary<AttackCase> {
  return fc.constantFrom(...OPERATIONS).chain((operation) => {
    const { template } = operation;
    const values = operation.parameters.map((parameter) => {
      const value = validValue(parameter, known, template);
      const isNeeded = INSTEAD.some(
        (rule) => rule.isNeeded && rule.template === template && rule.leftOut === parameter.name,
      );
      return parameter.required || isNeeded ? value : fc.option(value);
    });
    return fc.tuple(PREFIX, fc.tuple(...values)).map(
      ([prefix, chosen]): AttackCase => ({
        path: assembled(operation, prefix, withoutReplaced(operation, chosen), []),
        headers: {},
        credential: 'owner',
      }),
    );
  });
}
