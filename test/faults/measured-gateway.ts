/**
 * A gateway whose garbage is collected on demand through Node's inspector. Without a collection resident memory varies by
 * 100 MB with the load of the machine; after one it varies by less than 1 MB.
 */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { memoryLine } from '../bench/process-stats.ts';
import type { Gateway } from '../bench/processes.ts';
import { freePort } from '../free-ports.ts';
import type { Deployment } from './deployment.ts';

const MB = 2 ** 20;
const HANDLES_GROWTH = 32;

/** In MB, after a collection. */
export interface MemoryUse {
  /** Reachable objects and buffers. */
  alive: number;
  /** Resident memory of the process; NaN without /proc, which passes every limit. */
  resident: number;
}

export interface MeasuredGateway extends Gateway {
  collect(): Promise<MemoryUse>;
}

export async function startMeasuredGateway(deployment: Deployment): Promise<MeasuredGateway> {
  const port = await freePort();
  const gateway = await deployment.gateway({ NODE_OPTIONS: `--inspect=127.0.0.1:${port}` });
  // Without its private Redis, which grows with the ledger.
  const memory = () => memoryLine(gateway.pid, 'VmRSS');
  const collect = async (): Promise<MemoryUse> => {
    await ask(port, 'HeapProfiler.collectGarbage');
    const resident = (await memory()) ?? Number.NaN;
    const { usedSize = 0, backingStorageSize = 0 } = await ask(port, 'Runtime.getHeapUsage');
    return { alive: (usedSize + backingStorageSize) / MB, resident };
  };
  return { ...gateway, memory, collect };
}

/** Calls a method of the inspector protocol that returns numbers. */
async function ask(port: number, method: string): Promise<Partial<Record<string, number>>> {
  const list = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await list.json()) as { webSocketDebuggerUrl: string }[];
  if (target === undefined) throw new Error('the inspector knows of no process');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, 'open');
  const answered = once(socket, 'message');
  socket.send(JSON.stringify({ id: 1, method }));
  const [{ data }] = (await answered) as [{ data: string }];
  socket.close();
  return (JSON.parse(data) as { result: Record<string, number> }).result;
}

export const isFlat = (before: number | null, after: number | null): boolean =>
  before === null || after === null || after <= before + HANDLES_GROWTH;

/** File handles once the gateway has noticed closed connections, or after some seconds. */
export async function settledHandles(gateway: Gateway, before: number | null): Promise<number | null> {
  let after = await gateway.handles();
  for (let look = 0; look < 10 && !isFlat(before, after); look++) {
    await pause(500);
    after = await gateway.handles();
  }
  return after;
}
