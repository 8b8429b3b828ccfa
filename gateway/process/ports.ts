/** Ports to listen on, tried before a process listens for good. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** After a primary was killed, its workers release the port within this time. */
const RELEASE_TIMEOUT_MS = 1_000;
const RETRY_EVERY_MS = 50;

/** The port, or a free one for 0. Rejects when another process listens on it, even one that would share it. */
export async function findPort(port: number, host: string): Promise<number> {
  const deadline_ms = performance.now() + RELEASE_TIMEOUT_MS;
  for (;;) {
    try {
      return await listenOnce({ port, host });
    } catch (error) {
      const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isInUse || performance.now() > deadline_ms) throw error;
    }
    await delay(RETRY_EVERY_MS);
  }
}

/** False where the system lacks SO_REUSEPORT; workers then share one listening socket. */
export const canReusePort = (port: number, host: string): Promise<boolean> =>
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
