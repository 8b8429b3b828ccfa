/**
 * Ports that a test may hand to a program. They lie below the range from which systems pick ports themselves, so no
 * connection or server of another test takes one before the program listens on it.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

const LOWEST = 10_000;
const COUNT = 12_000;
/** The bus of a Redis Cluster node listens so far above its port. */
const CLUSTER_BUS = 10_000;

export const freePort = async (): Promise<number> => (await freePorts(1))[0] ?? 0;

/** @returns different ports; of each, the cluster bus is free too. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = LOWEST + Math.floor(Math.random() * COUNT);
    if ((await isFree(port)) && (await isFree(port + CLUSTER_BUS))) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
