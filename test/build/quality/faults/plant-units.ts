/** Faults of units and labels. */

import type { FaultKind } from './fault.ts';
import { type Figure, greatest, median, scale, valuesOf } from './figures.ts';
import type { GoodSeries } from './good-data.ts';
import {
  clearlyDiffer,
  faultOf,
  type Planted,
  type Planter,
  replaced,
  type Tools,
  twinTells,
  twinTellsOf,
} from './tools.ts';
import {
  countsPeople,
  currencyOf,
  isFraction,
  isNationalMoney,
  isPercent,
  isShare,
  type Label,
  namedBase,
  possibleRange,
  rateBase,
} from './units.ts';

const MIN_VALUES = 100;
/** Beyond this, even a percentage of something smaller is doubtful when half of the values are. */
const DOUBTFUL_PERCENT = 1000;
const WHOLE_REACHED = 0.9;

/** Whether any value is beyond what the label allows. */
export function isImpossible(label: Label, figures: readonly Figure[]): boolean {
  const range = possibleRange(label);
  if (range === null) return false;
  const [low, high] = range;
  // A hundredth of tolerance: rounded shares exceed 100 a little.
  return valuesOf(figures).some((value) => value < low - 0.01 * high || value > 1.01 * high);
}

/** Figures of a series with a percentage that keep to 0 and 100, or null. */
async function goodShare({ id, record }: GoodSeries, { data }: Tools): Promise<Figure[] | null> {
  if (!isPercent(record)) return null;
  const figures = await data.figures(id);
  const values = valuesOf(figures);
  const isGood = values.length >= MIN_VALUES && values.every((value) => value >= 0 && value <= 100);
  return isGood && greatest(values) > 1 ? figures : null;
}

const relabel = (kind: FaultKind, series: GoodSeries, unit: string, alone: boolean): Planted => ({
  fault: faultOf(kind, series, alone, `unit "${series.record.unit}" became "${unit}"`),
  changes: { labels: { [series.id]: { unit } } },
});

export const unitShareOfOne: Planter = async (series, tools) => {
  const figures = await goodShare(series, tools);
  if (!figures) return null;
  return relabel('unit_share_of_one', series, 'share of one', greatest(valuesOf(figures)) > 1);
};

export const shareAsFraction: Planter = async (series, tools) => {
  const figures = await goodShare(series, tools);
  if (!figures) return null;
  const after = scale(figures, 0.01);
  const alone =
    greatest(valuesOf(after)) > WHOLE_REACHED || (await twinTells(tools, series.id, figures, after));
  return replaced(after, 'share_as_fraction', series, alone, 'all values divided by 100');
};

export const shareTimes100: Planter = async (series, tools) => {
  const figures = await goodShare(series, tools);
  if (!figures) return null;
  const after = scale(figures, 100);
  const values = valuesOf(after);
  const alone =
    (isShare(series.record) && greatest(values) > 100) ||
    median(values) > DOUBTFUL_PERCENT ||
    (await twinTells(tools, series.id, figures, after));
  return replaced(after, 'share_times_100', series, alone, 'all values multiplied by 100');
};

export const shareTimes100Countries: Planter = async (series, tools) => {
  const figures = await goodShare(series, tools);
  if (!figures) return null;
  const nonZero = figures.filter(({ value }) => value !== null && value > 0);
  const countries = [...new Set(nonZero.map(({ iso3 }) => iso3))];
  if (countries.length < 20) return null;
  const chosen = tools.random.shuffle(countries).slice(0, tools.random.between(1, 3));
  const isChosen = ({ iso3 }: Figure): boolean => chosen.includes(iso3);
  const after = scale(figures, 100, isChosen);
  let alone = isShare(series.record) && greatest(valuesOf(after.filter(isChosen))) > 100;
  for (const iso3 of chosen) alone ||= await twinTellsOf(tools, series.id, iso3, figures, after);
  return replaced(
    after,
    'share_times_100_countries',
    series,
    alone,
    `${chosen.join(', ')} multiplied by 100`,
  );
};

/** Whether a series is a plain count or amount of money with enough positive values. */
async function goodAmount({ id, record }: GoodSeries, { data }: Tools): Promise<Figure[] | null> {
  if (!countsPeople(record) && !isNationalMoney(record)) return null;
  if (/thousand|million|billion/i.test(record.name)) return null;
  const figures = await data.figures(id);
  return valuesOf(figures).filter((value) => value > 0).length >= MIN_VALUES ? figures : null;
}

export const unitScale: Planter = async (series, tools) => {
  const figures = await goodAmount(series, tools);
  if (!figures) return null;
  const [word, factor] = tools.random.pick([
    ['thousands', 1e3],
    ['millions', 1e6],
  ] as const);
  const unit = `${word} of ${series.record.unit}`;
  const alone =
    isImpossible({ ...series.record, unit }, figures) ||
    (await twinTells(tools, series.id, figures, scale(figures, factor)));
  return relabel('unit_scale', series, unit, alone);
};

