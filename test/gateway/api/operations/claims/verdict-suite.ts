/** What must hold of all verdicts on corrupted claims, whatever the data. */
import { describe, expect, test } from 'vitest';
import { KINDS } from './corruptions.ts';
import { falseExact, type Judged, sharesOf } from './measure.ts';
import { isRight } from './truth.ts';

/** @param clear fewer claims of a kind whose text tells what is wrong would prove little. */
export function expectRightVerdicts(judged: () => readonly Judged[], claims: number, clear: number): void {
  test('no claim is exact but the figure itself', () => {
    expect(judged()).toHaveLength(claims);
    expect(falseExact(judged())).toEqual([]);
  });

  test('rounded are those that plain formatting gives', () => {
    const others = judged().filter(
      ({ text, value, row }) => isRight(text, value) !== (row.verdict === 'rounded'),
    );
    expect(others).toEqual([]);
  });

  describe.each(KINDS)('%s', (kind) => {
    test('is told in 95 % of the claims whose text allows it', () => {
      const share = sharesOf(judged()).find((one) => one.kind === kind);
      expect(share?.clear).toBeGreaterThan(clear);
      expect((share?.told ?? 0) / (share?.clear ?? 1)).toBeGreaterThanOrEqual(0.95);
    });
  });
}
