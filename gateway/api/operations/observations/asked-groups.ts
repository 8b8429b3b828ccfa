/** Groups asked for as places: whether an edition has figures of them, and what an answer says of them. */
import { isOfGroups } from '../../../../data/derived/recompute.ts';
import { type Transform, transformWord } from '../../../../data/derived/transforms.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { creditOf } from '../../encoders/encoders.ts';
import type { CatalogueEntry, Edition } from '../../snapshot/snapshot.ts';
import { findOpen, type Invalid, invalid, type Refused, refused } from '../operation.ts';
import { GROUP_MARK } from '../parameters/place-names.ts';
import { transformUndefined } from '../parameters/transforms.ts';
import { notMeasured } from './derived-series.ts';
import { declaredGroup, type GroupPlace, type OwnMethod, ownGroup } from './group-places.ts';

export type AskedGroups = Exclude<Awaited<ReturnType<typeof findGroups>>, Refused | Invalid>;

interface Asked {
  /** Codes of countries, and groups by `@` and id. */
  places: readonly string[];
  /** ISO3 codes. */
  own: readonly string[] | undefined;
  method: OwnMethod;
  transforms: readonly Transform[];
}

const FEWEST_MEMBERS = 3;
const TOO_FEW = `a group has ${FEWEST_MEMBERS} members or more, of the countries that the snapshot has`;
const NOT_OF_GROUPS =
  'groups as places take change, growth, index and mean, and first of all per_head and per where figures add up';

/** @throws {SnapshotUnreadable} */
export async function findGroups(
  edition: Edition,
  entries: readonly CatalogueEntry[],
  { places, own, method, transforms }: Asked,
) {
  const known = await edition.groups();
  if (known === null) return refused('not_in_edition', `Snapshot ${edition.id} has no figures of groups.`);
  const groups: GroupPlace[] = [];
  const facts: object[] = [];
  for (const place of places.filter((one) => one.startsWith(GROUP_MARK))) {
    const found = known.groups.find(({ id }) => GROUP_MARK + id === place);
    if (found === undefined)
      return refused('not_in_edition', `Snapshot ${edition.id} has no figures of ${place}.`);
    groups.push(declaredGroup(edition, known, found));
    const { id: _, ...rest } = found;
    facts.push({ group: place, ...rest });
  }
  if (own !== undefined) {
    const members = [...new Set(own)].filter((iso3) => edition.countriesByCode.has(iso3)).sort();
    if (members.length < FEWEST_MEMBERS) return invalid(TOO_FEW, ['query', 'group']);
    const group = ownGroup(edition, known, members, method);
    groups.push(group);
    facts.push({ group: group.code, members });
  }
  const weights = new Map<string, IndicatorRecord>();
  for (const entry of entries) {
    const found = await weightOf(edition, entry, method, own !== undefined);
    if (found !== null && 'kind' in found) return found;
    if (found !== null) weights.set(found.id, found);
  }
  for (const { measured } of entries) {
    const isFit = isOfGroups({ aggregate: own === undefined ? (measured?.aggregate ?? 'none') : 'none' });
    const unfit = transforms.findIndex((transform, at) => !isFit(transform, at));
    const other = transforms[unfit];
    if (other !== undefined)
      return invalid(NOT_OF_GROUPS, ['query', 'transform', unfit], transformWord(other));
  }
  /** Of the weights of means, which are credited as well. */
  const others = [...weights.values()];
  const credits = others.length === 0 ? {} : { weights: others.map(creditOf) };
  return { groups, others, meta: { aggregate: method, groups: facts, ...credits } };
}

/**
 * The series that weighs the members; null for a sum.
 * @param isOwn by members that the caller chose, what is covered of a sum would tell the population, too
 */
async function weightOf(
  edition: Edition,
  { record, measured }: CatalogueEntry,
  method: OwnMethod,
  isOwn: boolean,
): Promise<IndicatorRecord | Refused | Invalid | null> {
  if (measured === null) return notMeasured(edition, record.id);
  const { measure, aggregate, weight } = measured;
  const isDeclared = method === 'declared';
  if (isDeclared ? aggregate === 'none' : measure === 'other') {
    const rightFor = isDeclared
      ? 'series whose figures add up or have a weight'
      : 'everything whose measure is decided';
    const refusal = { at: 0, transform: 'aggregate', measure, rightFor, instead: [] };
    return transformUndefined(refusal, record.id, 'aggregate');
  }
  const isSum = aggregate === 'sum';
  const population = isSum && isOwn ? (await edition.groupFigures(record.id))?.divisor : null;
  const taken = isDeclared ? (isSum ? population : weight) : null;
  if (taken == null) return null;
  const found = await findOpen(edition, taken, true);
  if ('kind' in found) return found;
  return isSum ? null : found.entry.record;
}
