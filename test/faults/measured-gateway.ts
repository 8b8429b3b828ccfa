/**
 * A gateway that collects its garbage when it is asked, through Node's own inspector. How much is resident without that
 * depends on when the collector last ran and on how much room it gave to young objects, and changes by a hundred
 * megabytes when something else keeps the machine busy for a moment. What is left after it changes by less than one.
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
export interface Left {
  /** What the program itself still reaches, buffers included. */
  alive: number;
  /** What the process holds, its native parts included; NaN where /proc does not exist, which breaks no bound. */
  resident: number;
}

export interface MeasuredGateway extends Gateway {
  collect(): Promise<Left>;
}

export async function startMeasuredGateway(deployment: Deployment): Promise<MeasuredGateway> {
  const port = await freePort();
  const gateway = await deployment.gateway({ NODE_OPTIONS: `--inspect=127.0.0.1:${port}` });
  // Its Redis keeps every entry of the ledger, and so grows: the gateway's memory is that of its own process.
  const memory = () => memoryLine(gateway.pid, 'VmRSS');
  const collect = async (): Promise<Left> => {
    await ask(port, 'HeapProfiler.collectGarbage');
    const resident = (await memory()) ?? Number.NaN;
    const { usedSize = 0, backingStorageSize = 0 } = await ask(port, 'Runtime.getHeapUsage');
    return { alive: (usedSize + backingStorageSize) / MB, resident };
  };
  return { ...gateway, memory, collect };
}

/** The answer to one question of the inspector's protocol; all that are asked here are answered with numbers. */
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

/** The handles once the gateway has seen that callers have gone, or after some seconds. */
export async function settledHandles(gateway: Gateway, before: number | null): Promise<number | null> {
  let after = await gateway.handles();
  for (let look = 0; look < 10 && !isFlat(before, after); look++) {
    await pause(500);
    after = await gateway.handles();
  }
  return after;
}
