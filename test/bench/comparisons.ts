/** Parts of the bench that compare calls to the gateway with floors that send the same bytes. */
import { randomBytes } from 'node:crypto';
import { mintKeyText } from '../../gateway/api/metering/keys.ts';
import type { CatalogueIndex } from '../shown-snapshot.ts';
import { dataPath, hotQuery, wholeIndicator } from './data-queries.ts';
import type { FixedAnswer } from './floors.ts';
import { type Answer, type Call, fetchWhole } from './http-client.ts';
import type { Gateway } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import type { Account, Session } from './session.ts';
import type { Candidate, Comparison } from './throughput.ts';

type Rows = (Row | Skipped)[];
type Place = Pick<Candidate, 'port' | 'cpu'>;

/** A call with its price and its goal relative to the floor. */
interface Measured {
  name: string;
  call: Call;
  status?: number;
  price?: number;
  atLeast?: number;
  connections?: number;
}

async function answerOf({ port }: Gateway, { call, status = 200 }: Measured): Promise<Answer> {
  const answer = await fetchWhole(port, call);
  if (answer.status !== status) throw new Error(`${call.path} answered ${answer.status}: ${answer.body}`);
  return answer;
}

const fixed = ({ call, price = 0 }: Measured, { status, headers, body }: Answer): FixedAnswer => ({
  path: call.path,
  status,
  headers,
  body: body.toString('base64'),
  price,
  rows: price > 1 ? price : 0,
});

const candidate = (name: string, { port, cpu }: Place, { call, status }: Measured): Candidate => ({
  name,
  port,
  cpu,
  call,
  status,
});

const against = (gateway: Gateway, measured: Measured, floor: Candidate): Comparison => ({
  name: measured.name,
  gateway: candidate('gateway', gateway, measured),
  floor: { ...floor, atLeast: measured.atLeast },
  connections: measured.connections,
});

/** Against bare node:http with one fixed response. It does not negotiate, so each call has its own floor. */
export async function compareWithBare(session: Session, gateway: Gateway, measured: Measured): Promise<Rows> {
  return session.comparison(measured.name, async (stack) => {
    const answers = [fixed(measured, await answerOf(gateway, measured))];
    const bare = await session.floor(stack, { kind: 'http', answers });
    return against(gateway, measured, candidate('bare node:http', bare, measured));
  });
}

/** Large answers and small ones. */
const LARGE_AT_LEAST = 0.9;
const CACHED_AT_LEAST = 0.6;
const NOT_MODIFIED_AT_LEAST = 0.6;

const SEARCH = '/v1/indicators?q=life%20expectancy';

const cachedCalls = ({ indicators: [first] }: CatalogueIndex): Measured[] => [
  ...['/v1/indicators', '/v1/topics'].flatMap((path) =>
    ['identity', 'gzip', 'br'].map((coding) => ({
      name: `cached ${path}, ${coding}`,
      call: { path, headers: { 'accept-encoding': coding } },
      atLeast: `${path} ${coding}` === '/v1/indicators identity' ? LARGE_AT_LEAST : CACHED_AT_LEAST,
    })),
  ),
  {
    name: 'one indicator, br',
    call: {
      path: `/v1/indicators/${encodeURIComponent(first?.record.id ?? '')}`,
      headers: { 'accept-encoding': 'br' },
    },
    atLeast: CACHED_AT_LEAST,
  },
  {
    name: 'catalogue filtered by topic, identity',
    call: { path: `/v1/indicators?topic=${first?.record.topic ?? ''}&limit=50` },
    atLeast: CACHED_AT_LEAST,
  },
  { name: 'catalogue searched, identity', call: { path: SEARCH }, atLeast: CACHED_AT_LEAST },
];

/** Catalogue responses against bare node:http. */
export async function cachedRows(session: Session): Promise<Rows> {
  const { catalogue } = await session.snapshot();
  await using gateway = await session.gateway();
  const calls = cachedCalls(catalogue);
  for (const path of ['/v1/indicators', '/v1/topics']) {
    const { headers } = await fetchWhole(gateway.port, { path });
    const call = { path, headers: { 'if-none-match': headers.etag ?? '' } };
    calls.push({ name: `304 on ${path}`, call, status: 304, atLeast: NOT_MODIFIED_AT_LEAST });
  }
  return (await Array.fromAsync(calls, (one) => compareWithBare(session, gateway, one))).flat();
}

const FLAT_AT_LEAST = 0.85;
const HOT_AT_LEAST = 0.85;
const WHOLE_AT_LEAST = 0.6;
const WHOLE_CONNECTIONS = 8;

