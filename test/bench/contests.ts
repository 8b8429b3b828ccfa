/** Who runs against whom: calls of the gateway and the floors that send the same bytes. */
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { CatalogueIndex } from '../../data/schema/snapshot.ts';
import { type ColdSlice, dataPath } from './cold.ts';
import type { FixedAnswer, FloorQuestion } from './floors.ts';
import { type Answer, type Call, fetchWhole } from './http-client.ts';
import { startNginx } from './nginx.ts';
import { type Gateway, type Helper, startHelper } from './processes.ts';
import type { Contest } from './throughput.ts';

export interface Measured extends Call {
  name: string;
  price: number;
}

/** The keyed calls that are measured; the slice is read often, so it is hot. */
export function keyedCalls(catalogue: CatalogueIndex, key: string, hot: ColdSlice): Measured[] {
  const headers = { authorization: `Bearer ${key}` };
  const country = catalogue.countries.find(({ iso3 }) => iso3 === 'SWE') ?? catalogue.countries[0];
  const ranked = catalogue.indicators.find(({ record }) => !record.no_rank && record.id === hot.indicator);
  return [
    { name: 'keyed flat: one country', path: `/v1/countries/${country?.iso3}`, headers, price: 1 },
    {
      name: 'keyed flat: one ranking',
      path: `/v1/rankings/${encodeURIComponent(ranked?.record.id ?? hot.indicator)}`,
      headers,
      price: 1,
    },
    {
      name: 'hot filtered /v1/data, 3 countries × 20 years',
      path: dataPath(hot),
      headers,
      price: hot.countries.length * (hot.to - hot.from + 1),
    },
  ];
}

const CACHED_CALLS: Measured[] = ['/v1/indicators', '/v1/topics'].flatMap((path) =>
  ['identity', 'gzip', 'br'].map((coding) => ({
    name: `cached ${path}, ${coding}`,
    path,
    headers: { 'accept-encoding': coding },
    price: 0,
  })),
);

async function answerOf(gateway: Gateway, call: Call): Promise<Answer> {
  const answer = await fetchWhole(gateway.port, call);
  if (answer.status !== 200) throw new Error(`${call.path} answered ${answer.status}: ${answer.body}`);
  return answer;
}

const fixed = ({ path, price }: Measured, { headers, body }: Answer): FixedAnswer => ({
  path,
  headers,
  body: body.toString('base64'),
  price,
  rows: price > 1 ? price : 0,
});

/** Catalogue answers against bare node:http, and gzip ones against nginx too. */
export async function cachedContests(
  gateway: Gateway,
  dir: string,
  stack: AsyncDisposableStack,
): Promise<{ contests: Contest[]; nginxMissing: boolean }> {
  const answers = new Map<Measured, Answer>();
  for (const call of CACHED_CALLS) answers.set(call, await answerOf(gateway, call));
  const gzipped = [...answers].filter(([call]) => call.headers?.['accept-encoding'] === 'gzip');
  const bodies = gzipped.map(([{ path }, { body }]): [string, { plain: Buffer; gzip: Buffer }] => [
    path.split('/').at(-1) ?? '',
    { plain: gunzipSync(body), gzip: body },
  ]);
  const nginx = await startNginx(join(dir, 'nginx'), new Map(bodies));
  if (nginx) stack.use(nginx);

  const contests: Contest[] = [];
  for (const [call, answer] of answers) {
    // A floor of its own for each coding: the bare server does not negotiate.
    const bare = stack.use(startHelper('floors.ts'));
    const port = await bare.ask<FloorQuestion, number>({ kind: 'http', answers: [fixed(call, answer)] });
    const floors: Contest['floors'] = [{ name: 'bare node:http', port, call, atLeast: 0.9 }];
    if (nginx && call.headers?.['accept-encoding'] === 'gzip') {
      const file = { ...call, path: `/${call.path.split('/').at(-1)}` };
      floors.push({ name: 'nginx gzip_static', port: nginx.port, call: file, atLeast: 0.5 });
    }
    contests.push({ name: call.name, gateway: { name: 'gateway', port: gateway.port, call }, floors });
  }
  return { contests, nginxMissing: nginx === null };
}

/** Flat and data routes against Fastify with one equal Lua call. */
export async function keyedContests(
  gateway: Gateway,
  calls: Measured[],
  account: { account_id: string; key_id: string },
  socket: string,
  floor: Helper,
): Promise<Contest[]> {
  const answers: FixedAnswer[] = [];
  for (const call of calls) answers.push(fixed(call, await answerOf(gateway, call)));
  const { account_id, key_id } = account;
  const port = await floor.ask<FloorQuestion, number>({
    kind: 'fastify',
    answers,
    socket,
    account_id,
    key_id,
  });
  return calls.map((call) => ({
    name: call.name,
    gateway: { name: 'gateway', port: gateway.port, call },
    floors: [
      { name: 'Fastify + one Lua call', port, call, atLeast: call.path.startsWith('/v1/data') ? 0.7 : 0.8 },
    ],
  }));
}
