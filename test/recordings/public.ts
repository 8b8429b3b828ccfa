/** The public face: every route with every option, the pages of the site, `/mcp`, and what a service refuses. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CALLS } from '../gateway/api/mcp/calls.ts';
import { REVISIONS, type Sent, send } from '../gateway/api/mcp/mcp-client.ts';
import { tellStory } from '../gateway/edition-story.ts';
import { FIXTURE_ID } from '../gateway/fixture-snapshot.ts';
import { PUBLIC_ROUTES } from '../gateway/public-routes.ts';
import { type GetOptions, PUBLIC_URL, Service } from '../gateway/service.ts';
import { crawl } from './pages.ts';
import type { Recorder } from './recorder.ts';
import { specRequests } from './spec-requests.ts';

const FORMATS = ['json', 'csv', 'ndjson', 'parquet', 'arrow', 'xlsx', 'sdmx-csv', 'atom', 'nonsense'];
const OPTIONS = [
  ...FORMATS.map((format) => `format=${format}`),
  ...['2026-11-20', '2026-11-20T02:00:00Z', FIXTURE_ID, '1999-12-31', 'x'].map((as_of) => `as_of=${as_of}`),
  ...[
    'dry_run=true',
    'dry_run=x',
    'max_credits=0',
    'max_credits=50',
    'include=sources',
    'include=x',
    'surplus=1',
  ],
];
const HEADERS: readonly Record<string, string>[] = [
  ...['br', 'gzip', 'zstd', 'gzip, deflate, br, zstd', 'identity'].map((coding) => ({
    'accept-encoding': coding,
  })),
  ...['bytes=0-9', 'bytes=-9', 'bytes=0-1,4-5', 'bytes=99999999-', 'nonsense'].map((range) => ({ range })),
  ...[{ prefer: 'handling=strict' }, { origin: 'https://example.org' }, { accept: 'text/csv' }],
  ...[{ 'x-request-id': 'chosen' }, { 'idempotency-key': 'once' }],
];
const METHODS: readonly GetOptions[] = [
  ...[{ method: 'HEAD' }, { method: 'POST', body: '{}' }, { method: 'OPTIONS' }],
  {
    method: 'OPTIONS',
    headers: { origin: 'https://example.org', 'access-control-request-method': 'GET' },
  },
];

const LIFE = 'alpha.life_expectancy';
const DATA = [
  ...['layout=wide', 'latest=1', 'latest=0', 'missing=omit', 'fields=iso3,year,value', 'fields=x'],
  ...['countries=@south-asia', 'countries=KE,276', 'countries=@nowhere', 'from=2021&to=2019'],
];
/** Beside the routes of the API. */
const OTHER_PATHS = [
  ...['/healthz', '/readyz', '/status.json', '/.well-known/almanac-keys.json', '/v1/log/checkpoint'],
  ...['/openapi.json', '/data/api/openapi.json', '/v1/openapi.json', '/docs/openapi.json'],
  ...['/v1/openapi.json?format=csv', '/v1/openapi.json?format=x', '/metrics', '/v1', '/v1/', '/v1/nothing'],
  ...['/%', '/v1/countries/%zz', '/v1/countries/K%00N', '//v1/topics', '/v1/topics/', '/V1/topics'],
  ...[
    `/v1/indicators?${'a=1&'.repeat(300)}`,
    '/v1/indicators?q=a&q=b',
    '/v1/verify',
    '/nothing',
    '/favicon.ico',
  ],
];
/** To which no page links. */
const SITE_PATHS = [
  ...['/', '/sitemap.xml', '/robots.txt', '/llms.txt', '/suggest?q=life', '/suggest?q=', '/suggest'],
  ...['/indicators?q=life', '/indicators?q=zzz', '/indicators?sort=x', '/indicators?page=2'],
  ...['/countries/KEN/health', '/countries/ken', '/countries/ZZZ', '/countries/KEN/none'],
  ...['/indicators/none.such', '/topics/none', '/providers/none', '/docs/none', '/docs/reference/none'],
  ...[
    '/compare?countries=KEN,DEU&indicators=alpha.life_expectancy,beta.co2_emissions',
    '/compare?countries=X',
  ],
  ...[
    `/indicators/${LIFE}?year=2020`,
    `/indicators/${LIFE}/map.svg?year=1066`,
    `/indicators/${LIFE}/none.svg`,
  ],
];

