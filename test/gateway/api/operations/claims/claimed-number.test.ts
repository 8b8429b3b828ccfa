/** Numbers as people write them: what is read, and the verdict on figures written and rounded at random. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  digitsClaimed,
  inUnit,
  readNumber,
} from '../../../../../gateway/api/operations/proofs/claims/claimed-number.ts';
import { deviationOf, judge } from '../../../../../gateway/api/operations/proofs/claims/judge.ts';

function read(text: string) {
  const claimed = readNumber(text);
  if (claimed === null) throw new Error(`${text} is not read`);
  return claimed;
}

describe('reads', () => {
  test.each<[string, number, digits: number]>([
    ['0', 0, 1],
    ['-0.00', 0, 1],
    ['+12', 12, 2],
    ['−12', -12, 2],
    ['–0.5 %', -0.005, 1],
    ['1.50', 1.5, 3],
    ['-.5', -0.5, 1],
    ['007', 7, 1],
    ['1E-6', 1e-6, 1],
    ['1.5e+300', 1.5e300, 2],
    ['1e999', Number.POSITIVE_INFINITY, 1],
    ['1300', 1300, 2],
    // A comma before three digits groups thousands; any other single comma is the decimal mark, and a single point always is.
    ['1,300', 1300, 2],
    ['12,500', 12_500, 3],
    ['12,5', 12.5, 3],
    ['12,50', 12.5, 4],
    ['12,5000', 12.5, 6],
    ['0,125', 0.125, 3],
    ['1234,567', 1234.567, 7],
    ['1.300', 1.3, 4],
    ['1.300.000', 1_300_000, 2],
    ['1.300,5', 1300.5, 5],
    ['1,300.5', 1300.5, 5],
    ['12,34,567', 1_234_567, 7],
    ['1 300,5', 1300.5, 5],
    ["1'300'000", 1_300_000, 2],
    ['8 %', 0.08, 1],
    ['8.0 per cent', 0.08, 2],
    ['12.5pct', 0.125, 3],
    ['33.8 million', 33_800_000, 3],
    ['34m', 34_000_000, 2],
    ['1,300 bn', 1.3e12, 2],
    ['about 30 Million', 30_000_000, 1],
    ['~1.2 trillion', 1.2e12, 2],
    ['2,5 lakh', 250_000, 2],
  ])('%s', (text, number, digits) => {
    const claimed = read(text);
    expect([inUnit(claimed, 'people').double, digitsClaimed(claimed)]).toEqual([number, digits]);
  });

  test.each([
    ...['', ' ', '-', '.', ',', 'e6', '%', 'million', '5.', '5,', '1,30,5', '1,300,5', '1.30.5', '1,300 000'],
    ...['1, 300', '12 %%', '$12', '12 km', '12 people', '8 million %', '0x1f', 'NaN', 'Infinity'],
    ...[
      '1e',
      '1e1000',
      '1e 6',
      '1e6 million',
      '--1',
      '1-2',
      '1–2',
      '8 or 9',
      '١٢',
      '½',
      '12²',
      '1'.repeat(101),
    ],
  ])('not %j', (text) => expect(readNumber(text)).toBeNull());
});

/** Words behind a number, and what a number so written is times a power of ten. */
interface Written {
  words: readonly string[];
  unit: string | null;
  power: number;
  isPlain: boolean;
}
const WRITTEN: readonly Written[] = [
  { words: [''], unit: 'millions of persons', power: 0, isPlain: true },
  { words: ['%', ' %', ' per cent', ' percent', ' pct'], unit: 'annual %', power: 0, isPlain: true },
  { words: [' %', ' percentage points'], unit: 'percentage points', power: 0, isPlain: true },
  { words: [' %'], unit: 'per 100 people', power: 0, isPlain: true },
  { words: [' %', '\u00a0per cent'], unit: 'per 100,000 people', power: -2, isPlain: true },
  { words: ['%'], unit: null, power: -2, isPlain: true },
  { words: ['k', ' thousand', ' Thousands'], unit: 'people', power: 3, isPlain: false },
  { words: ['m', 'M', ' mn', ' million'], unit: 'deaths per million', power: 6, isPlain: false },
  { words: [' mln', ' millions'], unit: 'millions of persons', power: 0, isPlain: false },
  { words: ['bn', ' billion'], unit: 'thousand metric tons', power: 6, isPlain: false },
  { words: [' tn', ' trillion'], unit: null, power: 12, isPlain: false },
  { words: [' lakh'], unit: 'people', power: 5, isPlain: false },
  { words: [' crore'], unit: 'people', power: 7, isPlain: false },
  { words: ['e3', 'E+3', 'e03'], unit: 'millions of persons', power: 3, isPlain: false },
  { words: ['e-2', 'e−2'], unit: '%', power: -2, isPlain: false },
];

const grouped = (whole: string, mark: string): string => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, mark);

