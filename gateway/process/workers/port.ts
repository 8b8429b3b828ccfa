/**
 * A port for all workers. The system itself deals out connections among those who share a port (`SO_REUSEPORT`), so
 * that no process stands in the path. Measured against the ways of `node:cluster` on two cores (keep-alive connections
 * of the two workers, new connections a second): shared by the system 15 to 17, 9,000; one listening socket for
 * both 25 to 7, 14,000; dealt out by the primary 29 to 3, 3,400.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Settings } from '../../../data/runtime/settings.ts';

/** The workers of a primary that was killed let go of the port within moments. */
const FREE_WITHIN_MS = 1_000;
const AGAIN_AFTER_MS = 50;

export interface SharedPort {
  port: number;
  /** False where the system cannot deal out connections: then workers share one listening socket. */
  reusePort: boolean;
}

/**
 * Finds a port that nobody listens on, not even somebody who would share it.
 * @throws what listening does, when the port is in use.
 */
export async function claimPort({ PORT, HOST }: Pick<Settings, 'PORT' | 'HOST'>): Promise<SharedPort> {
  const port = await freePort(PORT, HOST);
  return { port, reusePort: await canShare(port, HOST) };
}

async function freePort(port: number, host: string): Promise<number> {
  const deadline_ms = performance.now() + FREE_WITHIN_MS;
  for (;;) {
    try {
      return await listenOnce({ port, host });
    } catch (error) {
      const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!inUse || performance.now() > deadline_ms) throw error;
    }
    await pause(AGAIN_AFTER_MS);
  }
}

const canShare = (port: number, host: string): Promise<boolean> =>
  listenOnce({ port, host, reusePort: true }).then(
    () => true,
    () => false,
  );

async function listenOnce(options: { port: number; host: string; reusePort?: boolean }): Promise<number> {
  const server = createServer().listen(options);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
