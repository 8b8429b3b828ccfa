/** Faults between a series and its twin. */
import { TOPIC_SLUGS } from '../../../../data/schema/curated.ts';
import type { FaultKind } from './fault.ts';
import { compare, type Figure, valuesOf, yearsOf } from './figures.ts';
import type { GoodSeries } from './good-data.ts';
import {
  agreeingTwins,
  clearlyDiffer,
  faultOf,
  type Planted,
  type Planter,
  replaced,
  type Tools,
} from './tools.ts';

const VISIBLE_SHIFT = 0.002;
const SHIFT_FACTOR = 3;
const OUTDATED_YEARS = 5;

export const twinShifted: Planter = async (series, tools) => {
  const { random, data } = tools;
  const figures = await data.figures(series.id);
  const [twin] = await agreeingTwins(tools, series.id, figures);
  if (!twin) return null;
  const years = random.pick([-1, 1]);
  const after = figures.map((one) => ({ ...one, year: one.year + years }));
  const others = await data.figures(twin.id);
  const [was, is] = [compare(figures, others).difference, compare(after, others).difference];
  const alone = is >= SHIFT_FACTOR * was && is >= VISIBLE_SHIFT;
  return replaced(
    after,
    'twin_shifted',
    series,
    alone,
    `all years moved by ${years} against ${twin.id}`,
    twin.id,
  );
};

/** Plants a curated setting that contradicts a twin that agrees in its figures. */
async function contradict(
  kind: FaultKind,
  series: GoodSeries,
  tools: Tools,
  setting: (twin: GoodSeries) => Record<string, string> | null,
): Promise<Planted | null> {
  const twins = await agreeingTwins(tools, series.id, await tools.data.figures(series.id));
  for (const twin of twins) {
    const settings = setting(twin);
    if (settings === null) continue;
    const note = `${Object.entries(settings).map(([name, value]) => `${name} became ${value}`)} against ${twin.id}`;
    return {
      fault: faultOf(kind, series, true, note, twin.id),
      changes: { settings: { [series.id]: settings } },
    };
  }
  return null;
}

export const twinDirection: Planter = (series, tools) =>
  contradict('twin_direction', series, tools, ({ record }) => {
    const own = series.record.higher_is_better;
    return own === null || own !== record.higher_is_better ? null : { higher_is_better: String(!own) };
  });

export const twinTopic: Planter = (series, tools) =>
  contradict('twin_topic', series, tools, ({ record }) => {
    if (record.topic !== series.record.topic) return null;
    return { topic: tools.random.pick(TOPIC_SLUGS.filter((topic) => topic !== record.topic)) };
  });

export const twinsFeatured: Planter = async (series, tools) =>
  contradict('twins_featured', series, tools, ({ record }) =>
    record.featured && !series.record.featured ? { featured: 'true' } : null,
  );

export const preferredOutdated: Planter = async (series, tools) => {
  const { data } = tools;
  if (!series.record.preferred) return null;
  const figures = await data.figures(series.id);
  for (const twin of await agreeingTwins(tools, series.id, figures)) {
    const newest = observedUntil(await data.figures(twin.id), twin.projectedFrom);
    const last = newest - OUTDATED_YEARS - tools.random.between(0, 5);
    const kept = figures.filter(({ year }) => year <= last);
    if (series.projectedFrom <= last || kept.length < figures.length / 4) continue;
    const note = `preferred, cut off after ${last}; ${twin.id} has ${newest}`;
    return replaced(kept, 'preferred_outdated', series, true, note, twin.id);
  }
  return null;
};

function observedUntil(figures: readonly Figure[], projectedFrom: number): number {
  const observed = figures.filter(({ projected, year }) => !(projected ?? year >= projectedFrom));
  return yearsOf(observed).at(-1) ?? Number.NEGATIVE_INFINITY;
}

export const falseTwin: Planter = async (series, { random, data }) => {
  const figures = await data.figures(series.id);
  if (valuesOf(figures).length < 100) return null;
  for (const id of random.shuffle([...data.series.keys()]).slice(0, 8)) {
    const other = data.get(id);
    if ([id, series.id].some((one) => data.curated.concepts.of(one))) continue;
    const hasSameTopic =
      other.record.topic === series.record.topic && other.record.unit === series.record.unit;
    if (
      id === series.id ||
      !hasSameTopic ||
      data.twinsOf(id).length > 0 ||
      data.twinsOf(series.id).length > 0
    )
      continue;
    if (other.record.higher_is_better !== series.record.higher_is_better) continue;
    if (!clearlyDiffer(figures, await data.figures(id))) continue;
    return {
      fault: faultOf('false_twin', series, true, `linked with ${id} as one concept`, id),
      changes: { linked: [series.id, id] },
    };
  }
  return null;
};
