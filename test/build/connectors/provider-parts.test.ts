/** When the reading of a provider in parts stops: not for unreadable parts, but when the provider is unreachable. */
import { expect, it } from 'vitest';
import { readParts, type SourceItem } from '../../../build/connectors/connector.ts';
import { UpstreamError } from '../../../build/upstream/upstream.ts';
import { silentLog } from '../../redis.ts';

type Part = Error | null;
const DOWN = new UpstreamError('x.example: answered 503 (tried 5 times)', 503);
const GONE = new UpstreamError('x.example: answered 404', 404);
const BAD = new Error('no column "value"');

/** Reads parts that succeed or fail with the given error. */
async function read(parts: Part[]): Promise<{ items: SourceItem['kind'][]; error: unknown }> {
  const items: SourceItem['kind'][] = [];
  const context = { signal: new AbortController().signal, log: silentLog };
  const reading = readParts<Part>(
    context,
    parts,
    () => 'x',
    async (part) => {
      if (part) throw part;
      return { items: [{ kind: 'plan', indicators: 1 }] };
    },
  );
  try {
    for await (const { kind } of reading) items.push(kind);
    return { items, error: null };
  } catch (error) {
    return { items, error };
  }
}

it('continues past any number of unreadable or missing parts after one success', async () => {
  const { items, error } = await read([null, ...Array(20).fill(BAD), ...Array(20).fill(GONE), null]);
  expect(error).toBeNull();
  expect(items.filter((kind) => kind === 'failed')).toHaveLength(40);
});

it('continues past unreachable files while others are reachable', async () => {
  const flaky = [null, DOWN, DOWN, DOWN, DOWN];
  const { items, error } = await read([...flaky, ...flaky, ...flaky]);
  expect(error).toBeNull();
  expect(items).toHaveLength(15);
});

it('stops after five unreachable parts in a row', async () => {
  const { items, error } = await read([null, null, ...Array(300).fill(DOWN)]);
  expect(error).toBe(DOWN);
  expect(items.filter((kind) => kind === 'failed')).toHaveLength(5);
});

it('throws the first error when the first five parts, or all of fewer, fail', async () => {
  expect((await read([BAD, ...Array(300).fill(GONE)])).error).toBe(BAD);
  expect((await read([BAD, GONE])).error).toBe(BAD);
});
