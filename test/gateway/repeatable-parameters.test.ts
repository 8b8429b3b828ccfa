/** A parameter that may be repeated is read as a list; of every other one the last counts. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  fail,
  parameterReader,
  parseQueryString,
  text,
} from '../../gateway/api/operations/parameters/parameters.ts';

const upper = z
  .array(z.string())
  .transform((all, ctx) => {
    const at = all.indexOf('');
    if (at < 0) return all.map((one) => one.toUpperCase());
    return fail(ctx, { type: 'string_too_short', ctx: { min_length: 1 }, input: '', at, part: 'word' });
  })
  .meta({ type: 'array', items: { type: 'string' } });
const read = parameterReader(z.object({ many: upper.optional(), one: text().optional() }));
const reading = (query: string) => read(parseQueryString(query));

test('all values in the order sent, whatever stands between them', () => {
  const name = fc.constantFrom('many', 'one', 'other');
  const pairs = fc.array(fc.tuple(name, fc.string({ unit: 'binary', minLength: 1 })));
  fc.assert(
    fc.property(pairs, (sent) => {
      const of = (wanted: string) => sent.filter(([one]) => one === wanted).map(([, value]) => value);
      const many = of('many').map((value) => value.toUpperCase());
      const one = of('one').at(-1);
      expect(reading(new URLSearchParams(sent).toString())).toEqual({
        ok: true,
        values: { ...(many.length > 0 && { many }), ...(one !== undefined && { one }) },
        controls: {},
        ignored: expect.any(Array),
      });
    }),
  );
});

test('a failure names the index and the part', () => {
  expect(reading('many=a&many=&many=b')).toEqual({
    ok: false,
    detail: [
      {
        loc: ['query', 'many', 1, 'word'],
        msg: 'String should have at least 1 character',
        type: 'string_too_short',
        input: '',
        ctx: { min_length: 1 },
      },
    ],
  });
});

test('a value that is not UTF-8 is named by its index, and only where it counts', () => {
  expect(reading('many=a&many=%FF&one=%FF&one=b')).toMatchObject({
    ok: false,
    detail: [{ loc: ['query', 'many', 1], type: 'string_unicode' }],
  });
  expect(reading('one=b&one=%FF')).toMatchObject({ ok: false, detail: [{ loc: ['query', 'one'] }] });
});
