/**
 * Connection attacks: slow senders, slow readers, thousands of idle connections, pipelining, half-closed connections and
 * aborted downloads.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fetchWhole } from '../bench/http-client.ts';
import type { Customer } from './deployment.ts';
import { isFlat, type MeasuredGateway, settledHandles } from './measured-gateway.ts';
import type { Reporter } from './table.ts';

const EVERY_MS = 1_000;
/** Headers time out after 15 s, requests after 30 s; the gateway checks every 3 s. */
const SLOW_ENDED_WITHIN_MS = 40_000;
const SLOW_READERS = 100;
const ASKED_EACH = 5;
const ABORTED = 1_000;
const ABORTED_AT_ONCE = 50;
const PIPELINED = 300;
const CALLS = 50;
const CALL_WITHIN_MS = 5_000;
const OPENED_AT_ONCE = 500;
/** Memory limit for an idle connection. */
const IDLE_KB_MOST = 40;
const GROWTH_MB = 64;

export interface ConnectionScale {
  idle_connections: number;
  /** Callers who send one byte a second. Their timeout takes half a minute; 0 skips this. */
  drippers: number;
}

interface Target {
  port: number;
  customer: Customer;
}

export async function connectionFaults(
  report: Reporter,
  gateway: MeasuredGateway,
  customer: Customer,
  { idle_connections, drippers }: ConnectionScale,
): Promise<void> {
  const target = { port: gateway.port, customer };
  const before = await gateway.handles();
  if (drippers > 0) await slowSenders(report, target, drippers);
  await slowReaders(report, target, gateway);
  await abortedDownloads(report, target, gateway);
  await idle(report, target, gateway, idle_connections);
  await oddCallers(report, target);
  const after = await settledHandles(gateway, before);
  report(
    'After all these attacks no file handle is left open',
    `${before} before, ${after} after`,
    isFlat(before, after),
  );
}

