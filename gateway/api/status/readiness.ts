/** Whether a gateway can answer every call: the files of a snapshot are there and Redis takes writes. */
import type { Metering } from '../metering/metering.ts';
import type { Snapshots } from '../snapshot/editions/store.ts';

export interface ReadinessParts {
  snapshots: Pick<Snapshots, 'current' | 'fault'>;
  metering: Pick<Metering, 'fault'>;
}

export interface Readiness {
  /** Id of the served snapshot. */
  snapshot: string | null;
  takesWrites: boolean;
  /** Why not every call can be answered, a sentence each; empty when all can. */
  causes: string[];
}

export async function readiness({ snapshots, metering }: ReadinessParts): Promise<Readiness> {
  const [snapshotFault, redisFault] = await Promise.all([snapshots.fault(), metering.fault()]);
  return {
    snapshot: snapshots.current()?.id ?? null,
    takesWrites: redisFault === null,
    causes: [snapshotFault, redisFault].filter((fault) => fault !== null),
  };
}
