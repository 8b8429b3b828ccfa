/**
 * Bounds the open connections of one process, so that it never runs out of file handles and its own files and Redis
 * stay within reach. When all are taken, those that are open without a request under way are closed, which ends a
 * hoard of idle ones at once; clients that reuse connections are used to that.
 */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Logger } from 'pino';

const CONNECTIONS_MOST = 20_000;
/** Handles for files, Redis, DuckDB and what else a process opens. */
const KEPT_FREE = 512;
const CONNECTIONS_LEAST = 64;
const CLOSE_IDLE_EVERY_MS = 1_000;

/** How many file handles this process may have; Node has raised it as far as the system lets it. */
function handlesAllowed(): number {
  try {
    const allowed = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return Number(allowed ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** @param most default: what the system allows, within reason. */
export function limitConnections(
  server: Server,
  log: Logger,
  most = Math.max(CONNECTIONS_LEAST, Math.min(CONNECTIONS_MOST, handlesAllowed() - KEPT_FREE)),
): void {
  server.maxConnections = most;
  let closed_at_ms = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    if (performance.now() - closed_at_ms < CLOSE_IDLE_EVERY_MS) return;
    closed_at_ms = performance.now();
    server.closeIdleConnections();
    log.warn({ most }, 'all connections were taken: idle ones are closed');
  });
}
