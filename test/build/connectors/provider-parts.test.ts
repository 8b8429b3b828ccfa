/** When a provider in parts is given up: not for bad parts, however many, but when nothing can be had of it any more. */
import { expect, it } from 'vitest';
import type { SourceItem } from '../../../build/connectors/connector.ts';
import { readParts } from '../../../build/connectors/provider-parts.ts';
import { UpstreamError } from '../../../build/upstream/upstream.ts';
import { silentLog } from '../../redis.ts';

type Part = Error | null;
const DOWN = new UpstreamError('x.example: answered 503 (tried 5 times)', 503);
const GONE = new UpstreamError('x.example: answered 404', 404);
const BAD = new Error('no column "value"');

/** Reads parts that are good or fail. @returns what became of each, until the reading ended, and how it ended. */
async function read(parts: Part[]): Promise<{ items: SourceItem['kind'][]; error: unknown }> {
  const items: SourceItem['kind'][] = [];
  const context = { signal: new AbortController().signal, log: silentLog };
  const reading = readParts<Part, string>(context, parts, {
    slug: () => 'x',
    open: async (part) => {
      if (part) throw part;
      return 'opened';
    },
    slugs: () => ['x'],
    read: () => [{ kind: 'plan', indicators: 1 }],
  });
  try {
    for await (const { kind } of reading) items.push(kind);
    return { items, error: null };
  } catch (error) {
    return { items, error };
  }
}

it('goes on past any number of bad or missing parts once one was good', async () => {
  const { items, error } = await read([null, ...Array(20).fill(BAD), ...Array(20).fill(GONE), null]);
  expect(error).toBeNull();
  expect(items.filter((kind) => kind === 'failed')).toHaveLength(40);
});

it('goes on past files that cannot be had while others can', async () => {
  const flaky = [null, DOWN, DOWN, DOWN, DOWN];
  const { items, error } = await read([...flaky, ...flaky, ...flaky]);
  expect(error).toBeNull();
  expect(items).toHaveLength(15);
});

it('ends when five in a row cannot be had, instead of waiting for each of hundreds', async () => {
  const { items, error } = await read([null, null, ...Array(300).fill(DOWN)]);
  expect(error).toBe(DOWN);
  expect(items.filter((kind) => kind === 'failed')).toHaveLength(5);
});

it('ends with the first error when the first five, or all of fewer, fail', async () => {
  expect((await read([BAD, ...Array(300).fill(GONE)])).error).toBe(BAD);
  expect((await read([BAD, GONE])).error).toBe(BAD);
});
