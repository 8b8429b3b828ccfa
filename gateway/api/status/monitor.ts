/** Records the minutes in which this gateway is ready. One process of a gateway does it. */
import type { Logger } from 'pino';
import type { AvailabilityLog } from './availability.ts';
import { type ReadinessParts, readiness } from './readiness.ts';

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

/** @returns ends it */
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
