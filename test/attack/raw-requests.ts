/**
 * Generates requests byte by byte: queries, forms, JSON-RPC and framing. Each kind starts from what is valid or known to
 * be bad, in any size, and has pieces of it replaced.
 */
import fc from 'fast-check';
import { TOOLS } from '../../gateway/api/mcp/tools/registry.ts';
import { envelope, REVISIONS } from '../gateway/api/mcp/mcp-client.ts';
import { attackCases } from './cases.ts';
import { type Access, PARSER_INPUTS } from './parser-inputs.ts';
import { KNOWN } from './public-fuzz.ts';
import { NASTY_FIELDS } from './site-fuzz.ts';
import { SMUGGLING_SHAPES } from './smuggling.ts';

/** A request as Latin-1 text, in the pieces in which it is sent. */
export type RawRequest = readonly string[];

const LEAST_BYTES = 1_000;
const REPLACED_AT_MOST = 40;

const bytes = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.nat(255).map((byte) => String.fromCharCode(byte)), maxLength });

const latin1 = (text: string): string => Buffer.from(text.toWellFormed()).toString('latin1');

/** The worst inputs of the parsers whose names match, in any size. */
const worst = (parsers: RegExp, access: Access): fc.Arbitrary<string> =>
  fc
    .constantFrom(...PARSER_INPUTS.filter(({ parser }) => parsers.test(parser)))
    .chain(({ size, request }) =>
      fc.integer({ min: LEAST_BYTES, max: size }).map((chosen) => latin1(request(chosen, access))),
    );

const REPLACEMENT = fc.oneof(
  fc.constantFrom('', '\r\n', '\r\n\r\n', ...'\r\n\0%&=;,"\\[{:'),
  fc.constantFrom('0\r\n\r\n', 'Transfer-Encoding: chunked\r\n', 'Content-Length: 5\r\n', '%ff', '🇦'),
  fc
    .tuple(fc.constantFrom(' ', '\t', 'a&', '[', '%', '\r\n'), fc.nat(4_000))
    .map(([unit, times]) => unit.repeat(times)),
  bytes(REPLACED_AT_MOST),
);

/** Somewhere in a text, as a share of its length. */
const PLACE = fc.double({ min: 0, max: 1, noNaN: true });

/** With a few pieces replaced. */
const edited = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> => {
  const edits = fc.array(fc.tuple(PLACE, fc.nat(REPLACED_AT_MOST), REPLACEMENT), {
    minLength: 1,
    maxLength: 3,
  });
  return fc.tuple(texts, edits).map(([text, chosen]) =>
    chosen.reduce((whole, [place, length, replacement]) => {
      const at = Math.floor(place * whole.length);
      return whole.slice(0, at) + latin1(replacement) + whole.slice(at + length);
    }, text),
  );
};

/** Sent in a few pieces. */
const inPieces = (requests: fc.Arbitrary<string>): fc.Arbitrary<RawRequest> =>
  fc.tuple(requests, fc.array(PLACE, { maxLength: 4 })).map(([text, places]) => {
    const cuts = places.map((place) => Math.floor(place * text.length)).toSorted((a, b) => a - b);
    return [...cuts, text.length].map((end, index) => text.slice(cuts[index - 1] ?? 0, end));
  });

