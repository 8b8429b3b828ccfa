/** Whether the words of a phrase ask for a part of a whole, a number, money and so on, and which of them a unit is. */

export type Measure = 'share' | 'number' | 'money' | 'ratio' | 'time' | 'size' | 'score' | 'other';

/** The first that fits a unit is what it measures. */
const UNITS: readonly (readonly [RegExp, Measure])[] = [
  [/%|percent/i, 'share'],
  [/\bindex\b|\bscore\b|\d ?= ?|\bpoints\b/i, 'score'],
  [/\$|currency|\blcu\b|dollars?\b/i, 'money'],
  [/\bper\b|\bratio\b/i, 'ratio'],
  [/^(?:years|days|hours)\b/i, 'time'],
  [/km²|\bsq\. km|hectares|cubic|kt\b|tons|tonnes|km\b/i, 'size'],
  [/./, 'number'],
];

export const measureOf = (unit: string): Measure =>
  UNITS.find(([pattern]) => pattern.test(unit))?.[1] ?? 'other';

/** What words ask for, each as one of several measures. */
const ASKED: readonly (readonly [RegExp, readonly Measure[]])[] = [
  [
    /\b(?:percent|percentage|share|proportion|fraction|part|slice|how much of|relative to|compared with)\b/,
    ['share'],
  ],
  [
    /\b(?:number|count|how many)\b|^total\b|(?<!per (?:\w+ )?)\binhabitants\b|\bper year$/,
    ['number', 'size'],
  ],
  [/\bsize of\b/, ['size', 'number', 'money']],
  [/\b(?:dollars|usd|currency|money)\b/, ['money']],
  [/\b(?:index|score|rating)\b/, ['score', 'share', 'ratio']],
  [/\b(?:days|hours|how long|what age)\b/, ['time']],
  [/\b(?:square km|sq km|km2|cubic km|hectares|tonnes)\b/, ['size', 'ratio']],
];

/** Empty where the words leave it open, or ask for several. */
export function asksFor(words: readonly string[]): ReadonlySet<Measure> {
  const text = words.join(' ');
  const asked = ASKED.filter(([pattern]) => pattern.test(text));
  return new Set(asked.length === 1 ? asked[0]?.[1] : []);
}
