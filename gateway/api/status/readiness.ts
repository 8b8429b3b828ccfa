/** Whether a gateway can answer every call, and the record of the minutes in which it could. */
import type { Logger } from 'pino';
import type { RedisMetering } from '../metering/metering.ts';
import type { Snapshots } from '../snapshot/snapshot.ts';
import type { AvailabilityLog } from './availability.ts';

export interface ReadinessParts {
  snapshots: Pick<Snapshots, 'current' | 'fault'>;
  metering: Pick<RedisMetering, 'fault'>;
}

/** It can when the files of a snapshot are there and Redis takes writes. */
export async function readiness({ snapshots, metering }: ReadinessParts) {
  const [snapshotFault, redisFault] = await Promise.all([snapshots.fault(), metering.fault()]);
  return {
    /** Id of the served snapshot. */
    snapshot: snapshots.current()?.id ?? null,
    takesWrites: redisFault === null,
    /** Why not every call can be answered, a sentence each; empty when all can. */
    causes: [snapshotFault, redisFault].filter((fault) => fault !== null),
  };
}

/** Several looks a minute: one that comes late misses no minute. */
const LOOK_EVERY_MS = 20_000;

export interface MonitorParts extends ReadinessParts {
  availability: AvailabilityLog;
  log: Logger;
}

/** Looks once. Never rejects: what Redis does not take is a minute that is not available. */
export async function recordReadiness({ availability, log, ...parts }: MonitorParts): Promise<void> {
  try {
    const { causes } = await readiness(parts);
    if (causes.length === 0) await availability.record();
  } catch (error) {
    log.debug({ err: error }, 'availability of this minute is not recorded');
  }
}

/** Records the minutes in which this gateway is ready. One process of a gateway does it. @returns ends it */
export function monitorReadiness(parts: MonitorParts): () => Promise<void> {
  let looking = recordReadiness(parts);
  const timer = setInterval(() => {
    looking = looking.then(() => recordReadiness(parts));
  }, LOOK_EVERY_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await looking;
  };
}