export async function recordPublic(recorder: Recorder): Promise<void> {
  await using service = await Service.start();
  const keys = await makeKeys(service, recorder);
  recorder.watch('api', service.url);
  for (const { path, caller } of specRequests())
    await service.get(path, caller === 'anonymous' ? {} : { key: keys[caller] });
  const { owner: key } = keys;
  for (const { path, key: need } of PUBLIC_ROUTES)
    await recordRoute(service, path, need === 'required' ? key : null);
  for (const query of DATA)
    for (const format of FORMATS.slice(0, 7))
      await service.get(`/v1/data?indicator=${LIFE}&${query}&format=${format}`, { key });
  await service.get(`/v1/data?indicators=${LIFE},beta.co2_emissions&layout=wide`, { key });
  await service.get('/v1/ping', { key: keys.restricted });
  for (const path of OTHER_PATHS)
    for (const method of ['GET', 'HEAD', 'POST']) await service.get(path, { method });
  await recordBroken(service, recorder);
  const metrics = (await service.metrics.text()).match(/^# TYPE almanac.*|^almanac\w+(?:\{[^}]*\})?/gm) ?? [];
  recorder.add('metrics', [...new Set(metrics)].sort().join('\n'));
  recorder.watch('mcp', service.url);
  await recordMcp(service, key);
  recorder.watch('site', service.url);
  await recordSite(service, SITE_PATHS);
}

async function makeKeys(service: Service, recorder: Recorder) {
  const rules = { monthly_limit: null, ranges: ['203.0.113.0/24'], origins: [] };
  const owner = await service.account({ credits: 1_000_000 });
  const penniless = await service.account({ credits: 0 });
  const restricted = await service.account({ rules });
  for (const [name, { key, key_id, account_id }] of Object.entries({ owner, penniless, restricted })) {
    recorder.replace(key, `<key of ${name}>`);
    recorder.replace(key_id, `<key id of ${name}>`);
    recorder.replace(account_id, `<account of ${name}>`);
  }
  return { owner: owner.key, penniless: penniless.key, restricted: restricted.key, rejected: 'nonsense' };
}

async function recordRoute(service: Service, path: string, key: string | null): Promise<void> {
  const caller = key === null ? {} : { key };
  const { headers } = await service.get(path, caller);
  const etag = String(headers.etag);
  const lists = [
    { 'if-none-match': etag },
    { 'if-none-match': '"other"' },
    { 'if-range': etag, range: 'bytes=0-9' },
  ];
  for (const sent of [...HEADERS, ...lists]) await service.get(path, { ...caller, headers: sent });
  for (const options of METHODS) await service.get(path, { ...caller, ...options });
  for (const option of OPTIONS)
    await service.get(`${path}${path.includes('?') ? '&' : '?'}${option}`, caller);
  await service.get(path, key === null ? { key: 'nonsense' } : {});
}

/** What no HTTP client sends. */
async function recordBroken({ port }: Service, recorder: Recorder): Promise<void> {
  const requests = [
    ...['nonsense\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    'GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n',
    `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(50_000)}\r\n\r\n`,
    'POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n',
  ];
  for (const request of requests) {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
    socket.write(request);
    let answer = '';
    socket.on('data', (piece) => {
      answer += piece;
    });
    await once(socket, 'close');
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    const [status = '', ...headers] = head
      .replaceAll(/^[\w-]+(?=:)/gm, (name) => name.toLowerCase())
      .split('\r\n');
    recorder.add(`raw ${JSON.stringify(request.slice(0, 60))}`, [status, ...headers.sort(), body].join('\n'));
  }
}

async function recordMcp(service: Service, key: string): Promise<void> {
  const caller = { key: { key, key_id: '', account_id: '' } };
  const ask = (method: string, params?: Record<string, unknown>, sent: Sent = caller) =>
    send(service, method, params, sent);
  for (const revision of REVISIONS) {
    const clientInfo = { name: 'test', version: '1' };
    const handshake = { protocolVersion: revision, capabilities: {}, clientInfo };
    await ask('initialize', handshake, { revision });
    for (const list of ['tools', 'resources', 'resources/templates', 'prompts'])
      await ask(`${list}/list`, {}, { revision });
    for (const method of ['ping', 'server/discover', 'tools/burn', 'logging/setLevel'])
      await ask(method, {}, { revision });
    await ask(
      'tools/call',
      { name: 'find_indicators', arguments: CALLS.find_indicators },
      { ...caller, revision },
    );
  }
  for (const [name, args] of Object.entries(CALLS)) {
    await ask('tools/call', { name, arguments: args });
    await ask('tools/call', { name, arguments: args }, {});
    await ask('tools/call', { name, arguments: { ...args, dry_run: true } });
    await ask('tools/call', {
      name,
      arguments: { ...args, countries: ['Atlantis'], indicator: 'none.such' },
    });
    await ask('tools/call', { name, arguments: {} });
  }
  await ask('tools/call', { name: 'burn', arguments: {} });
  const { body: listed } = await ask('resources/list');
  for (const { uri } of [...listed.result.resources, { uri: 'almanac://none' }])
    await ask('resources/read', { uri });
  const { body: prompts } = await ask('prompts/list');
  for (const { name, arguments: args = [] } of prompts.result.prompts) {
    const filled = args.map((argument: { name: string }) => [argument.name, 'life']);
    await ask('prompts/get', { name, arguments: Object.fromEntries(filled) });
    for (const argument of args)
      await ask('completion/complete', {
        ref: { type: 'ref/prompt', name },
        argument: { name: argument.name, value: 'a' },
      });
  }
  for (const origin of ['https://evil.example', PUBLIC_URL])
    await ask('tools/list', {}, { headers: { origin } });
  for (const method of ['GET', 'DELETE', 'OPTIONS']) await service.get('/mcp', { method });
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  for (const body of ['{', '[]', `"${'x'.repeat(300_000)}"`])
    await service.get('/mcp', { method: 'POST', body, headers });
}

async function recordSite(service: Service, paths: readonly string[]): Promise<void> {
  const open = async (path: string): Promise<string> => {
    const { text, headers } = await service.get(path);
    return /html|xml/.test(String(headers['content-type'])) ? text : '';
  };
  await crawl(paths, open, PUBLIC_URL);
  for (const path of [
    '/',
    `/indicators/${LIFE}`,
    `/indicators/${LIFE}/map.svg`,
    '/sitemap.xml',
    '/nothing',
  ]) {
    const { headers } = await service.get(path);
    for (const coding of ['br', 'gzip', 'zstd'])
      await service.get(path, { headers: { 'accept-encoding': coding } });
    await service.get(path, { headers: { 'if-none-match': String(headers.etag) } });
    for (const method of ['HEAD', 'POST', 'OPTIONS']) await service.get(path, { method });
  }
}

/** Nights on which figures are revised, series renamed, withdrawn and brought back, and one that is taken back. */
export async function recordEditions(recorder: Recorder): Promise<void> {
  const { world, served, rolledBack } = await tellStory();
  await using _world = world;
  await using service = await Service.start({ snapshots: world.settings.SNAPSHOT_DIR });
  recorder.watch('editions', service.url);
  const { key } = await service.account({ credits: 1_000_000 });
  const call = (path: string, headers = {}) => service.get(path, { key, headers });
  await call('/v1/catalog.jsonld');
  for (const format of ['json', 'csv', 'ndjson', 'atom']) await call(`/v1/changes?format=${format}`);
  for (const id of [
    'atlas.cows',
    'atlas.cattle',
    'atlas.sheep',
    'atlas.kids',
    'atlas.secret',
    'atlas.lamas',
    'globe.shown',
  ])
    for (const as_of of ['', ...served, rolledBack, '2026-11-24']) {
      const when = as_of === '' ? '' : `&as_of=${as_of}`;
      for (const path of ['/v1/data?indicator=', '/v1/revisions?indicator='])
        await call(`${path}${id}${when}`);
      await call(`/v1/receipts?indicator=${id}&country=FRA&year=2001${when}`);
      for (const path of [`indicators/${id}`, `rankings/${id}`, `files/${id}.parquet`])
        await call(`/v1/${path}?${when.slice(1)}`);
      await call(`/v1/indicators/${id}?include=sources,quality,twins,editions${when}`);
    }
  for (const id of [...served, rolledBack, 'x']) {
    await call(`/v1/changes?since=${id}`);
    for (const file of ['citation.bib', 'datapackage.json', 'croissant.json'])
      await call(`/v1/editions/${id}/${file}`);
    await call(`/v1/indicators?as_of=${id}`);
  }
  for (const from of [0, 1, 2, 5, 6]) await call(`/v1/log/consistency?from=${from}`);
  await call('/v1/indicators/atlas.cows', { prefer: 'handling=strict' });
  await recordSite(service, [
    '/',
    '/indicators/atlas.cows',
    '/indicators/atlas.cattle',
    '/indicators/atlas.secret',
  ]);
}

/** A service that limits callers, and one that has nothing to serve. */
export async function recordRefusals(recorder: Recorder): Promise<void> {
  const paths = [
    '/v1/topics',
    '/v1/countries/KEN',
    '/indicators',
    '/healthz',
    '/readyz',
    '/status.json',
    '/v1/log/checkpoint',
  ];
  const narrow = { ANONYMOUS_PER_MINUTE: '2', PAGES_PER_MINUTE: '2', FREE_PER_MINUTE: '2' };
  const empty = await mkdtemp(join(tmpdir(), 'alm-recordings-'));
  for (const [section, options] of Object.entries({
    limited: { settings: narrow },
    empty: { snapshots: empty },
  })) {
    await using service = await Service.start(options);
    recorder.watch(section, service.url);
    const { key } = await service.account();
    for (const path of paths)
      for (let call = 0; call < 3; call += 1) {
        await service.get(path);
        await service.get(path, { key });
      }
    await send(service, 'tools/call', { name: 'rank_countries', arguments: CALLS.rank_countries });
  }
  await rm(empty, { recursive: true });
}
