/** Faults of units, words and settings: what an editor writes about a series, or which series it says they are. */
import type { PlannedIndicator } from '../../../../build/editions/plan/plan-snapshot.ts';
import { TOPIC_SLUGS } from '../../../../data/schema/curated.ts';
import type { Random } from '../../../seeded-random.ts';
import {
  edited,
  isFigure,
  isNation,
  labelled,
  number,
  type Plant,
  placesOf,
  type Surroundings,
} from './planting.ts';
import type { Edit, UpstreamSeries } from './upstream.ts';

const CURRENT_YEAR = 2026;
const DIFFERS = 0.3;

export const unit =
  (pattern: RegExp, replacement: string): Plant =>
  (series) => {
    const changed = series.label.unit.replace(pattern, replacement);
    return changed === series.label.unit ? null : labelled(series, { unit: changed });
  };
export const firstOf =
  (...plants: Plant[]): Plant =>
  (series, around) => {
    for (const plant of around.random.shuffle(plants)) {
      const fault = plant(series, around);
      if (fault) return fault;
    }
    return null;
  };

/** Whether two series have many figures in common, and other ones. */
function clearlyDiffer(a: UpstreamSeries, b: UpstreamSeries): boolean {
  const known = new Map(b.rows.filter(isFigure).map((row) => [`${row.place} ${row.year}`, number(row)]));
  const apart = a.rows.filter(isFigure).flatMap((row) => {
    const other = known.get(`${row.place} ${row.year}`);
    const size = Math.max(Math.abs(number(row)), Math.abs(other ?? 0));
    return other === undefined ? [] : [size === 0 ? 0 : Math.abs(number(row) - other) / size];
  });
  return apart.length >= 100 && apart.filter((one) => one > DIFFERS).length > apart.length / 2;
}
/** Another free series of the same provider, with a unit and other figures. */
const findOther = (
  series: UpstreamSeries,
  { free, concepts }: Surroundings,
  isFit: (other: UpstreamSeries) => boolean,
): UpstreamSeries | undefined =>
  free.find(
    (one) =>
      one !== series &&
      one.provider === series.provider &&
      one.label.unit !== '' &&
      !concepts.of(one.id) &&
      isFit(one) &&
      clearlyDiffer(series, one),
  );

export const labelOfOther: Plant = (series, around) => {
  const { name, unit: measure } = series.label;
  const other = findOther(series, around, ({ label }) => label.name !== name && label.unit !== measure);
  if (measure === '' || !other) return null;
  const planted = labelled(series, { name: other.label.name, unit: other.label.unit });
  return { ...planted, series: [series.id, other.id] };
};
/** A series is another one again, under a longer name. */
export const duplicateSeries: Plant = (series, around) => {
  const other = findOther(series, around, ({ rows }) => rows.length > 500);
  if (series.label.unit === '' || !other) return null;
  const label = { name: `${other.label.name}, revised estimates`, unit: other.label.unit };
  return {
    series: [series.id, other.id],
    note: `is ${other.id} again`,
    edits: [{ series: series.id, rows: other.rows, label }],
  };
};
/** Two series of one unit that differ are listed as one concept. */
export const falseTwin: Plant = (series, around) => {
  const { unit: measure, projected_from: from } = series.label;
  const other = findOther(
    series,
    around,
    ({ label }) => label.unit === measure && label.projected_from === from,
  );
  if (measure === '' || around.concepts.of(series.id) || !other) return null;
  return {
    series: [series.id, other.id],
    note: `is one concept with ${other.id}`,
    edits: [
      { series: series.id, label: { preferred: '' }, linked: other.id },
      { series: other.id, label: { preferred: '', featured: '' } },
    ],
  };
};

/** Series of a concept take these settings from it: an overlay that says something else is refused (`test/data`). */
const setting =
  (change: (record: PlannedIndicator['record'], random: Random) => Edit['label'] | null): Plant =>
  (series, { concepts, published, random }) => {
    const record = published.get(series.id);
    const label = record && !concepts.of(series.id) ? change(record, random) : null;
    return label ? labelled(series, label) : null;
  };
export const topicChanged = setting((record, random) => ({
  topic: random.pick(TOPIC_SLUGS.filter((topic) => topic !== record.topic)),
}));
export const directionReversed = setting(({ higher_is_better: direction }) =>
  direction === null ? null : { higher_is_better: String(!direction) },
);
export const flagDropped: Plant = (series, { concepts }) =>
  series.label.projected_from === '' || concepts.of(series.id)
    ? null
    : labelled(series, { projected_from: '' });
export const descriptionRepeatsName: Plant = (series) =>
  series.label.description === '' ? null : labelled(series, { description: series.label.name });

/** A featured series ended eight years ago or more. */
export const featuredEnded: Plant = (series, { random, concepts }) => {
  const last = CURRENT_YEAR - random.between(8, 16);
  const kept = series.rows.filter(({ year }) => year <= last);
  const newest = Math.max(...series.rows.filter(isFigure).map(({ year }) => year));
  if (concepts.of(series.id) || series.label.unit === '' || newest < CURRENT_YEAR - 4) return null;
  if (kept.length < series.rows.length / 4 || Number(series.label.projected_from || Infinity) <= last)
    return null;
  return {
    series: [series.id],
    note: `featured, and cut off after ${last}`,
    edits: [{ series: series.id, rows: kept, label: { featured: 'true' } }],
  };
};
/** The preferred one of twins ends five or more years before another. */
export const preferredOutdated: Plant = (series, { random, concepts, upstream }) => {
  const concept = concepts.of(series.id)?.concept;
  if (concept?.preferred !== series.id) return null;
  for (const member of concepts.members.get(concept.id) ?? []) {
    const other = upstream.series.get(member.series.indicator);
    if (!other || other === series) continue;
    const years = other.rows.filter(isFigure).map(({ year }) => year);
    const last = Math.min(Math.max(...years), CURRENT_YEAR - 3) - random.between(5, 8);
    const kept = series.rows.filter(({ year }) => year <= last);
    if (kept.length > series.rows.length / 4 && kept.length < series.rows.length)
      return edited(series, `preferred, and cut off after ${last}`, kept);
  }
  return null;
};
export const twoPlacesLeft: Plant = (series, { random }) => {
  const places = [...placesOf(series).keys()].filter(isNation);
  if (places.length < 30) return null;
  const left = random.shuffle(places).slice(0, random.between(1, 2));
  return edited(
    series,
    `only ${left.join(' and ')} left`,
    series.rows.filter(({ place }) => left.includes(place)),
  );
};
