/** Runs and packed bits, read back by hyparquet. */
import fc from 'fast-check';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { expect, test } from 'vitest';
import { runBytesMax, writeRuns } from '../../../../gateway/api/encoders/tables/parquet-runs.ts';

/** Runs of every length, mixed with values that do not repeat. */
const valuesOf = (bitWidth: number) =>
  fc
    .array(fc.record({ value: fc.nat(2 ** bitWidth - 1), times: fc.oneof(fc.constant(1), fc.nat(300)) }), {
      maxLength: 60,
    })
    .map((runs) => runs.flatMap(({ value, times }) => Array.from({ length: times }, () => value)));

test('any values of any width come back, in the room that was foretold', () => {
  fc.assert(
    fc.property(
      fc
        .integer({ min: 0, max: 24 })
        .chain((bitWidth) => fc.tuple(fc.constant(bitWidth), valuesOf(bitWidth))),
      ([bitWidth, values]) => {
        const into = new Uint8Array(runBytesMax(values.length, bitWidth) + 1).fill(0xaa);
        const written = writeRuns(Int32Array.from(values), bitWidth, into);
        expect(written).toBeLessThan(into.length);
        expect(into[written]).toBe(0xaa);
        const reader = { view: new DataView(into.buffer, 0, written), offset: 0 };
        const read = new Int32Array(values.length);
        readRleBitPackedHybrid(reader, bitWidth, read, written);
        expect([...read]).toEqual(values);
      },
    ),
  );
});
