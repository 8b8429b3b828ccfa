/** Groups asked for as places: whether an edition has figures of them, and what an answer says of them. */
import { type Transform, transformWord } from '../../../../data/derived/transforms.ts';
import type { EditionGroups } from '../../../../data/schema/groups.ts';
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import { creditOf } from '../../encoders/encoders.ts';
import type { CatalogueEntry, Edition } from '../../snapshot/snapshot.ts';
import { exportRestricted, findOpen, type Invalid, type Refused, refused } from '../operation.ts';
import { GROUP_MARK } from '../parameters/place-names.ts';
import { transformUndefined } from '../parameters/transforms.ts';
import { toDetail } from '../parameters/validation.ts';
import { notMeasured } from './derived-series.ts';

export interface AskedGroups {
  groups: EditionGroups['groups'];
  /** Of the weights of means, which are credited as well. */
  others: readonly IndicatorRecord[];
  meta: Readonly<Record<string, unknown>>;
}

interface Asked {
  /** Codes of countries, and groups by `@` and id. */
  places: readonly string[];
  transforms: readonly Transform[];
}

/** @throws {SnapshotUnreadable} */
export async function findGroups(
  edition: Edition,
  entries: readonly CatalogueEntry[],
  { places, transforms }: Asked,
): Promise<AskedGroups | Refused | Invalid> {
  const known = await edition.groups();
  const groups: AskedGroups['groups'] = [];
  for (const place of places.filter((one) => one.startsWith(GROUP_MARK))) {
    const found = known?.groups.find(({ id }) => GROUP_MARK + id === place);
    if (found === undefined)
      return refused('not_in_edition', `Snapshot ${edition.id} has no figures of ${place}.`);
    groups.push(found);
  }
  const weights = new Map<string, IndicatorRecord>();
  for (const entry of entries) {
    const found = await weightOf(edition, entry);
    if (found !== null && 'kind' in found) return found;
    if (found !== null) weights.set(found.id, found);
  }
  const divided = transforms.findIndex(({ name }) => name.startsWith('per') || name === 'share');
  const other = transforms[divided];
  if (other !== undefined) return notOfGroups(divided, other);
  const facts = groups.map(({ id, name, members, source, as_of }) => ({
    ...{ group: GROUP_MARK + id, name, members, source, as_of },
  }));
  const others = [...weights.values()];
  const credits = others.length === 0 ? {} : { weights: others.map(creditOf) };
  return { groups, others, meta: { aggregate: 'declared', groups: facts, ...credits } };
}

/** The series that weighs the members; null for a sum. */
async function weightOf(
  edition: Edition,
  { record, measured }: CatalogueEntry,
): Promise<IndicatorRecord | Refused | Invalid | null> {
  if (measured === null) return notMeasured(edition, record.id);
  const { measure, aggregate, weight } = measured;
  if (aggregate === 'none') {
    const rightFor = 'series whose figures add up or have a weight';
    const refusal = { at: 0, transform: 'aggregate', measure, rightFor, instead: [] };
    return transformUndefined(refusal, record.id, 'aggregate');
  }
  if (aggregate === 'sum' || weight === null) return null;
  const found = await findOpen(edition, weight);
  if (!('kind' in found)) return found.entry.record;
  return found.error.code === 'export_restricted' ? exportRestricted(weight) : found;
}

function notOfGroups(at: number, transform: Transform): Invalid {
  const error = 'groups as places take change, growth, index and mean';
  const failure = { type: 'value_error', ctx: { error } } as const;
  return {
    kind: 'invalid',
    detail: [toDetail(failure, ['query', 'transform', at], transformWord(transform))],
  };
}
