/**
 * A closed-loop load generator, run as a process: it keeps a fixed number of connections busy and counts responses.
 *
 * It shares the cores with the server, so it does less than a general HTTP client: it reads only status, Content-Length
 * and the end of a chunked body. A response with an unexpected status is an error, and a row with errors is void.
 */
import { connect, type Socket } from 'node:net';
import { ResponseReader } from './response-reader.ts';

export interface LoadJob {
  port: number;
  /** Complete request texts, sent in turn. */
  requests: string[];
  connections: number;
  duration_ms: number;
  /** Sends each request once and ends with the last response. */
  once?: boolean;
  /** Expected status; default 200. */
  status?: number;
}

export interface LoadResult {
  answers: number;
  errors: number;
  duration_ms: number;
  latency_p50_ms: number;
  latency_p99_ms: number;
}

function run(job: LoadJob): Promise<LoadResult> {
  const requests = job.requests.map((request) => Buffer.from(request, 'latin1'));
  const expected = job.status ?? 200;
  const latencies: number[] = [];
  const sockets: Socket[] = [];
  const started = performance.now();
  const deadline = started + job.duration_ms;
  let errors = 0;
  let turn = 0;
  let isOver = false;
  let finish: () => void = () => {};

  const keepBusy = (socket: Socket): void => {
    const reader = new ResponseReader();
    let sent = 0;
    const send = (): void => {
      if (job.once && turn === requests.length) {
        finish();
        return;
      }
      sent = performance.now();
      socket.write(requests[turn++ % requests.length] ?? '');
    };
    socket.on('connect', send);
    socket.on('data', (bytes) => {
      if (!reader.push(bytes)) return;
      const now = performance.now();
      if (now >= deadline) return;
      if (reader.status === expected) latencies.push(now - sent);
      else errors += 1;
      reader.reset();
      send();
    });
    socket.on('error', () => {}); // 'close' follows and counts
    socket.on('close', () => {
      if (!isOver && performance.now() < deadline) errors += 1;
    });
  };

  for (let i = 0; i < job.connections; i++) {
    const socket = connect({ port: job.port, host: '127.0.0.1', noDelay: true });
    sockets.push(socket);
    keepBusy(socket);
  }
  return new Promise((resolve) => {
    finish = () => {
      isOver = true;
      clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
      const sorted = Float64Array.from(latencies).sort();
      resolve({
        answers: sorted.length,
        errors,
        duration_ms: performance.now() - started,
        latency_p50_ms: sorted[Math.floor(sorted.length * 0.5)] ?? 0,
        latency_p99_ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      });
    };
    const timer = setTimeout(() => finish(), job.duration_ms);
  });
}

process.on('message', async (job: LoadJob) => {
  process.send?.(await run(job));
});
