/**
 * The floors: the cheapest programs that answer the same request. Run as a process, like the gateway.
 *
 *   http     bare node:http that sends the same status, headers and body by path
 *   fastify  bare Fastify that calls the gateway's Lua script with equal arguments and sends the same bytes
 *   file     bare node:http that streams part of a file from disk
 *   mcp      a server of the same library that returns the same content at once
 *   duckdb   one prepared query on the same Parquet file, in process, without HTTP
 */
import { createReadStream, readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { DuckDBInstance, listValue } from '@duckdb/node-api';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { dayOf, minuteOf, monthOf, redisKeys } from '../../data/schema/redis-keys.ts';
import { listen } from '../listen.ts';
import { bareMcp } from './mcp-floor.ts';

export interface FixedAnswer {
  path: string;
  status: number;
  headers: Record<string, string>;
  /** Base64 of the encoded body. */
  body: string;
  price: number;
  rows: number;
}

/** Bytes of a file from `from` up to, not including, `to`. */
export interface FileAnswer extends Pick<FixedAnswer, 'path' | 'status' | 'headers'> {
  file: string;
  from: number;
  to: number;
}

export interface ParquetQuery {
  file: string;
  countries: string[];
  from: number;
  to: number;
}

export type FloorQuestion =
  | { kind: 'http'; answers: FixedAnswer[] }
  | { kind: 'fastify'; answers: FixedAnswer[]; socket: string; account_id: string; key_id: string }
  | { kind: 'file'; answer: FileAnswer }
  | { kind: 'duckdb'; queries: ParquetQuery[] }
  | { kind: 'mcp'; result: CallToolResult };

const ADMIT = join(import.meta.dirname, '../../gateway/api/metering/lua/admit.lua');
const SLICE_SQL = `
  SELECT iso3, year, value, ci_lo, ci_hi, rank, projected FROM read_parquet($file)
  WHERE list_contains($countries, iso3) AND year BETWEEN $from AND $to ORDER BY iso3, year`;
const NO_LIMIT = 1_000_000_000;

type Ready = FixedAnswer & { bytes: Buffer };
const byPath = (answers: FixedAnswer[]): Map<string, Ready> =>
  new Map(answers.map((answer) => [answer.path, { ...answer, bytes: Buffer.from(answer.body, 'base64') }]));

const portOf = async (server: Server): Promise<number> => (await listen(server)).port;

function bareHttp(answers: FixedAnswer[]): Promise<number> {
  const known = byPath(answers);
  const listener: RequestListener = (request, response) => {
    const answer = known.get(request.url ?? '');
    response.writeHead(answer?.status ?? 404, answer?.headers);
    response.end(answer?.bytes);
  };
  return portOf(createServer(listener));
}

function bareFile({ path, status, headers, file, from, to }: FileAnswer): Promise<number> {
  const listener: RequestListener = (request, response) => {
    response.writeHead(request.url === path ? status : 404, headers);
    createReadStream(file, { start: from, end: to - 1 }).pipe(response);
  };
  return portOf(createServer(listener));
}

async function bareFastify(question: FloorQuestion & { kind: 'fastify' }): Promise<number> {
  const redis = new Redis({ path: question.socket, enableAutoPipelining: true });
  redis.defineCommand('admit', { numberOfKeys: 7, lua: readFileSync(ADMIT, 'utf8') });
  const admit = (redis as unknown as { admit(...words: (string | number)[]): Promise<unknown[]> }).admit.bind(
    redis,
  );
  const { account_id: account, key_id: key } = question;
  let calls = 0;
  const limits = Array.from({ length: 6 }, () => NO_LIMIT);

  const app = fastify();
  for (const answer of byPath(question.answers).values()) {
    app.get(answer.path.split('?')[0] ?? '/', async (_request, reply) => {
      const now = Date.now();
      const [day, minute] = [dayOf(now), minuteOf(now)];
      const outcome = await admit(
        redisKeys.account(account),
        redisKeys.keys(account),
        redisKeys.minute(account, minute),
        redisKeys.day(account, day),
        redisKeys.ledger(account),
        redisKeys.usage(account, day),
        redisKeys.debits(account, minute),
        ...[
          now,
          key,
          `floor-${process.pid}-${calls++}`,
          answer.price,
          answer.rows,
          '0',
          '/floor',
          'floor',
          ...limits,
          monthOf(now),
          '',
        ],
      );
      if (outcome[0] !== 'admitted') return reply.code(500).send();
      return reply.code(answer.status).headers(answer.headers).send(answer.bytes);
    });
  }
  return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
}

/** Milliseconds of each query, after a warm-up. */
async function bareDuckDb(queries: ParquetQuery[]): Promise<number[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const statement = await connection.prepare(SLICE_SQL);
  const times: number[] = [];
  for (const { file, countries, from, to } of [...queries.slice(0, 1), ...queries]) {
    const started = performance.now();
    statement.bind({ file, from, to, countries: listValue(countries) });
    const reader = await statement.runAndReadAll();
    JSON.stringify(reader.getRowObjectsJS());
    times.push(performance.now() - started);
  }
  connection.closeSync();
  return times.slice(1);
}

process.on('message', async (question: FloorQuestion) => {
  if (question.kind === 'http') process.send?.(await bareHttp(question.answers));
  else if (question.kind === 'file') process.send?.(await bareFile(question.answer));
  else if (question.kind === 'mcp') process.send?.(await portOf(bareMcp(question.result)));
  else if (question.kind === 'fastify') process.send?.(await bareFastify(question));
  else process.send?.(await bareDuckDb(question.queries));
});
process.on('disconnect', () => process.exit());
