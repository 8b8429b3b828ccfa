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
  return [
    {
      name: 'gateway: start to ready',
      measured: { unit: 's', rounds: ready },
      goal: { at: 'most', bound: 2 },
    },
    {
      name: 'gateway: resident memory when ready',
      measured: { unit: 'MB', rounds: memory },
      goal: { at: 'most', bound: 300 },
    },
  ];
}
