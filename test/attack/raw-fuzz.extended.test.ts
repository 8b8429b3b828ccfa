/**
 * Fuzzes a gateway process with raw bytes, all kinds at once: whatever is sent is answered, and no turn of its event loop
 * takes longer than 100 ms. `FUZZ_SECONDS=600` fuzzes for ten minutes.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stopAfterTests } from '../after-tests.ts';
import { fuzzSeconds } from '../environment.ts';
import { TURN_MAX_MS } from '../event-loop-watchdog.ts';
import { FuzzedService } from './fuzzed-service.ts';
import { RAW_REQUESTS, type RawRequest } from './raw-requests.ts';

const FUZZ_MS = fuzzSeconds * 1_000;
/** Ends what hangs. */
const SPARE_MS = 180_000;
const LEAST_CASES = 10;

const service = await stopAfterTests(FuzzedService.start());

/** @returns what is wrong with the answers to a request; null when nothing is. */
function wrongWith(request: RawRequest, text: string): string | null {
  if (text === '') return request.join('').trim() === '' ? null : 'no answer';
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
  if (!text.startsWith('HTTP/1.1 ')) return 'no HTTP';
  return statuses.some((status) => status >= 500 && status !== 503) ? 'a fault' : null;
}

describe.concurrent('whatever is sent is answered', () => {
  test.each(RAW_REQUESTS)(
    '%s',
    async (_kind, requestsOf) => {
      let cases = 0;
      const property = fc.asyncProperty(requestsOf(service.access), async (request) => {
        cases += 1;
        const text = await service.send(request);
        const wrong = wrongWith(request, text);
        if (wrong !== null) throw new Error(`${wrong}: ${text.slice(0, 300)}`);
      });
      await fc.assert(property, { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: FUZZ_MS });
      expect(cases).toBeGreaterThan(LEAST_CASES);
    },
    FUZZ_MS + SPARE_MS,
  );
});

test('no turn of the event loop takes longer than it may', async () => {
  const turn = await service.longestTurn();
  expect(turn?.cpu_ms ?? 0, JSON.stringify(turn)).toBeLessThan(TURN_MAX_MS);
});