/** All ways to write the digits, but for those that the rule reads as another number. */
function formsOf(whole: string, fraction: string): string[] {
  const [point, comma] = fraction === '' ? ['', ''] : [`.${fraction}`, `,${fraction}`];
  const forms = [whole + point];
  for (const mark of [',', ' ', '\u00a0', '\u202f', "'", '’', '_']) forms.push(grouped(whole, mark) + point);
  if (whole.length > 5)
    forms.push(
      `${grouped(whole.slice(0, -3), '').replaceAll(/\B(?=(?:\d{2})+$)/g, ',')},${whole.slice(-3)}${point}`,
    );
  if (whole.length > 6 || (whole.length > 3 && fraction !== '')) forms.push(grouped(whole, '.') + comma);
  if (fraction !== '' && (fraction.length !== 3 || whole === '0' || whole.length > 3)) {
    forms.push(whole + comma);
    if (whole.length > 3) forms.push(grouped(whole, ' ') + comma);
  }
  return forms;
}

const ten = (power: number): bigint => 10n ** BigInt(power);
const size = (number: bigint): bigint => (number < 0n ? -number : number);
/** Decimal places that hold every number made here. */
const SHIFT = 60;

/** A figure of `v` / 10^`decimals`, and digits near it: rounded to `places` and then moved by `delta`. */
const claims = fc
  .record({
    v: fc.oneof(fc.bigInt({ min: -(10n ** 13n), max: 10n ** 13n }), fc.bigInt({ min: -200n, max: 200n })),
    decimals: fc.nat(6),
    written: fc.constantFrom(...WRITTEN),
    places: fc.integer({ min: -12, max: 6 }),
    delta: fc.oneof(fc.constant(0n), fc.constantFrom(1n, -1n, 2n), fc.bigInt({ min: -50n, max: 50n })),
    ways: fc.tuple(fc.nat(), fc.nat(), fc.nat()),
  })
  .map(({ v, decimals, written, places, delta, ways }) => {
    const { words, power } = written;
    // In units of the written number's last place; places left of the point are written as zeros.
    const unit = ten(SHIFT + power - places);
    const held = v * ten(SHIFT - decimals);
    const last = (2n * size(held) + unit) / (2n * unit);
    const steps = size(last + delta);
    const [digits, shown] = places < 0 ? [steps * ten(-places), 0] : [steps, places];
    const text = String(digits).padStart(shown + 1, '0');
    const [whole, fraction] = [text.slice(0, text.length - shown), text.slice(text.length - shown)];
    const forms = formsOf(whole, fraction);
    const sign = v < 0n ? ['-', '−', '–'] : ['', '', '+'];
    const pick = (list: readonly string[], way = 0): string => list[way % list.length] ?? '';
    return {
      text: pick(sign, ways[0]) + pick(forms, ways[1]) + pick(words, ways[2]),
      written,
      held,
      claimed: (v < 0n ? -1n : 1n) * steps * unit,
      finest: power - shown,
      digits,
      shown,
      figure: Number(`${v}e-${decimals}`),
    };
  });

type Case = typeof claims extends fc.Arbitrary<infer Made> ? Made : never;

const zerosOf = ({ digits, shown }: Case): number =>
  shown > 0 || digits === 0n ? 0 : (/0*$/.exec(String(digits))?.[0].length ?? 0);

/** The verdict by its definition: the figure is rounded to each place that the text may stand for. */
function expectedVerdict(one: Case): string {
  const { held, claimed, finest, written } = one;
  const distance = size(claimed - held);
  if (distance === 0n) return 'exact';
  if (claimed === 0n) return 'mismatch';
  const leading = String(size(held)).length - 1 - SHIFT;
  const places = Array.from({ length: zerosOf(one) + 1 }, (_, more) => finest + more).filter(
    (place) => held === 0n || place <= leading || (written.isPlain && place === finest),
  );
  const isRounding =
    places.some((place) => 2n * distance <= ten(SHIFT + place)) ||
    // A figure of fewer places than the claim's finest has its own leading place.
    (!written.isPlain && finest > leading && held !== 0n && 2n * distance <= ten(SHIFT + leading));
  // More digits than a double holds are no other number.
  const isSame = Number(`${claimed}e-${SHIFT}`) === one.figure;
  if (isSame || (isRounding && 10n * distance <= size(held))) return 'rounded';
  return isRounding || 100n * distance <= size(held) ? 'close' : 'mismatch';
}

test('a figure written and rounded in any way has the verdict, digits and deviation that it is defined to have', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(claims, (one) => {
      const { text, figure, written, held, claimed, digits } = one;
      const number = read(text);
      const { verdict } = judge(number, figure, [], written.unit);
      seen.set(verdict, (seen.get(verdict) ?? 0) + 1);
      expect(verdict).toBe(expectedVerdict(one));
      expect(digitsClaimed(number)).toBe(Math.max(1, String(digits).length - zerosOf(one)));
      const deviation = deviationOf(inUnit(number, written.unit), figure);
      const expected = held === 0n ? 0 : 100 * (Number(claimed - held) / Number(size(held)));
      if (held === 0n) expect(deviation).toBe(claimed === 0n ? 0 : null);
      else
        expect(Math.abs((deviation ?? Number.NaN) - expected)).toBeLessThanOrEqual(
          Math.abs(expected) / 1000 + 1e-12,
        );
    }),
    { numRuns: 20_000 },
  );
  for (const verdict of ['exact', 'rounded', 'close', 'mismatch'])
    expect(seen.get(verdict)).toBeGreaterThan(300);
});