export const figuresScale: Planter = async (series, tools) => {
  const figures = await goodAmount(series, tools);
  if (!figures) return null;
  const factor = tools.random.pick([1e3, 1e-3]);
  const after = scale(figures, factor);
  const alone = isImpossible(series.record, after) || (await twinTells(tools, series.id, figures, after));
  return replaced(after, 'figures_scale', series, alone, `all values multiplied by ${factor}`);
};

export const unitRateBase: Planter = async (series, tools) => {
  const base = rateBase(series.record.unit);
  if (base !== 1_000 && base !== 100_000) return null;
  const figures = await tools.data.figures(series.id);
  if (valuesOf(figures).length < MIN_VALUES) return null;
  const [from, to] = base === 1_000 ? ['1,000', '100,000'] : ['100,000', '1,000'];
  const unit = (series.record.unit ?? '').replace(`per ${from}`, `per ${to}`);
  const factor = base === 1_000 ? 0.01 : 100;
  const alone =
    namedBase(series.record.name) === base ||
    isImpossible({ ...series.record, unit }, figures) ||
    (await twinTells(tools, series.id, figures, scale(figures, factor)));
  return relabel('unit_rate_base', series, unit, alone);
};

export const unitCurrency: Planter = async (series, tools) => {
  const { unit, name } = series.record;
  const currency = currencyOf(unit ?? '');
  if (unit === null || !/US\$|international (\$|dollars)/.test(unit) || currency === null) return null;
  const swapped =
    currency === 'US$'
      ? unit.replace('US$', 'international $')
      : unit.replace(/international (\$|dollars)/, 'US$');
  const figures = await tools.data.figures(series.id);
  if (valuesOf(figures).length < MIN_VALUES) return null;
  let alone = currencyOf(name) === currency;
  for (const twin of tools.data.twinsOf(series.id)) {
    const agrees = !clearlyDiffer(figures, await tools.data.figures(twin.id));
    alone ||= agrees && currencyOf(twin.record.unit ?? '') === currency;
  }
  return relabel('unit_currency', series, swapped, alone);
};

export const labelOfOther: Planter = async (series, tools) => {
  const { random, data } = tools;
  const figures = await data.figures(series.id);
  if (valuesOf(figures).length < MIN_VALUES) return null;
  for (const id of random.shuffle([...data.series.keys()]).slice(0, 8)) {
    const other = data.get(id);
    const isNear = other.providerId === series.providerId && other.record.topic === series.record.topic;
    if (!isNear || id === series.id || other.record.unit === null || other.record.name === series.record.name)
      continue;
    if (!clearlyDiffer(figures, await data.figures(id))) continue;
    const { name, unit } = other.record;
    return {
      fault: faultOf(
        'label_of_other',
        series,
        true,
        `"${series.record.name}" became "${name}" (${unit})`,
        id,
      ),
      changes: { labels: { [series.id]: { name, unit } } },
    };
  }
  return null;
};

export const figuresOfOther: Planter = async (series, tools) => {
  const { random, data } = tools;
  const figures = await data.figures(series.id);
  if (valuesOf(figures).length < MIN_VALUES) return null;
  for (const id of random.shuffle([...data.series.keys()]).slice(0, 8)) {
    const other = data.get(id);
    if (id === series.id || other.providerId !== series.providerId) continue;
    const others = await data.figures(id);
    if (!clearlyDiffer(figures, others)) continue;
    const alone =
      isImpossible(series.record, others) ||
      isImpossible(other.record, figures) ||
      (await twinTells(tools, series.id, figures, others)) ||
      (await twinTells(tools, id, others, figures));
    return {
      fault: faultOf('figures_of_other', series, alone, `figures exchanged with ${id}`, id),
      changes: { figures: { [series.id]: others, [id]: figures } },
    };
  }
  return null;
};

export const baseYearDropped: Planter = async (series) => {
  const { unit, name } = series.record;
  const [, year] = /\bconstant (\d{4}) /.exec(unit ?? '') ?? [];
  if (unit === null || year === undefined) return null;
  return relabel('base_year_dropped', series, unit.replace(` ${year}`, ''), !name.includes(year));
};

export const descriptionRepeatsName: Planter = async (series) => {
  const { id, record } = series;
  if (record.description === null || record.description === record.name) return null;
  return {
    fault: faultOf('description_repeats_name', series, true, `the description is "${record.name}"`),
    changes: { labels: { [id]: { description: record.name } } },
  };
};

export const duplicateSeries: Planter = async (series, tools) => {
  const figures = await tools.data.figures(series.id);
  if (isFraction(series.record) || valuesOf(figures).length < MIN_VALUES) return null;
  const id = `${series.id}_revised`;
  const name = `${series.record.name}, revised estimates`;
  return {
    fault: faultOf('duplicate_series', series, true, `published again as ${id}, "${name}"`, id),
    changes: { added: { id, like: series.id, name } },
  };
};