const posted = (path: string, body: string, headers: readonly string[]): string => {
  const sent = latin1(body);
  const lines = [`POST ${path} HTTP/1.1`, 'Host: localhost', `Content-Length: ${sent.length}`, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n${sent}`;
};

/** So that no throttle of an address applies. */
const ADDRESS = fc.ipV4().map((address) => `X-Forwarded-For: ${address}`);

const queries = (access: Access): fc.Arbitrary<string> =>
  fc.oneof(
    worst(/^(query|path|parameter|header)/, access),
    attackCases(KNOWN).map(({ path, headers, credential }) => {
      const key = credential === 'none' ? [] : [`Authorization: Bearer ${access.key}`];
      const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      return [`GET ${latin1(path)} HTTP/1.1`, 'Host: localhost', ...key, ...own, '', ''].join('\r\n');
    }),
  );

const FORMS = [
  'sign-in',
  'sign-in/code',
  'sign-in-link',
  'sign-in-link/x',
  'sign-up',
  'confirm/x',
  'forgot',
  'reset/x',
  'invitation/x',
  'password/x',
  'stripe/webhook',
];
const FIELDS = ['email', 'name', 'password', 'next', 'code', 'token', '_idempotency', '_csrf', '__proto__'];

const forms = (access: Access): fc.Arbitrary<string> => {
  const field = fc.tuple(fc.oneof(fc.constantFrom(...FIELDS), bytes(10)), NASTY_FIELDS);
  const encoded = fc
    .array(field, { maxLength: 12 })
    .map((fields) => fields.map((pair) => new URLSearchParams([pair]).toString()).join('&'));
  const body = fc.oneof(encoded, bytes(2_000));
  const type = fc.constantFrom(
    'application/x-www-form-urlencoded',
    'application/x-www-form-urlencoded; charset=utf-16',
    'multipart/form-data; boundary=a',
    'application/json',
    '',
  );
  const form = fc.tuple(
    fc.constantFrom('/account/', '/admin/'),
    fc.constantFrom(...FORMS),
    body,
    type,
    ADDRESS,
  );
  return fc.oneof(
    worst(/^(form|multipart|header `Content-Type`|event|JSON on)/, access),
    form.map(([root, path, sent, mediaType, address]) =>
      posted(root + path, `_csrf=${access.csrf}&${sent}`, [
        `Content-Type: ${mediaType}`,
        `Cookie: ${access.cookie}`,
        address,
      ]),
    ),
  );
};

const METHODS = [
  'initialize',
  'ping',
  'tools/list',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'notifications/initialized',
  'notifications/cancelled',
];
const ARGUMENTS = [
  'indicator',
  'indicators',
  'countries',
  'country',
  'query',
  'claims',
  'year',
  'from',
  'to',
  'limit',
  '__proto__',
];
const ACCEPTED = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** A message with the headers that repeat it. */
interface Message {
  headers: Record<string, string>;
  message: unknown;
}

const jsonRpc = (access: Access): fc.Arbitrary<string> => {
  const value = fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(...Object.values(KNOWN).flat()));
  const id = fc.oneof(fc.nat(3), fc.string({ maxLength: 5 }), fc.constant(null));
  const tool = fc.record({
    name: fc.constantFrom(...TOOLS.map(({ name }) => name), 'none'),
    arguments: fc.dictionary(fc.constantFrom(...ARGUMENTS), value, { maxKeys: 4 }),
  });
  const asked = fc.oneof(
    fc.tuple(fc.constant('tools/call'), tool),
    fc.tuple(
      fc.constantFrom(...METHODS),
      fc.dictionary(fc.constantFrom('name', 'uri', 'cursor', 'ref', 'requestId'), value),
    ),
  );
  const sound = fc
    .tuple(fc.constantFrom(...REVISIONS), id, asked)
    .map(([revision, own, [method, params]]): Message => {
      const { headers, params: sent } = envelope(method, params, revision);
      return { headers, message: { jsonrpc: '2.0', id: own, method, params: sent } };
    });
  const messages = fc.oneof(
    sound.map(({ message }) => message),
    value,
  );
  const nested = fc
    .tuple(fc.constantFrom(['[', ']'], ['{"a":', '}']), fc.nat(40_000))
    .map(([[open = '', close = ''], depth]) => `${open.repeat(depth)}1${close.repeat(depth)}`);
  const unsound = fc
    .oneof(
      fc.array(messages, { maxLength: 25 }).map((batch) => JSON.stringify(batch)),
      edited(messages.map((message) => JSON.stringify(message))),
      nested,
    )
    .map((body) => ({ headers: ACCEPTED, body }));
  const posts = fc.oneof(
    sound.map(({ headers, message }) => ({ headers, body: JSON.stringify(message) })),
    unsound,
  );
  const requests = fc.tuple(posts, fc.boolean(), ADDRESS).map(([{ headers, body }, isKeyed, address]) => {
    // In place of a name, which a header repeats, a message may have anything.
    const lines = Object.entries(headers).map(
      ([name, text]) => `${name}: ${JSON.stringify(text).slice(1, -1)}`,
    );
    return posted('/mcp', body, [
      ...lines,
      ...(isKeyed ? [`Authorization: Bearer ${access.key}`] : []),
      address,
    ]);
  });
  return fc.oneof({ arbitrary: requests, weight: 9 }, worst(/^JSON-RPC/, access));
};

const framing = (access: Access): fc.Arbitrary<string> => {
  const data = bytes(20);
  const extension = fc.oneof(
    fc.constant(''),
    data.map((text) => `;${text}`),
  );
  const size = fc.constantFrom('-1', '0x1', 'f'.repeat(20), '', ' 1', '0', '5');
  const chunk = fc
    .tuple(data, extension, fc.oneof({ arbitrary: fc.constant(null), weight: 9 }, size))
    .map(([text, more, wrong]) => `${wrong ?? text.length.toString(16)}${more}\r\n${text}\r\n`);
  const reading = ['/account/sign-in', '/mcp', '/oauth/token', '/oauth/register', '/account/stripe/webhook'];
  const paths = fc.constantFrom(...reading, '/v1/topics', '/none');
  const types = fc.constantFrom('application/x-www-form-urlencoded', 'application/json');
  const last = fc.constantFrom('0\r\n\r\n', '0\r\na: b\r\n\r\n', '');
  const chunked = fc
    .tuple(paths, types, fc.array(chunk, { maxLength: 20 }), last)
    .map(([path, type, chunks, end]) => {
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}`;
      return `${head}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join('')}${end}`;
    });
  const shapes = fc.constantFrom(...SMUGGLING_SHAPES).map(([, shape]) => shape);
  return fc.oneof(chunked, shapes, worst(/^(chunks|framing|headers)/, access));
};

/** By kind. */
export const RAW_REQUESTS: readonly (readonly [
  kind: string,
  (access: Access) => fc.Arbitrary<RawRequest>,
])[] = (
  [
    ['queries', queries],
    ['forms', forms],
    ['JSON-RPC', jsonRpc],
    ['framing', framing],
  ] as const
).map(([kind, of]) => [kind, (access) => inPieces(fc.oneof(of(access), of(access), edited(of(access))))]);
