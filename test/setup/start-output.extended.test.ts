/** What `npm start` prints from an empty directory: at most 25 lines when all is well. */
import { expect, test } from 'vitest';
import { useRedis } from '../redis.ts';
import { lineCount, StartDirectory } from './npm-start.ts';

const MOST_LINES = 25;
const ON_A_TERMINAL = ['script', '--quiet', '--return', '--flush', '--command', 'npm start', '/dev/null'];
/** Long enough for a publication on a machine that has much else to do. */
const SERVES_WITHIN_MS = 500_000;

const redis = await useRedis();

test.each([
  ['a terminal', 'its private Redis'],
  ['a terminal', 'a given Redis'],
  ['a pipe', 'its private Redis'],
  ['a pipe', 'a given Redis'],
])('to %s, with %s', async (target, server) => {
  await using directory = await StartDirectory.create();
  const settings = { REDIS_URL: server === 'a given Redis' ? redis.url : '' };
  const start = directory.start(settings, target === 'a terminal' ? ON_A_TERMINAL : undefined);
  expect(await start.servesWithin(SERVES_WITHIN_MS), start.output()).toBe(true);
  expect(start.output()).toContain('publishing the starter data');
  expect(lineCount(start.output()), start.output()).toBeLessThanOrEqual(MOST_LINES);
});
