/**
 * Bounds the open connections of a process, so that it keeps file handles for its own files and Redis. At the bound, idle
 * connections are closed; clients that reuse connections expect that.
 */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Logger } from 'pino';

const CONNECTIONS_MAX = 20_000;
/** File handles for files, Redis and DuckDB. */
const RESERVED_HANDLES = 512;
const CONNECTIONS_MIN = 64;
const CLOSE_IDLE_EVERY_MS = 1_000;

/** The process's limit of file handles; Node raises it to the hard limit. */
function maxFileHandles(): number {
  try {
    const allowed = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return Number(allowed ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** @param max default: what the system allows, within bounds. */
export function limitConnections(
  server: Server,
  log: Logger,
  max = Math.max(CONNECTIONS_MIN, Math.min(CONNECTIONS_MAX, maxFileHandles() - RESERVED_HANDLES)),
): void {
  server.maxConnections = max;
  let closed_at_ms = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    if (performance.now() - closed_at_ms < CLOSE_IDLE_EVERY_MS) return;
    closed_at_ms = performance.now();
    server.closeIdleConnections();
    log.warn({ max }, 'connection limit reached: closing idle connections');
  });
}
