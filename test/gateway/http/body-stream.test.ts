/** How many long answers may be written at a time. */
import { expect, test } from 'vitest';
import type { Table } from '../../../gateway/encoders/table.ts';
import { QueueFull } from '../../../gateway/errors.ts';
import { openStream, STREAMS_MAX } from '../../../gateway/http/body-stream.ts';

const TABLE: Table = {
  columns: [],
  rows: 0,
  async *batches() {},
  indicators: [],
  meta: {},
  edition: '',
  name: '',
};

test('an answer counts from when its first rows are awaited, and no more once they failed', async () => {
  const { promise: rows, reject } = Promise.withResolvers<Buffer>();
  async function* waiting(): AsyncGenerator<Buffer> {
    yield await rows;
  }
  const opening = Array.from({ length: STREAMS_MAX }, () => openStream(TABLE, waiting()));
  await expect(openStream(TABLE, waiting())).rejects.toThrow(QueueFull);
  reject(new Error('the file is gone'));
  for (const one of opening) await expect(one).rejects.toThrow('the file is gone');
  async function* ready(): AsyncGenerator<Buffer> {
    yield Buffer.from('head');
  }
  const { pieces } = await openStream(TABLE, ready());
  let text = '';
  for await (const piece of pieces) text += piece.toString();
  expect(text).toBe('head');
});
