/** Part of the bench: the start of the gateway, and its memory when it is ready. */
import { startGateway } from './processes.ts';
import type { Row } from './report.ts';
import type { Session } from './session.ts';

const STARTS = 5;

/** Several starts. The first counts too, since files are in the page cache. */
export async function startRows(session: Session): Promise<Row[]> {
  await session.snapshot();
  session.say('starting the gateway');
  const ready: number[] = [];
  const memory: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    await using gateway = await startGateway(session.settings);
    ready.push(gateway.ready_ms / 1000);
    memory.push((await gateway.memory()) ?? Number.NaN);
  }
  const row = (name: string, unit: 's' | 'MB', rounds: number[], bound: number): Row => ({
    name: `gateway: ${name}`,
    measured: { unit, rounds },
    goal: { at: 'most', bound },
  });
  return [row('start to ready', 's', ready, 2), row('resident memory when ready', 'MB', memory, 300)];
}