const LARGE = '/v1/data?indicator=beta.long_series';
const authorization = ({ customer }: Target) => ({ authorization: `Bearer ${customer.key}` });
const head = (target: Target, path: string, id: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\nAuthorization: Bearer ${target.customer.key}\r\n`;

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

const openMany = (port: number, count: number): Promise<Socket[]> =>
  Promise.all(Array.from({ length: count }, () => open(port)));

/** Sequential ordinary calls: how many succeeded, and the slowest. */
async function ordinaryCalls(target: Target): Promise<{ good: number; slowest_ms: number }> {
  let good = 0;
  let slowest_ms = 0;
  for (let call = 0; call < CALLS; call++) {
    const began_ms = performance.now();
    const answer = await Promise.race([
      fetchWhole(target.port, { path: '/v1/ping', headers: authorization(target) }),
      pause(CALL_WITHIN_MS, null),
    ]);
    if (answer?.status === 200) good++;
    slowest_ms = Math.max(slowest_ms, performance.now() - began_ms);
  }
  return { good, slowest_ms };
}

const saidOf = ({ good, slowest_ms }: { good: number; slowest_ms: number }): string =>
  `${good} of ${CALLS} others answered, the slowest in ${Math.round(slowest_ms)} ms`;

/** One byte a second: half send an endless header, half an unexpected body. */
async function slowSenders(report: Reporter, target: Target, count: number): Promise<void> {
  const sockets = await openMany(target.port, count);
  let ended = 0;
  for (const [number, socket] of sockets.entries()) {
    socket.resume();
    socket.once('end', () => socket.destroy());
    socket.once('close', () => {
      ended++;
    });
    const isHeader = number % 2 === 0;
    const more = isHeader ? 'X-Slow: ' : 'Content-Length: 100000\r\n\r\n';
    socket.write(head(target, '/v1/ping', `slow-${number}`) + more);
  }
  const began_ms = performance.now();
  const dripping = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write('a');
  }, EVERY_MS);
  const others = await ordinaryCalls(target);
  while (ended < count && performance.now() - began_ms < SLOW_ENDED_WITHIN_MS) await pause(100);
  const took_s = (performance.now() - began_ms) / 1000;
  clearInterval(dripping);
  for (const socket of sockets) socket.destroy();
  report(
    'Clients that send headers or a body one byte a second are disconnected, and others are served meanwhile',
    `${ended} of ${count} cut off within ${took_s.toFixed(0)} s; ${saidOf(others)}`,
    ended === count && others.good === CALLS,
  );
}

/** Request large responses, several per write, and read nothing. */
async function slowReaders(report: Reporter, target: Target, gateway: MeasuredGateway): Promise<void> {
  const before = (await gateway.collect()).resident;
  const sockets = await openMany(target.port, SLOW_READERS);
  for (const [number, socket] of sockets.entries()) {
    socket.pause();
    socket.write(`${head(target, LARGE, `reader-${number}`)}\r\n`.repeat(ASKED_EACH));
  }
  const others = await ordinaryCalls(target);
  const held = (await gateway.collect()).resident;
  for (const socket of sockets) socket.destroy();
  report(
    'Clients that request large answers and read nothing hold little memory, and others are served',
    `${SLOW_READERS} readers of ${ASKED_EACH} answers each: ${Math.round(before)} MB before, ${Math.round(held)} MB meanwhile; ${saidOf(others)}`,
    !(held > before + 2 * GROWTH_MB) && others.good === CALLS,
  );
}

async function abortedDownloads(report: Reporter, target: Target, gateway: MeasuredGateway): Promise<void> {
  // The first round warms up; a leak grows in the second.
  await breakOff(target);
  const [handlesBefore, before] = [await gateway.handles(), (await gateway.collect()).resident];
  await breakOff(target);
  const handlesAfter = await settledHandles(gateway, handlesBefore);
  const after = (await gateway.collect()).resident;
  report(
    'Aborted downloads leak nothing',
    `${ABORTED.toLocaleString('en')} broken off: ${Math.round(before)} MB before, ${Math.round(after)} MB after; ${handlesBefore} handles before, ${handlesAfter} after`,
    isFlat(handlesBefore, handlesAfter) && !(after > before + GROWTH_MB),
  );
}

async function breakOff(target: Target): Promise<void> {
  for (let done = 0; done < ABORTED; done += ABORTED_AT_ONCE) {
    const sockets = await openMany(target.port, ABORTED_AT_ONCE);
    await Promise.all(
      sockets.map(async (socket, number) => {
        socket.write(`${head(target, LARGE, `abort-${number}`)}Accept-Encoding: gzip\r\n\r\n`);
        // Half of them abort before the first byte.
        if (number % 2 === 0) await once(socket, 'readable');
        socket.destroy();
      }),
    );
  }
}

async function idle(
  report: Reporter,
  target: Target,
  gateway: MeasuredGateway,
  count: number,
): Promise<void> {
  const before = (await gateway.collect()).resident;
  const sockets: Socket[] = [];
  while (sockets.length < count) sockets.push(...(await openMany(target.port, OPENED_AT_ONCE)));
  const others = await ordinaryCalls(target);
  const held = (await gateway.collect()).resident;
  for (const socket of sockets) socket.destroy();
  const each_kb = Math.max(0, ((held - before) * 1024) / count);
  report(
    `${count.toLocaleString('en')} connections that say nothing are borne, and others are served`,
    `${saidOf(others)}; ${each_kb.toFixed(1)} KB of memory a connection`,
    others.good === CALLS && !(each_kb > IDLE_KB_MOST),
  );
}

/** Reads until the other side closes. */
async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
  });
  const over = Promise.race([once(socket, 'end'), once(socket, 'close'), pause(CALL_WITHIN_MS)]);
  await over.catch(() => {});
  socket.destroy();
  return text;
}

async function oddCallers(report: Reporter, target: Target): Promise<void> {
  const paths = ['/v1/countries/KEN', '/v1/topics', LARGE, '/v1/ping', '/v1/countries/ZZZ'];
  const requests = Array.from(
    { length: PIPELINED },
    (_, at) => `${head(target, paths[at % paths.length] ?? '', `in-turn-${at}`)}\r\n`,
  );
  const pipelined = await open(target.port);
  const last = `${head(target, '/v1/ping', 'the-last')}Connection: close\r\n\r\n`;
  pipelined.write(requests.join('') + last);
  const ids = [...(await readAll(pipelined)).matchAll(/^x-request-id: in-turn-(\d+)/gim)].map(([, id]) =>
    Number(id),
  );
  const inTurn = ids.filter((id, at) => id === at).length;
  report(
    'Pipelined requests are answered in order',
    `${inTurn} of ${PIPELINED} answers in turn`,
    inTurn === PIPELINED && ids.length === PIPELINED,
  );

  const half = await open(target.port);
  half.end(`${head(target, LARGE, 'half-closed')}\r\n`);
  const answer = await readAll(half);
  const expected = await fetchWhole(target.port, { path: LARGE, headers: authorization(target) });
  const isWhole = answer.slice(answer.indexOf('\r\n\r\n') + 4) === expected.body.toString('latin1');
  const big = await open(target.port);
  big.write(`${head(target, '/v1/ping', 'big')}X-Big: ${'a'.repeat(200_000)}\r\n\r\n`);
  const refusal = await readAll(big);
  report(
    'A half-closed client gets its whole answer; huge headers get 431',
    `${isWhole ? 'the whole answer' : 'not the whole answer'}; ${refusal.slice(9, 12)}`,
    isWhole && /^HTTP\/1\.1 431 .*"header_too_large"/s.test(refusal),
  );
}
