/** Plans the receipt of a derived figure: what it proves, which rows it takes, and so what it costs. */
import type { Recipe } from '../../../../data/derived/recompute.ts';
import { type Transform, transformWord } from '../../../../data/derived/transforms.ts';
import type { Notice } from '../../../../data/proofs/receipt.ts';
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';
import { truncateInput } from '../../core/errors.ts';
import type { CatalogueEntry, Edition } from '../../snapshot/snapshot.ts';
import { findGroups } from '../observations/asked-groups.ts';
import { deriveSeries } from '../observations/derived-series.ts';
import {
  type AsOf,
  findOpen,
  type Invalid,
  invalid,
  jsonAnswer,
  type Planned,
  type Refused,
  refused,
  underAlias,
} from '../operation.ts';
import { GROUP_MARK } from '../parameters/place-names.ts';

/** Of each series. */
const ROWS_MAX = 300;

interface Asked {
  indicator: string;
  place: string;
  year: number;
  transform?: readonly Transform[] | undefined;
  aggregate?: 'declared' | undefined;
  as_of?: AsOf | undefined;
}

export async function planDerivation(edition: Edition, asked: Asked): Promise<Planned> {
  const found = await findOpen(edition, asked.indicator);
  if ('kind' in found) return found;
  const { entry, alias } = found;
  const fault = await faultIn(edition, entry, asked);
  if (fault !== null) return fault;
  const transforms = (asked.transform ?? []).map((one) =>
    one.name === 'per' ? { ...one, indicator: edition.resolve(one.indicator).id } : one,
  );
  const recipe: Recipe = {
    indicator: entry.record.id,
    place: asked.place,
    year: asked.year,
    transform: transforms.map(transformWord),
    aggregate: asked.aggregate ?? null,
  };
  return planProof(edition, recipe, asked, alias);
}

/** Why nothing of the kind is derived. */
async function faultIn(
  edition: Edition,
  entry: CatalogueEntry,
  { place, transform, aggregate }: Asked,
): Promise<Refused | Invalid | null> {
  const isGroup = place.startsWith(GROUP_MARK);
  if (isGroup !== (aggregate !== undefined)) {
    const error = 'aggregate=declared and a group as country go together';
    return invalid(error, ['query', 'aggregate'], aggregate);
  }
  const transforms = transform ?? [];
  if (transforms.length > 0) {
    const derived = await deriveSeries(edition, [entry], transforms);
    if ('kind' in derived) return derived;
  }
  if (isGroup) {
    const groups = await findGroups(edition, [entry], {
      places: [place],
      own: undefined,
      method: 'declared',
      transforms,
    });
    return 'kind' in groups ? groups : null;
  }
  const share = transforms.flatMap((one) => (one.name === 'share' ? [one.group] : []))[0];
  if (share === undefined) return null;
  const group = (await edition.groups())?.groups.find(({ id }) => id === share);
  return group?.members.includes(place) ? null : refused('figure_not_found', `${place} is not in @${share}.`);
}

async function planProof(
  edition: Edition,
  recipe: Recipe,
  asked: Asked,
  alias: IndicatorAlias | null,
): Promise<Planned> {
  const derivation = await edition.derivation(recipe);
  if (derivation === null)
    return refused('not_in_edition', `Snapshot ${edition.id} does not prove derived figures.`);
  const { figure, taken } = derivation;
  const all = [...taken.values()];
  const most = Math.max(...all.map((rows) => rows.length));
  if (most > ROWS_MAX) {
    const advice = 'take the rows from /v1/data, and receipts of these';
    return invalid({ type: 'too_many_rows', ctx: { max_rows: ROWS_MAX, advice } }, ['query']);
  }
  if (all.flat().some(({ iso3 }) => !edition.countriesByCode.has(iso3)))
    return refused('not_in_edition', 'The proof takes a row of a country that is not shown.');
  const notices: (Notice & { indicator: string })[] = [];
  for (const indicator of taken.keys()) {
    const input = await findOpen(edition, indicator, true);
    if ('kind' in input) return input;
    const { licence, licence_url, attribution } = input.entry.record;
    notices.push({ indicator, licence, licence_url, attribution });
  }
  // Last: why there is none tells something of rows, which may have to stay hidden.
  if (figure.value === null) {
    const what = `${truncateInput(asked.indicator)} of ${recipe.place} in ${recipe.year}`;
    return refused('figure_not_found', `There is no such figure: ${what} (${figure.reason}).`);
  }
  const rows = all.reduce((sum, { length }) => sum + length, 0);
  const produce = async () => {
    const data = await derivation.receipt(notices);
    return jsonAnswer(data, { generated_at: edition.generatedAt, as_of: asked.as_of?.sent });
  };
  const indicators = notices.map(({ indicator }) => indicator);
  return underAlias({ kind: 'plan', price: rows, rows, indicators, produce }, alias);
}
