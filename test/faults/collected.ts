/**
 * A gateway that collects its garbage when it is asked, through Node's own inspector. How much is resident without that
 * depends on when the collector last ran and on how much room it gave to young objects, and changes by a hundred
 * megabytes when something else keeps the machine busy for a moment. What is left after it changes by less than one.
 */
import { once } from 'node:events';
import { memoryLine } from '../bench/proc.ts';
import { freePort, type Gateway } from '../bench/processes.ts';
import type { Site } from './site.ts';

const MB = 2 ** 20;

/** In MB, after a collection. */
export interface Left {
  /** What the program itself still reaches, buffers included. */
  alive: number;
  /** What the process holds, its native parts included; NaN where /proc does not exist, which breaks no bound. */
  resident: number;
}

export interface CollectedGateway extends Gateway {
  collect(): Promise<Left>;
}

export async function startCollected(site: Site): Promise<CollectedGateway> {
  const port = await freePort();
  const gateway = await site.gateway({ NODE_OPTIONS: `--inspect=127.0.0.1:${port}` });
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
