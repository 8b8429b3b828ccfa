/** The bound of an answer's rows, at its limits. */
import { expect, test } from 'vitest';
import { csv } from '../../../gateway/api/encoders/tables/text-formats.ts';
import { rowBound } from '../../../gateway/api/operations/operation.ts';

test('a million rows are an answer, one more is 422 and names whole files', () => {
  expect(rowBound(1_000_000, csv)).toBeNull();
  expect(rowBound(1_000_001, csv)).toMatchObject({
    kind: 'invalid',
    detail: [{ loc: ['query'], type: 'too_many_rows', ctx: { max_rows: 1_000_000 } }],
  });
  expect(rowBound(1_000_001, csv)?.detail[0]?.msg).toContain('/v1/files');
});

test('a format may take fewer', () => {
  const narrow = { ...csv, rowsMax: 10 };
  expect(rowBound(10, narrow)).toBeNull();
  expect(rowBound(11, narrow)?.detail[0]).toMatchObject({ loc: ['query', 'format'], ctx: { max_rows: 10 } });
});
