/**
 * Transforms of a series: how they are written, and for what each is defined.
 *
 * `transform=growth:5,per_head` is a chain of at most two. Each is judged on what the series measures, and says what its
 * result measures, on which the next is judged. This file and `derivation.ts` import nothing else, so that whoever verifies a
 * derived figure can carry them.
 */

const QUANTITIES = ['count', 'amount'] as const;
const GROWING = [...QUANTITIES, 'ratio', 'price', 'index'] as const;
const DECIDED = [...GROWING, 'rate', 'duration', 'score', 'growth'] as const;
export const MEASURES = [...DECIDED, 'other'] as const;
export type Measure = (typeof MEASURES)[number];

/** What decides whether a transform is defined for a series. */
export interface Measured {
  measure: Measure;
  aggregate: 'sum' | 'mean' | 'none';
  /** Indicator id of the series by which figures per head are made; null where they make no sense. */
  population: string | null;
}

export type Transform =
  | { name: 'change' | 'growth' | 'mean'; years: number }
  | { name: 'index'; year: number }
  | { name: 'per_head' }
  | { name: 'per'; indicator: string }
  | { name: 'share'; group: string };
export type TransformName = Transform['name'];

export const TRANSFORMS_MAX = 2;
const YEARS_MAX = 100;

/** What is wrong with one of a list, counted from 0. */
export interface TransformProblem {
  at: number;
  input: string;
  problem: string;
}

export const TRANSFORM_FORMS = [
  'change:N',
  'growth:N',
  'index:YYYY',
  'mean:N',
  'per_head',
  'per:<indicator id>',
  'share:<group id>',
] as const;

/** Parses a list; of `change` and `growth`, N is 1 unless it is given. */
export function parseTransforms(text: string): Transform[] | TransformProblem {
  const parts = text.split(',').map((part) => part.trim());
  const transforms: Transform[] = [];
  for (const [at, input] of parts.entries()) {
    const transform = parseOne(input);
    if (typeof transform === 'string') return { at, input, problem: transform };
    if (at === TRANSFORMS_MAX)
      return { at, input, problem: `at most ${TRANSFORMS_MAX} transforms are applied, one after the other` };
    transforms.push(transform);
  }
  return transforms;
}

/** A transform, or what is wrong with it. */
function parseOne(text: string): Transform | string {
  const colon = text.indexOf(':');
  const name = colon < 0 ? text : text.slice(0, colon);
  const value = colon < 0 ? undefined : text.slice(colon + 1);
  switch (name) {
    case 'change':
    case 'growth':
    case 'mean': {
      const years = readYears(value ?? (name === 'mean' ? '' : '1'));
      return years === null ? `${name}:N needs a number of years N from 1 to ${YEARS_MAX}` : { name, years };
    }
    case 'index':
      return /^\d{4}$/.test(value ?? '')
        ? { name, year: Number(value) }
        : 'index:YYYY needs the year that is 100, in four digits';
    case 'per_head':
      return value === undefined ? { name } : 'per_head takes no value';
    case 'per':
      return /^[^\s:]{1,255}$/.test(value ?? '')
        ? { name, indicator: value ?? '' }
        : 'per:<indicator id> needs the id of the series to divide by';
    case 'share': {
      const group = (value ?? '').replace(/^@/, '');
      return /^[a-z0-9-]{1,64}$/.test(group)
        ? { name, group }
        : 'share:<group id> needs the id of a group, such as eu';
    }
    default:
      return `a transform is one of ${TRANSFORM_FORMS.join(', ')}`;
  }
}

function readYears(text: string): number | null {
  if (!/^[1-9]\d{0,2}$/.test(text)) return null;
  const years = Number(text);
  return years <= YEARS_MAX ? years : null;
}

/** As it is written in full. */
export function transformWord(transform: Transform): string {
  switch (transform.name) {
    case 'index':
      return `index:${transform.year}`;
    case 'per_head':
      return 'per_head';
    case 'per':
      return `per:${transform.indicator}`;
    case 'share':
      return `share:${transform.group}`;
    default:
      return `${transform.name}:${transform.years}`;
  }
}

interface Rule {
  isDefined(of: Measured): boolean;
  /** For what it is right, to follow “is defined for”. */
  rightFor: string;
  result(of: Measured): Measured;
}

const plain = (measure: Measure): Measured => ({ measure, aggregate: 'none', population: null });
const isOneOf =
  (measures: readonly Measure[]) =>
  ({ measure }: Measured) =>
    measures.includes(measure);

const RULES: Readonly<Record<TransformName, Rule>> = {
  // Changes of members cannot be told apart from a change of the members, so they are not summed.
  change: {
    isDefined: isOneOf(DECIDED),
    rightFor: 'everything whose measure is decided',
    result: ({ measure, population }) => ({ measure, aggregate: 'none', population }),
  },
  growth: {
    isDefined: isOneOf(GROWING),
    rightFor: 'counts, amounts, ratios, prices and indices',
    result: () => plain('growth'),
  },
  index: {
    isDefined: isOneOf(GROWING),
    rightFor: 'counts, amounts, ratios, prices and indices',
    result: () => plain('index'),
  },
  mean: {
    isDefined: isOneOf(DECIDED),
    rightFor: 'everything whose measure is decided',
    result: (of) => of,
  },
  per_head: {
    isDefined: ({ population }) => population !== null,
    rightFor: 'counts and amounts that people share, with a population series',
    result: () => plain('ratio'),
  },
  per: {
    isDefined: isOneOf(QUANTITIES),
    rightFor: 'a count or an amount by a count or an amount',
    result: () => plain('ratio'),
  },
  share: {
    isDefined: ({ aggregate }) => aggregate === 'sum',
    rightFor: 'counts and amounts that add up over countries',
    result: () => plain('rate'),
  },
};

const NAMES = Object.keys(RULES) as TransformName[];

/** Why a transform makes no sense. */
export interface UndefinedTransform {
  at: number;
  transform: string;
  /** Of what it is applied to. */
  measure: Measure;
  rightFor: string;
  /** Transforms that are defined instead. */
  instead: TransformName[];
}

/**
 * What the result of a chain measures, or why one of it is undefined.
 * @param dividedBy what the series of `per` in the chain measure, by indicator id.
 */
export function judgeTransforms(
  transforms: readonly Transform[],
  series: Measured,
  dividedBy: ReadonlyMap<string, Measured>,
): { measured: Measured } | UndefinedTransform {
  let measured = series;
  for (const [at, transform] of transforms.entries()) {
    const rule = RULES[transform.name];
    const by = transform.name === 'per' ? dividedBy.get(transform.indicator) : undefined;
    const undefinedFor = !rule.isDefined(measured)
      ? measured
      : by !== undefined && !rule.isDefined(by)
        ? by
        : null;
    if (undefinedFor !== null)
      return {
        at,
        transform: transformWord(transform),
        measure: undefinedFor.measure,
        rightFor: rule.rightFor,
        instead: NAMES.filter((name) => RULES[name].isDefined(measured) && name !== transform.name),
      };
    measured = rule.result(measured);
  }
  return { measured };
}
