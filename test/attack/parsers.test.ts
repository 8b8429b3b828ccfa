/**
 * Whatever is parsed before a rate limit takes time in proportion to its size. Measured as CPU time of the thread that
 * serves and asks, the median of several runs, so that a busy machine fails nothing.
 */
import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { median } from 'd3-array';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { effectiveUrl } from '../../gateway/api/http/api/http-call.ts';
import { chooseEncoding } from '../../gateway/api/http/api/negotiation.ts';
import { parameterReader, parseQueryString } from '../../gateway/api/operations/parameters/parameters.ts';
import { hiddenTokens } from '../admin/harness.ts';
import { parserTable } from '../environment.ts';
import { EventLoopWatchdog, TURN_MAX_MS, threadCpuMs } from '../event-loop-watchdog.ts';
import { stripeSettings, useFakeStripe } from '../gateway/commerce/pages/fake-stripe.ts';
import { useAccountPages } from '../gateway/commerce/pages/harness.ts';
import { PARSER_INPUTS, type ParserInput } from './parser-inputs.ts';
import { exchange } from './smuggling.ts';

const MAX_MS_PER_KB = 1;
/** Between an input and one of a quarter of its size: 4 for linear parsers, 16 for quadratic ones. */
const MAX_RATIO = 8;
/** What a request takes whatever its size, and how exact the clock is. */
const FLOOR_MS = 0.5;
const RUNS = 5;
const CALL_RUNS = 12;
const REMEMBERED_CODINGS = 256;

const measured = new Map<ParserInput, number>();

const stripe = await useFakeStripe();
const wide = { ANONYMOUS_PER_MINUTE: '100000', PAGES_PER_MINUTE: '100000' };
const harness = await useAccountPages({ settings: { ...stripeSettings(stripe), ...wide } });
const port = Number(new URL(harness.url).port);
const { key } = await harness.makeKey(await harness.customer());
const visitor = harness.visitor();
const { _csrf: csrf = '' } = hiddenTokens(await visitor.get('/account/sign-up'));
const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
const access = { key, cookie, csrf };
// The first are remembered; none is after these.
for (let number = 0; number < REMEMBERED_CODINGS; number++) chooseEncoding(`x${number}`);
afterAll(async () => {
  if (parserTable !== null) await writeFile(parserTable, tableOf(measured));
});

/**
 * The clock of the thread is exact once the thread has waited; while it runs, it advances in ticks of the system. Where all cores
 * are busy, a tick may still be missing, so the least of several differences can be nothing: their median is taken.
 */
async function exactCpuMs(): Promise<number> {
  await pause(1);
  return threadCpuMs();
}

/** Median CPU time of one request of each size in milliseconds, measured in turn, as what V8 does late would fall on one. */
async function costsOf({ request, status }: ParserInput, sizes: readonly number[]): Promise<number[]> {
  const inputs = sizes.map((size) => ({ bytes: request(size, access), taken_ms: [] as number[] }));
  for (let run = 0; run < RUNS; run++)
    for (const { bytes, taken_ms } of inputs) {
      const before_ms = await exactCpuMs();
      expect((await exchange(port, bytes)).slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
      taken_ms.push((await exactCpuMs()) - before_ms);
    }
  return inputs.map(({ taken_ms }) => median(taken_ms) ?? Number.NaN);
}

test.each(PARSER_INPUTS)('$parser: $input', async (input) => {
  const { size } = input;
  // Compiles what is measured.
  await exchange(port, input.request(size / 4, access));
  using watchdog = new EventLoopWatchdog();
  const [quarter_ms = Number.NaN, whole_ms = Number.NaN] = await costsOf(input, [size / 4, size]);
  measured.set(input, whole_ms);
  expect(whole_ms / (size / 1_024), 'milliseconds a KB').toBeLessThan(MAX_MS_PER_KB);
  expect(whole_ms / Math.max(quarter_ms, FLOOR_MS), 'ratio').toBeLessThan(MAX_RATIO);
  expect(watchdog.longest_ms).toBeLessThan(TURN_MAX_MS);
});

test('a form with more than a thousand fields is 400, which says so', async () => {
  const visitor = harness.visitor();
  const fields = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`f${at}`, '']));
  expect((await visitor.post('/account/sign-in', fields)).status).toBe(403);
  const refused = await visitor.post('/account/sign-in', { ...fields, one: 'more' });
  expect(refused.status).toBe(400);
  expect(refused.html).toContain('A form may have at most 1000 fields.');
});

/** Median CPU time of each function in milliseconds, measured in turn: V8 compiles and collects late where all cores are busy. */
async function cpuOf(...calls: (() => unknown)[]): Promise<number[]> {
  const taken_ms = calls.map((): number[] => []);
  for (let run = 0; run < CALL_RUNS; run++)
    for (const [at, call] of calls.entries()) {
      const before_ms = await exactCpuMs();
      for (let count = 0; count < 5; count++) call();
      taken_ms[at]?.push((await exactCpuMs()) - before_ms);
    }
  return taken_ms.map((runs) => median(runs) ?? Number.NaN);
}

const LONG_QUERIES: [string, (pairs: number) => string][] = [
  ['one unknown name', (pairs) => 'a&'.repeat(pairs)],
  ['one name of which the last counts', (pairs) => 'limit&'.repeat(pairs)],
  ['the same before others', (pairs) => 'limit&'.repeat(pairs / 2) + 'a&'.repeat(pairs / 2)],
  ['one name of which all count', (pairs) => 'claim&'.repeat(pairs)],
];

test.each(LONG_QUERIES)('%s is parsed in linear time beyond what is allowed, too', async (_name, queryOf) => {
  const { known } = parameterReader(z.object({ limit: z.string(), claim: z.array(z.string()) }));
  const parse = (pairs: number) => {
    const query = queryOf(pairs);
    return () => [parseQueryString(query), effectiveUrl(`/v1/x?${query}`, known)];
  };
  const [quarter_ms = Number.NaN, whole_ms = Number.NaN] = await cpuOf(parse(2_000), parse(8_000));
  expect(whole_ms / Math.max(quarter_ms, FLOOR_MS)).toBeLessThan(MAX_RATIO);
});

/** The worst input of each parser. */
function tableOf(costs: ReadonlyMap<ParserInput, number>): string {
  const worst = [...Map.groupBy(costs, ([{ parser }]) => parser).values()].map((inputs) =>
    inputs.reduce((a, b) => (perKb(b) > perKb(a) ? b : a)),
  );
  const lines = worst.map(
    ([{ parser, input, size }, cost_ms]) =>
      `| ${parser} | ${input} | ${Math.round(size / 1_024)} KB | ${perKb([{ size }, cost_ms]).toFixed(2)} |`,
  );
  return ['| parser | worst input | size | ms per KB |', '| --- | --- | --- | --- |', ...lines, ''].join(
    '\n',
  );
}

const perKb = ([{ size }, cost_ms]: [Pick<ParserInput, 'size'>, number]): number => cost_ms / (size / 1_024);
