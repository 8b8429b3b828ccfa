/**
 * Series under transforms: whether they are defined, of what unit and direction the result is, whose figures it takes, and
 * what an answer says of that. What a series measures is what its edition says.
 */
import { judgeTransforms, type Transform, transformWord } from '../../../../data/derived/transforms.ts';
import type { SeriesMeasure } from '../../../../data/schema/traits.ts';
import { creditOf } from '../../encoders/encoders.ts';
import type { CatalogueEntry, Edition } from '../../snapshot/snapshot.ts';
import { findOpen, type Invalid, invalid, type Refused, refused } from '../operation.ts';
import { transformUndefined } from '../parameters/transforms.ts';
import { type Derivation, DerivedRows } from './derived-rows.ts';

export type DerivedSeries = Exclude<Awaited<ReturnType<typeof deriveSeries>>, Refused | Invalid>;

/** @throws {SnapshotUnreadable} */
export async function deriveSeries(
  edition: Edition,
  entries: readonly CatalogueEntry[],
  transforms: readonly Transform[],
) {
  const derivations: Derivation[] = [];
  for (const entry of entries) {
    const found = await deriveOne(edition, entry, transforms);
    if ('kind' in found) return found;
    derivations.push(found);
  }
  const records = derivations.map(({ record }) => record);
  const divisors = derivations.flatMap(({ divisor }) => divisor?.record ?? []);
  const own = new Set(records.map(({ id }) => id));
  return {
    /** The transforms, each in full. */
    words: transforms.map(transformWord),
    /** v is the figure of a country and t its year. */
    formula: formulasOf(transforms),
    records,
    /** Of further series that are credited. */
    others: [...new Map(divisors.map((record) => [record.id, record])).values()].filter(
      ({ id }) => !own.has(id),
    ),
    /** What a row costs, in credits. */
    figuresPerRow: figuresToldBy(transforms),
    rows: new DerivedRows(edition, derivations),
    /** What `meta` says of them; with several indicators, in the item of each. */
    meta: (isOne: boolean): Record<string, unknown> =>
      isOne
        ? { derivation: describe(derivations[0]) }
        : { indicators: derivations.map((one) => ({ ...creditOf(one.record), derivation: describe(one) })) },
  };
}

const LINEAR: readonly string[] = ['change', 'mean'];

/**
 * How many figures a result gives away. A sum or a difference is one; of a quotient of whole numbers both can be found, and
 * what is computed from quotients tells those of each.
 */
const figuresToldBy = (transforms: readonly Transform[]): number =>
  transforms.reduce((told, { name }) => (told === 1 && LINEAR.includes(name) ? 1 : told * 2), 1);

async function deriveOne(
  edition: Edition,
  entry: CatalogueEntry,
  transforms: readonly Transform[],
): Promise<Derivation | Refused | Invalid> {
  const { record, measured } = entry;
  if (measured === null) return notMeasured(edition, record.id);
  const divisor = await findDivisor(edition, entry, measured, transforms);
  if (divisor !== null && 'kind' in divisor) return divisor;
  if (divisor !== null && divisor.measured === null) return notMeasured(edition, divisor.record.id);
  const dividedBy = new Map(
    transforms.flatMap((one) =>
      one.name === 'per' && divisor?.measured ? [[one.indicator, divisor.measured] as const] : [],
    ),
  );
  const judged = judgeTransforms(transforms, measured, dividedBy);
  if ('at' in judged) return transformUndefined(judged, record.id);
  const units = { of: entry, by: divisor };
  const unit = transforms.reduce((before, transform) => unitAfter(before, transform, units), record.unit);
  const higher_is_better = transforms.every(keepsDirection) ? record.higher_is_better : null;
  return { entry, transforms, divisor, record: { ...record, unit, higher_is_better } };
}

export const notMeasured = ({ id }: Edition, indicator: string): Refused =>
  refused('not_in_edition', `Snapshot ${id} does not hold what '${indicator}' measures.`);

/** What the chain divides by: only one of it can, since nothing divides a ratio. */
async function findDivisor(
  edition: Edition,
  { record }: CatalogueEntry,
  { population }: SeriesMeasure,
  transforms: readonly Transform[],
): Promise<CatalogueEntry | Refused | Invalid | null> {
  for (const [at, transform] of transforms.entries()) {
    const asked =
      transform.name === 'per' ? transform.indicator : transform.name === 'per_head' ? population : null;
    if (asked === null) continue;
    const found = await findOpen(edition, asked, true);
    if ('kind' in found) return found;
    if (found.entry.record.id !== record.id) return found.entry;
    const error = 'a series divided by itself is 1 everywhere';
    return invalid(error, ['query', 'transform', at], transformWord(transform));
  }
  return null;
}

/** What grows, falls or lies higher counts as the series does; of a ratio nobody has said what is better. */
const keepsDirection = ({ name }: Transform): boolean => ['change', 'growth', 'index', 'mean'].includes(name);

const PER_CENT = /%|\bper ?cent\b/;

/** Powers of ten in the words of a unit, which a figure per head has not. */
const POWERS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:thousand|million|billion)s?(?: of)? /, ''],
  [/\bkt\b/, 't'],
  [/\bkilotonnes\b/, 'tonnes'],
];

function unitAfter(
  unit: string | null,
  transform: Transform,
  { of, by }: { of: CatalogueEntry; by: CatalogueEntry | null },
): string | null {
  switch (transform.name) {
    case 'change':
      return unit !== null && PER_CENT.test(unit) ? 'percentage points' : unit;
    case 'growth':
      return transform.years === 1 ? '%' : '% per year';
    case 'index':
      return `index, ${transform.year} = 100`;
    case 'mean':
      return unit;
    case 'per_head': {
      const single =
        of.traits.scale === (by?.traits.scale ?? 0) && of.traits.scale === 0
          ? unit
          : POWERS.reduce<string | null>((text, [power, word]) => text?.replace(power, word) ?? null, unit);
      return single === null ? 'per person' : `${single} per person`;
    }
    case 'per':
      return `${unit ?? 'units'} per ${by?.record.unit ?? 'unit'}`;
    case 'share':
      return '%';
  }
}

/** Each in terms of v, which is the result of the one before it. */
function formulaOf(transform: Transform): string {
  switch (transform.name) {
    case 'change':
      return `v(t) − v(t−${transform.years})`;
    case 'growth':
      return transform.years === 1
        ? '100 × ((v(t) − v(t−1)) ÷ v(t−1))'
        : `100 × ((v(t) ÷ v(t−${transform.years}))^(1÷${transform.years}) − 1)`;
    case 'index':
      return `100 × (v(t) ÷ v(${transform.year}))`;
    case 'mean':
      return `(v(t−${transform.years - 1}) + … + v(t)) ÷ ${transform.years}`;
    case 'per_head':
      return 'v(t) ÷ population(t)';
    case 'per':
      return `v(t) ÷ w(t), w = ${transform.indicator}`;
    case 'share':
      return `100 × (v(t) ÷ sum of v(t) over @${transform.group})`;
  }
}

const formulasOf = (transforms: readonly Transform[]): string =>
  transforms.map(formulaOf).join('; of these, ');

function describe(derivation: Derivation | undefined) {
  if (derivation === undefined) return undefined;
  const { entry, divisor, transforms, record } = derivation;
  return {
    formula: formulasOf(transforms),
    unit: record.unit,
    inputs: [entry, ...(divisor === null ? [] : [divisor])].map((one) => creditOf(one.record)),
  };
}
