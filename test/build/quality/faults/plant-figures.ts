/** Faults of single figures, countries and years. */
import { countriesOf, type Figure, greatest, least, median, scale, valuesOf, yearsOf } from './figures.ts';
import type { GoodData, GoodSeries } from './good-data.ts';
import { byCountry, faultOf, type Planter, replaced, twinTellsOf } from './tools.ts';

const MIN_VALUES = 300;
const MIN_COUNTRIES = 10;

export const signFlipped: Planter = async (series, { random, data }) => {
  const figures = await data.figures(series.id);
  const values = valuesOf(figures);
  if (values.length < MIN_VALUES || least(values) <= 0) return null;
  const country = random.pick(countriesOf(figures));
  const years = yearsOf(figures.filter(({ iso3 }) => iso3 === country));
  const from = random.pick(years);
  const last = from + random.between(0, 4);
  const isChosen = ({ iso3, year }: Figure): boolean => iso3 === country && year >= from && year <= last;
  return replaced(
    scale(figures, -1, isChosen),
    'sign_flipped',
    series,
    true,
    `${country} ${from} to ${last} multiplied by -1`,
  );
};

/** Whether a country has a value in each of seven years or more, and never doubles or halves within one. */
function isSteady(values: readonly { year: number; value: number }[]): boolean {
  if (values.length < 7) return false;
  return values.every(({ year, value }, at) => {
    const before = values[at - 1];
    if (value <= 0) return false;
    if (before === undefined) return true;
    const ratio = value / before.value;
    return year === before.year + 1 && ratio < 2 && ratio > 0.5;
  });
}

export const decimalSlipped: Planter = async (series, { random, data }) => {
  const figures = await data.figures(series.id);
  const steady = [...byCountry(figures)].filter(([, values]) => isSteady(values));
  const [chosen] = random.shuffle(steady);
  if (!chosen) return null;
  const [country, values] = chosen;
  const length = Math.min(random.between(1, 3), values.length - 6);
  const from = values[random.between(3, values.length - 3 - length)]?.year ?? 0;
  const last = from + length - 1;
  const isSlipped = ({ iso3, year }: Figure): boolean => iso3 === country && year >= from && year <= last;
  return replaced(
    scale(figures, 10, isSlipped),
    'decimal_slipped',
    series,
    true,
    `${country} ${from} to ${last} multiplied by 10`,
  );
};

export const countriesSwapped: Planter = async (series, tools) => {
  const { random, data } = tools;
  const figures = await data.figures(series.id);
  const large = [...byCountry(figures)].filter(([, values]) => values.length >= 10);
  const [one, two] = random.shuffle(large);
  if (!one || !two) return null;
  const [[a, valuesOfA], [b, valuesOfB]] = [one, two];
  const ratio = median(valuesOfA.map(({ value }) => value)) / median(valuesOfB.map(({ value }) => value));
  if (!(ratio > 3 || (ratio > 0 && ratio < 1 / 3))) return null;
  const other: Record<string, string> = { [a]: b, [b]: a };
  const after = figures
    .map((figure) => ({ ...figure, iso3: other[figure.iso3] ?? figure.iso3 }))
    .sort((x, y) => (x.iso3 < y.iso3 ? -1 : x.iso3 > y.iso3 ? 1 : x.year - y.year));
  const alone =
    (await twinTellsOf(tools, series.id, a, figures, after)) ||
    (await twinTellsOf(tools, series.id, b, figures, after));
  return replaced(after, 'countries_swapped', series, alone, `${a} and ${b} exchanged`);
};

/** |log| of the change from one year to the next, of every country that has both. */
function changesInto(figures: readonly Figure[], into: number): number[] {
  return [...byCountry(figures).values()].flatMap((values) => {
    const [before, after] = [into - 1, into].map(
      (wanted) => values.find(({ year }) => year === wanted)?.value,
    );
    if (before === undefined || after === undefined || before <= 0 || after <= 0) return [];
    return [Math.abs(Math.log(after / before))];
  });
}

const A_FIFTH = Math.log(1.2);

export const levelBreak: Planter = async (series, { random, data }) => {
  const figures = await data.figures(series.id);
  if (valuesOf(figures).length < MIN_VALUES || least(valuesOf(figures)) < 0) return null;
  const years = yearsOf(figures);
  const middle = years.slice(Math.floor(years.length / 3), Math.ceil((years.length * 2) / 3));
  const from = middle.length > 0 ? random.pick(middle) : Number.NaN;
  const changes = changesInto(figures, from);
  if (changes.length < MIN_COUNTRIES || median(changes) > A_FIFTH) return null;
  const factor = random.pick([10, 100, 1000]);
  const after = scale(figures, factor, ({ year }) => year >= from);
  return replaced(after, 'level_break', series, true, `multiplied by ${factor} from ${from} on`);
};

const MIN_FLAGGED = 30;

const isFlagged = ({ projected, year }: Figure, projectedFrom: number): boolean =>
  projected ?? year >= projectedFrom;

/** Whether a first forecast year stands in the overlay row of the series and nowhere else. */
function isRuledByItsRow({ id, slug, providerId, overlay }: GoodSeries, { curated }: GoodData): boolean {
  const definition = curated.providers.get(providerId);
  const others = [
    curated.concepts.settingsOf(id),
    definition,
    definition?.indicators[slug],
    ...(definition?.rules.map(({ set }) => set) ?? []),
  ];
  const year = overlay.projected_from;
  return year !== undefined && others.every((one) => one?.projected_from !== year);
}

/** Drops the flags of upstream where each row has one, or else the rule of the series. */
export const flagDropped: Planter = async (series, { data }) => {
  const { id, projectedFrom } = series;
  const figures = await data.figures(id);
  const flagged = figures.filter((one) => one.value !== null && isFlagged(one, projectedFrom));
  const isStated = figures.every(({ projected }) => projected !== null);
  const isRuled = figures.every(({ projected }) => projected === null) && isRuledByItsRow(series, data);
  if (flagged.length < MIN_FLAGGED || (!isStated && !isRuled)) return null;
  const future = flagged.filter(({ year }) => year > data.currentYear).length;
  const keys = new Set(flagged.map(({ iso3, year }) => `${iso3}${year}`));
  let atTwin = 0;
  for (const twin of data.twinsOf(id)) {
    const others = await data.figures(twin.id);
    const common = others.filter(
      (one) => isFlagged(one, twin.projectedFrom) && keys.has(`${one.iso3}${one.year}`),
    );
    atTwin = Math.max(atTwin, common.length);
  }
  const note = `${flagged.length} projected values to ${greatest(flagged.map(({ year }) => year))} not flagged`;
  return {
    fault: faultOf('flag_dropped', series, future > 0 || atTwin >= MIN_FLAGGED, note),
    changes: isStated
      ? { figures: { [id]: figures.map((one) => ({ ...one, projected: false })) } }
      : { settings: { [id]: { projected_from: '' } } },
  };
};