/** Flat and data routes against Fastify with an equal Lua call; whole indicators against bare node:http. */
export async function keyedRows(session: Session): Promise<Rows> {
  const { catalogue } = await session.snapshot();
  const customer = await session.customer();
  const headers = { authorization: `Bearer ${customer.key}` };
  await using gateway = await session.gateway();
  const hot = hotQuery(catalogue);
  const flat: Measured[] = [
    { ...flatCall(customer), price: 1, atLeast: FLAT_AT_LEAST },
    {
      name: 'keyed flat: one ranking',
      call: { path: `/v1/rankings/${encodeURIComponent(hot.indicator)}`, headers },
      price: 1,
      atLeast: FLAT_AT_LEAST,
    },
    {
      name: 'hot filtered /v1/data, 3 countries × 20 years',
      call: { path: dataPath(hot), headers },
      price: hot.countries.length * (hot.to - hot.from + 1),
      atLeast: HOT_AT_LEAST,
    },
    { name: 'ping', call: { path: '/v1/ping', headers }, atLeast: FLAT_AT_LEAST },
  ];
  const rows: Rows = [];
  for (const measured of flat) rows.push(...(await compareWithFastify(session, gateway, measured, customer)));
  const whole = `/v1/data?indicator=${encodeURIComponent(wholeIndicator(catalogue))}`;
  for (const format of ['json', 'csv']) {
    const call = { path: `${whole}&format=${format}`, headers };
    const measured = {
      name: `whole indicator as ${format}`,
      call,
      atLeast: WHOLE_AT_LEAST,
      connections: WHOLE_CONNECTIONS,
    };
    const served = await fetchWhole(gateway.port, call);
    const note = `${Number(served.headers['x-credits-charged']).toLocaleString('en')} rows, ${Math.round(served.body.length / 1000).toLocaleString('en')} kB`;
    rows.push(...(await compareWithBare(session, gateway, measured)).map((row) => ({ ...row, note })));
  }
  return rows;
}

const flatCall = ({ key }: Account): Measured => ({
  name: 'keyed flat: one country',
  call: { path: '/v1/countries/SWE', headers: { authorization: `Bearer ${key}` } },
});

async function compareWithFastify(
  session: Session,
  gateway: Gateway,
  measured: Measured,
  { account_id, key_id }: Account,
): Promise<Rows> {
  return session.comparison(measured.name, async (stack) => {
    const answers = [fixed(measured, await answerOf(gateway, measured))];
    const { socket } = session;
    const equal = await session.floor(stack, { kind: 'fastify', answers, socket, account_id, key_id });
    return against(gateway, measured, candidate('Fastify + one Lua call', equal, measured));
  });
}

const REFUSAL_AT_LEAST = 1;

/** Refusals against a paid call: a refusal must not cost more. */
export async function refusalRows(session: Session): Promise<Rows> {
  const [customer, poor, hasty, revoked] = [
    await session.customer(),
    await session.openAccount('poor', ['--verified']),
    await session.openAccount('hasty'),
    await session.openAccountWithRevokedKey('revoked'),
  ];
  const { catalogue } = await session.snapshot();
  const whole = `/v1/data?indicator=${encodeURIComponent(wholeIndicator(catalogue))}`;
  // Unverified and anonymous callers have one call a day.
  await using gateway = await session.gateway({ ANONYMOUS_PER_DAY: '1' });
  const flat = flatCall(customer);
  const refused = (name: string, status: number, path: string, authorization?: string): Measured => ({
    name,
    status,
    call: { path, ...(authorization !== undefined && { headers: { authorization } }) },
    atLeast: REFUSAL_AT_LEAST,
  });
  const { path } = flat.call;
  const calls = [
    refused('401 without a key', 401, path),
    refused('401, a mistyped key', 401, path, `Bearer ${customer.key.slice(0, -1)}`),
    refused('401, an unknown key', 401, path, `Bearer ${mintKeyText('live', randomBytes).key}`),
    refused('401, a revoked key that asks for a whole indicator', 401, whole, `Bearer ${revoked.key}`),
    refused('402', 402, path, `Bearer ${poor.key}`),
    refused('429 with a key', 429, path, `Bearer ${hasty.key}`),
    refused('429 without a key', 429, '/v1/topics'),
  ];
  const compare = (measured: Measured): Promise<Rows> =>
    session.comparison(measured.name, async () => {
      await fetchWhole(gateway.port, measured.call);
      await answerOf(gateway, measured);
      return against(gateway, measured, candidate('keyed flat', gateway, flat));
    });
  return (await Array.fromAsync(calls, compare)).flat();
}
