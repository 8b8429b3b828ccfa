/**
 * The worst known inputs of every parser that runs before a rate limit, or before a key's window is looked at: what
 * repeats most, nests deepest, or makes a regular expression go back furthest, in the size that gets there.
 */
const KB = 1_024;
/** What fits into a request line and headers of 16 KB. */
const HEAD = 15 * KB;
const FORM = 64_000;
const STRIPE_EVENT = 1_000_000;
const SIGNATURE = `v1=${'a'.repeat(64)},`;
const MCP_BODY = 256_000;
const LEASED_FILE = '/v1/files/alpha.life_expectancy.parquet?dry_run=true';

/** What the requests need of the service. */
export interface Access {
  /** Of an account with credits. */
  key: string;
  /** Of a browser that has opened a page with a form. */
  cookie: string;
  csrf: string;
}

export interface ParserInput {
  parser: string;
  /** In words, for the documentation. */
  input: string;
  /** In bytes; the largest that gets there. */
  size: number;
  /** A request with about so many bytes of the input. */
  request: (size: number, access: Access) => string;
  status: number;
}

const filled = (unit: string, size: number): string => unit.repeat(Math.floor(size / unit.length));

/** Different units, as many as fit. */
function numbered(unit: (number: number) => string, size: number): string {
  let text = '';
  for (let number = 0; text.length < size; number++) text += unit(number);
  return text.slice(0, size);
}

/** Pairs with different names, by default as many as are allowed, that fill the size. */
const namesOf = (size: number, unit: string, count = 1_000): string =>
  Array.from({ length: count }, (_, number) => number + unit.repeat(Math.max(0, size / count - 4))).join('&');

/** As many headers as Node takes, that fill the size. */
const manyHeaders = (size: number, name: (number: number) => string): string[] =>
  Array.from({ length: 800 }, (_, number) => `${name(number)}:${'a'.repeat(Math.max(0, size / 800 - 8))}`);

/** A thousand equal pairs that fill the size. */
const thousandPairs = (name: string, size: number): string =>
  filled(`${name}=${'%41'.repeat(Math.max(0, Math.floor((size / 1_000 - name.length - 2) / 3)))}&`, size)
    .split('&', 1_000)
    .join('&');

