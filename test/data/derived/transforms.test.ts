/** How transforms are written, and for what they are defined. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  judgeTransforms,
  type Measured,
  parseTransforms,
  transformWord,
} from '../../../data/derived/transforms.ts';
import { seriesMeasure } from '../../../data/schema/traits.ts';

function parsed(text: string) {
  const transforms = parseTransforms(text);
  if (!Array.isArray(transforms)) throw new Error(transforms.problem);
  return transforms;
}
const words = (text: string) => {
  const read = parseTransforms(text);
  return Array.isArray(read) ? read.map(transformWord) : read;
};

describe('a list of transforms', () => {
  test.each([
    ['change', ['change:1']],
    ['growth:100', ['growth:100']],
    [' mean:3 , per_head', ['mean:3', 'per_head']],
    ['index:1990', ['index:1990']],
    ['per:world-bank.SP.POP.TOTL', ['per:world-bank.SP.POP.TOTL']],
    ['share:@eu', ['share:eu']],
  ])('%s', (text, expected) => expect(words(text)).toEqual(expected));

  test.each([
    ['', 0],
    ['change,', 1],
    ['growth:0', 0],
    ['growth:101', 0],
    ['growth:1.5', 0],
    ['growth:-1', 0],
    ['change:', 0],
    ['mean', 0],
    ['index', 0],
    ['index:90', 0],
    ['change,per_head:2', 1],
    ['per:', 0],
    ['per:a b', 0],
    ['share:', 0],
    ['share:EU', 0],
    ['Growth', 0],
    ['cumulative', 0],
    ['change,change,change', 2],
  ])('%s is refused, and where', (text, at) => expect(words(text)).toMatchObject({ at }));

  test('what is written in full is read as itself', () => {
    const one = fc.oneof(
      fc.tuple(fc.constantFrom('change', 'growth', 'mean'), fc.integer({ min: 1, max: 100 })),
      fc.tuple(fc.constant('index'), fc.integer({ min: 1000, max: 9999 })),
    );
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 2 }), (parts) => {
        const text = parts.map((part) => part.join(':'));
        expect(words(text.join())).toEqual(text);
      }),
    );
  });
});

const MEASURES = seriesMeasure.shape.measure.options;
const PEOPLE: Measured = { measure: 'count', aggregate: 'sum', population: 'a.people' };

describe('what is defined', () => {
  test.each([
    ['change:1', MEASURES.filter((measure) => measure !== 'other'), 'own'],
    ['mean:3', MEASURES.filter((measure) => measure !== 'other'), 'own'],
    ['growth:1', ['count', 'amount', 'ratio', 'price', 'index'], 'growth'],
    ['index:2000', ['count', 'amount', 'ratio', 'price', 'index'], 'index'],
    ['per:a.area', ['count', 'amount'], 'ratio'],
  ])('%s: for %j, and gives %s', (text, allowed, result) => {
    for (const measure of MEASURES) {
      const series: Measured = { measure, aggregate: 'none', population: null };
      const judged = judgeTransforms(parsed(text), series, new Map([['a.area', PEOPLE]]));
      if (allowed.some((one) => one === measure))
        expect(judged).toMatchObject({ measured: { measure: result === 'own' ? measure : result } });
      else expect(judged).toMatchObject({ at: 0, transform: text, measure });
    }
  });

  test.each([
    ['per_head', { population: 'a.people' }, { population: null }, 'ratio'],
    ['share:eu', { aggregate: 'sum' as const }, { aggregate: 'mean' as const }, 'rate'],
  ])('%s, by what is known of the series', (text, allowed, refused, measure) => {
    const series: Measured = { measure: 'amount', aggregate: 'none', population: null };
    const judge = (more: Partial<Measured>) =>
      judgeTransforms(parsed(text), { ...series, ...more }, new Map());
    expect(judge(allowed)).toMatchObject({ measured: { measure } });
    expect(judge(refused)).toMatchObject({ at: 0 });
  });

  test('the second of a chain is judged on the result of the first', () => {
    const rate: Measured = { ...PEOPLE, measure: 'rate' };
    const judge = (text: string) => judgeTransforms(parsed(text), PEOPLE, new Map([['a.rate', rate]]));
    expect(judge('mean:3,per_head')).toMatchObject({ measured: { measure: 'ratio' } });
    expect(judge('per_head,growth:5')).toMatchObject({ measured: { measure: 'growth' } });
    expect(judge('change,per_head')).toMatchObject({ measured: { measure: 'ratio' } });
    expect(judge('growth,growth')).toMatchObject({ at: 1, measure: 'growth', instead: ['change', 'mean'] });
    expect(judge('per_head,per_head')).toMatchObject({ at: 1, measure: 'ratio' });
    expect(judge('change,share:eu')).toMatchObject({ at: 1 });
    expect(judge('share:eu,growth')).toMatchObject({ at: 1, measure: 'rate' });
    expect(judge('per:a.rate')).toMatchObject({ at: 0, measure: 'rate' });
  });
});