const get = (target: string, ...headers: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');

const post = (target: string, body: string, ...headers: string[]): string =>
  `${[`POST ${target} HTTP/1.1`, 'Host: localhost', `Content-Length: ${body.length}`, ...headers].join('\r\n')}\r\n\r\n${body}`;

const chunked = (target: string, body: string, ...headers: string[]): string =>
  `${[`POST ${target} HTTP/1.1`, 'Host: localhost', 'Transfer-Encoding: chunked', ...headers].join('\r\n')}\r\n\r\n${body}`;

const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded';
const JSON_TYPE = 'Content-Type: application/json';
const multipart = (target: string, size: number): string =>
  post(target, filled('--a\r\n', size), 'Content-Type: multipart/form-data; boundary=a');
const bearer = ({ key }: Access): string => `Authorization: Bearer ${key}`;

type Row = [input: string, status: number, request: ParserInput['request']];
const rows = (parser: string, size: number, inputs: Row[]): ParserInput[] =>
  inputs.map(([input, status, request]) => ({ parser, input, size, request, status }));

type Inputs = [input: string, value: (size: number) => string][];
const header = (
  name: string,
  target: string,
  status: number,
  inputs: Inputs,
  isKeyed = false,
): ParserInput[] =>
  rows(
    `header \`${name}\``,
    HEAD,
    inputs.map(([input, value]) => [
      input,
      status,
      (size, access) => get(target, ...(isKeyed ? [bearer(access)] : []), `${name}: ${value(size)}`),
    ]),
  );

/** A header of a call that reads a file, and pays nothing. */
const ofFile = (name: string, status: number, inputs: Inputs): ParserInput[] =>
  header(name, LEASED_FILE, status, inputs, true);

const keyed = (
  name: string,
  target: string,
  value: (size: number) => string,
  input: string,
  status = 422,
): ParserInput[] =>
  rows(`parameter \`${name}\``, HEAD, [
    [input, status, (size, access) => get(`${target}${name}=${value(size)}`, bearer(access))],
  ]);

const ofType = (parameters: string): string =>
  post('/account/sign-in', 'a', `Content-Type: text/html;${parameters}`);

const form = (input: string, body: (size: number) => string, status = 403): Row => [
  input,
  status,
  (size) => post('/account/sign-in', body(size), FORM_TYPE),
];

const message = (input: string, status: number, body: (size: number) => string): Row => [
  input,
  status,
  (size) => post('/mcp', body(size), JSON_TYPE, 'Accept: application/json, text/event-stream'),
];

/** As many members as MCP takes, that fill the size. */
const members = (size: number, start: string): string =>
  `{${Array.from({ length: size / 26 }, (_, at) => `"${start}${1_000_000_000 + at}":1234567890`)}}`;

/** A call of a tool with such arguments. */
const toolCall = (json: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_indicators","arguments":${json}}}`;

/** A form that passes the checks of its tokens. */
const sent = (input: string, body: (size: number) => string): Row => [
  input,
  422,
  (size, { csrf, cookie }) => {
    const fields = `_csrf=${csrf}&_idempotency=${'a'.repeat(22)}&${body(size)}`;
    return post('/account/sign-up', fields, FORM_TYPE, `Cookie: ${cookie}`);
  },
];

const spaces = (size: number): string => ' '.repeat(size);
const words = (size: number): string => numbered((number) => `w${number}+`, size);

export const PARSER_INPUTS: readonly ParserInput[] = [
  ...rows('query', HEAD, [
    ['one name beyond the thousand allowed, `a&…`', 400, (size) => get(`/v1/topics?${filled('a&', size)}`)],
    ['one name a thousand times', 200, (size) => get(`/v1/topics?${thousandPairs('a', size)}`)],
    ['a known name a thousand times', 422, (size) => get(`/v1/indicators?${thousandPairs('limit', size)}`)],
    [
      'a known name five hundred times, then others',
      200,
      (size) =>
        get(
          `/v1/indicators?${thousandPairs('q', size / 2)
            .split('&', 500)
            .join('&')}&${filled('x&', size / 30)}`,
        ),
    ],
    [
      'the same with a key',
      422,
      (size, access) => get(`/v1/data?${thousandPairs('from', size / 2)}`, bearer(access)),
    ],
    ['different names', 200, (size) => get(`/v1/topics?${namesOf(size, 'x')}`)],
    ['names that are numbers', 200, (size) => get(`/v1/topics?${namesOf(Math.min(size, 12_000), '7')}`)],
    ['nothing but `&`', 200, (size) => get(`/v1/topics?${filled('&', size)}`)],
    ['one escaped value', 200, (size) => get(`/v1/topics?x=${filled('%41', size)}`)],
    ['values that are not UTF-8', 422, (size) => get(`/v1/indicators?q=${filled('%C3', size)}`)],
    ['to a path that does not exist', 404, (size) => get(`/none?${thousandPairs('a', size)}`)],
    ['to MCP', 401, (size) => get(`/mcp?${thousandPairs('a', size)}`, 'Origin: https://other.example')],
  ]),
  ...rows('path', HEAD, [
    ['`%25…`', 404, (size) => get(`/v1/indicators/${filled('%25', size)}`)],
    ['`%2f…`', 404, (size) => get(`/v1/indicators/${filled('%2f', size)}`)],
    ['`%C3%A9…`', 404, (size) => get(`/v1/indicators/${filled('%C3%A9', size)}`)],
    ['`/…`', 404, (size) => get(filled('/', size))],
    ['a long token', 410, (size) => get(`/account/confirm/${filled('a', size)}`)],
    ['`a/…` below an area', 401, (size) => get(`/account/${filled('a/', size)}`)],
    ['one long segment, by another method', 405, (size) => post(`/v1/indicators/${filled('a', size)}`, '')],
    ['many segments, by another method', 404, (size) => post(`/v1/${filled('a/', size)}`, '')],
  ]),
  ...keyed('countries', '/v1/data?indicator=x&', (size) => filled('a,', size), 'codes of one letter'),
  ...keyed(
    'countries',
    '/v1/data?indicator=x&',
    (size) => numbered((number) => `@a${number},`, size),
    'different groups that do not exist',
  ),
  ...keyed('indicators', '/v1/data?', (size) => numbered((number) => `a${number},`, size), 'different ids'),
  ...keyed('fields', '/v1/data?indicator=x&', (size) => filled('value,', size), 'one name'),
  ...keyed('include', '/v1/indicators?', (size) => filled('editions,', size), 'one word'),
  ...keyed('claim', '/v1/verify?', (size) => filled(',', size), 'nothing but commas', 200),
  ...keyed(
    'claim',
    '/v1/verify?',
    (size) => `a,KEN,2020,${filled('0', size)}1`,
    'a number that begins with zeros',
    200,
  ),
  ...keyed('as_of', '/v1/data?indicator=x&', (size) => `${filled('+', size)}01:00x`, 'blanks'),
  ...keyed('limit', '/v1/indicators?', (size) => filled('9', size), 'digits'),
  ...rows('parameter `next`', HEAD, [
    ['a long path', 422, (size) => get(`/account/sign-in?next=/account/${filled('a/', size)}`)],
  ]),
  ...keyed('q', '/v1/indicators?', words, 'different words, with a key'),
  ...rows('parameter `q`', HEAD, [
    ['different words', 422, (size) => get(`/v1/indicators?q=${words(size)}`)],
    ['different words, in the search box', 200, (size) => get(`/suggest?q=${words(size)}`)],
    ['different words, on a page', 200, (size) => get(`/indicators?q=${words(size)}`)],
  ]),
  ...header('Host', '/v1/topics', 400, [['a second one', (size) => `a\r\nHost: ${filled('a', size)}!`]]),
  ...header('Cookie', '/account/', 401, [
    ['`a;…`', (size) => filled('a;', size)],
    ['different names', (size) => numbered((number) => `a${number}=b;`, size)],
    ['one escaped value', (size) => `a=${filled('%41', size)}`],
    ['quotes', (size) => filled('"', size)],
    ['a session that does not exist', (size) => `almanac_account=${filled('x', size)}`],
    ['one name in many headers', (size) => filled('a=b-------------\r\nCookie:', size)],
  ]),
  ...header('Authorization', '/v1/ping', 401, [
    ['blanks before the key', (size) => `Bearer ${spaces(size)}x y`],
    ['a long key, and another', (size) => `Bearer ${filled('x', size)} y`],
    ['something like a key', (size) => `Bearer ${filled('alm_live_', size)}`],
  ]),
  ...header(
    'Idempotency-Key',
    '/v1/data?indicator=x',
    422,
    [['a long key', (size) => filled('x', size)]],
    true,
  ),
  ...header('If-None-Match', '/v1/topics', 200, [
    ['weak tags', (size) => filled('W/"a",', size)],
    ['nothing but commas', (size) => filled(',', size)],
    ['one tag in many headers', (size) => filled('"a"\r\nIf-None-Match:', size)],
  ]),
  ...ofFile('If-None-Match', 200, [['weak tags, to a file', (size) => filled('W/"a",', size)]]),
  ...header('If-Match', '/v1/topics', 200, [['weak tags', (size) => filled('W/"a",', size)]]),
  ...ofFile('Range', 200, [
    ['digits', (size) => `bytes=${filled('0', size)}-x`],
    ['blanks', (size) => `bytes=0-${spaces(size)}x`],
    ['many ranges', (size) => `bytes=${filled('0-0,', size)}`],
    ['a long number', (size) => `bytes=0-${filled('9', size)}`],
  ]),
  ...ofFile('If-Range', 200, [['a long tag', (size) => `"${filled('a', size)}"\r\nRange: bytes=0-1`]]),
  ...header('Accept', '/nothing', 404, [['`text/…`', (size) => filled('text/', size)]]),
  ...header('Accept-Encoding', '/v1/topics', 200, [
    ['different codings', (size) => numbered((number) => `a${number};q=0.5,`, size)],
    ['nothing but semicolons', (size) => filled(';', size)],
  ]),
  ...header('Accept-Language', '/', 200, [
    ['different languages', (size) => numbered((number) => `a${number};q=0.5,`, size)],
  ]),
  ...header('Prefer', '/v1/topics?x=1', 200, [
    ['preferences', (size) => filled('a,', size)],
    ['blanks', (size) => `handling${spaces(size)}x`],
    ['an unfinished value', (size) => `handling="${filled('a', size)}`],
  ]),
  ...header('X-Forwarded-For', '/v1/topics?x=1', 200, [
    ['trusted addresses', (size) => `${filled('127.0.0.1,', size)}127.0.0.1`],
    ['trusted addresses in IPv6', (size) => `${filled('::ffff:127.0.0.1,', size)}127.0.0.1`],
    ['nothing but commas', (size) => filled(',', size)],
    ['blanks', (size) => `${spaces(size)}x`],
  ]),
  ...header('X-Forwarded-Proto', '/account/sign-up', 200, [['a list', (size) => filled('https,', size)]]),
  ...header('Origin', '/v1/ping', 401, [['a long one', (size) => filled('https://a.', size)]]),
  ...header('Origin', '/mcp', 401, [['a long one, to MCP', (size) => `https://${filled('a.', size)}`]]),
  ...header('X-Request-Id', '/v1/topics', 200, [['a long one', (size) => filled('a', size)]]),
  ...header('Expect', '/v1/topics', 417, [['a list', (size) => filled('100-continue ', size)]]),
  ...rows('header `Content-Type`', HEAD, [
    ['parameters', 403, (size) => ofType(filled(' a="\\a";', size))],
    ['blanks', 403, (size) => ofType(`${spaces(size)}x`)],
    ['an unfinished quote', 403, (size) => ofType(`a="${filled('\\', size)}`)],
  ]),
  ...rows('header `Stripe-Signature`', HEAD, [
    [
      'signatures',
      400,
      (size) => post('/account/stripe/webhook', '{}', `Stripe-Signature: t=1,${filled(SIGNATURE, size)}`),
    ],
  ]),
  ...rows('headers', HEAD, [
    ['one name', 200, (size) => get('/v1/topics', ...manyHeaders(size, () => 'a'))],
    ['different names', 200, (size) => get('/v1/topics', ...manyHeaders(size, (number) => `a${number}`))],
    [
      'different names, to a page',
      200,
      (size) => get('/account/sign-up', ...manyHeaders(size, (number) => `a${number}`)),
    ],
    [
      'different names, to MCP',
      401,
      (size) => get('/mcp', 'Origin: https://other.example', ...manyHeaders(size, (number) => `a${number}`)),
    ],
  ]),
  ...rows('form', FORM, [
    form('one name beyond the thousand allowed, `a&…`', (size) => filled('a&', size), 400),
    form('one name a thousand times', (size) => thousandPairs('a', size)),
    form('different names', (size) => namesOf(size, 'x')),
    form('nothing but `&`', (size) => filled('&', size)),
    form('one escaped value', (size) => `email=${filled('%41', size)}`),
    form('nothing but `+`', (size) => filled('+', size)),
    form('names that are numbers', (size) => namesOf(Math.min(size, 12_000), '7')),
    sent('different names, with its tokens', (size) => namesOf(size - 500, 'x', 990)),
    sent('a long address, with its tokens', (size) => `name=a&email=${filled('a@', size - 500)}`),
    [
      'a long token',
      403,
      (size, { cookie }) =>
        post('/account/sign-up', `_csrf=${filled('a-', size)}`, FORM_TYPE, `Cookie: ${cookie}`),
    ],
    ['to a path that does not exist', 404, (size) => post('/none', filled('a&', size), FORM_TYPE)],
  ]),
  ...rows('multipart, which is refused', FORM, [
    ['boundaries, to a form', 403, (size) => multipart('/account/sign-in', size)],
    ['boundaries, to an operation', 405, (size) => multipart('/v1/topics', size)],
  ]),
  ...rows('JSON on a path that reads none', FORM, [
    ['opening brackets, to a form', 403, (size) => post('/account/sign-in', filled('[', size), JSON_TYPE)],
    ['opening brackets, to an operation', 405, (size) => post('/v1/topics', filled('[', size), JSON_TYPE)],
    [
      '`__proto__`, to no route',
      404,
      (size) => post('/none', `[${filled('{"__proto__":1},', size)}1]`, JSON_TYPE),
    ],
  ]),
  ...rows('event of Stripe', STRIPE_EVENT, [
    [
      'opening brackets',
      400,
      (size) => post('/account/stripe/webhook', filled('[', size), JSON_TYPE, 'Stripe-Signature: t=1,v1=a'),
    ],
  ]),
  ...rows('JSON-RPC', MCP_BODY, [
    message('opening brackets', 400, (size) => filled('[', size)),
    message('brackets in pairs', 400, (size) => `[${filled('[],', size)}0]`),
    message('quotation marks', 400, (size) => filled('"', size)),
    message('escaped quotation marks', 400, (size) => `"${filled('\\"', size)}`),
    message('a long text', 200, (size) => toolCall(`{"query":"${filled('life ', size)}"}`)),
    message('unknown arguments', 200, (size) => toolCall(members(size, 'a'))),
    message('arguments that are numbers', 200, (size) => toolCall(members(size, ''))),
    message('`__proto__`', 200, (size) =>
      toolCall(`{"query":[${filled('{"__proto__":"1234567890"},', size)}1]}`),
    ),
    message(
      'a batch of long identifiers',
      200,
      (size) =>
        `[${Array.from({ length: 20 }, () => `{"jsonrpc":"2.0","method":"ping","id":"${filled('a', size / 20)}"}`)}]`,
    ),
    message('a long method', 200, (size) => `{"jsonrpc":"2.0","id":1,"method":"${filled('a', size)}"}`),
    message(
      'members of an envelope',
      200,
      (size) => `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":${members(size, 'a')}}}`,
    ),
  ]),
  ...rows('chunks', 6 * FORM, [
    [
      'of one byte, to a form',
      400,
      (size) => chunked('/account/sign-in', `${filled('1\r\na\r\n', size)}0\r\n\r\n`, FORM_TYPE),
    ],
    [
      'of one byte, to a path that reads none',
      405,
      (size) => chunked('/v1/topics', `${filled('1\r\na\r\n', size)}0\r\n\r\n`),
    ],
    [
      'of one byte, as an event of Stripe',
      400,
      (size) => chunked('/account/stripe/webhook', `${filled('1\r\na\r\n', size)}0\r\n\r\n`, JSON_TYPE),
    ],
  ]),
  ...rows('framing of a body', HEAD, [
    [
      'an extension',
      403,
      (size) => chunked('/account/sign-in', `1${filled(';a=b', size)}\r\na\r\n0\r\n\r\n`, FORM_TYPE),
    ],
    [
      'trailers',
      403,
      (size) =>
        chunked(
          '/account/sign-in',
          `1\r\na\r\n0\r\n${filled(`a:${'b'.repeat(40)}\r\n`, size)}\r\n`,
          FORM_TYPE,
        ),
    ],
  ]),
];
