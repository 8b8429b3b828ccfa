/** Faults of single figures, countries, years, and whole series. */
import type { Random } from '../../../seeded-random.ts';
import {
  COLUMN_YEARS,
  changed,
  edited,
  fullYear,
  isFigure,
  isPositive,
  isSteady,
  maximum,
  number,
  type Plant,
  type Planting,
  placesOf,
  steadyPlaces,
  times,
} from './planting.ts';
import type { Row, UpstreamSeries } from './upstream.ts';

type Place = [place: string, rows: Row[]];

/** A fault of one country, where twenty or more are steady. */
const ofPlace =
  (
    plant: (series: UpstreamSeries, place: Place, random: Random) => Planting | null,
    accepts: (series: UpstreamSeries) => boolean = () => true,
  ): Plant =>
  (series, { random }) => {
    const places = accepts(series) ? steadyPlaces(series) : [];
    return places.length < 20 ? null : plant(series, random.pick(places), random);
  };
/** A fault of one of twenty steady countries or more, by the figures of another. */
const ofTwo =
  (
    placesOfSeries: (series: UpstreamSeries) => Place[],
    plant: (series: UpstreamSeries, one: string, other: Place) => Planting,
  ): Plant =>
  (series, { random }) => {
    const places = placesOfSeries(series);
    if (places.length < 20) return null;
    const [[one], other] = [random.pick(places), random.pick(places)];
    return one === other[0] ? null : plant(series, one, other);
  };
/** Steady, with another figure in nearly every year. */
const movingPlaces = (series: UpstreamSeries): Place[] =>
  steadyPlaces(series).filter(
    ([, rows]) => rows.length >= 18 && new Set(rows.map(({ text }) => text)).size > 0.9 * rows.length,
  );

/** One figure of a steady country, not the first or last. */
export const cellTimes = (factor: number): Plant =>
  ofPlace((series, [place, rows], random) => {
    const { year } = random.pick(rows.slice(3, -3));
    const isIt = (row: Row): boolean => row.place === place && row.year === year;
    return changed(series, `${place} ${year} x ${factor}`, isIt, times(factor));
  });
export const yearTimes =
  (factor: number, isNewest: boolean): Plant =>
  (series, { random }) => {
    const newest = fullYear(series);
    if (newest === null || !isSteady(series)) return null;
    const year = isNewest
      ? Math.max(...series.rows.filter(isFigure).map((row) => row.year))
      : newest - random.between(2, 5);
    const isOfYear = (row: Row): boolean => row.year === year;
    if (series.rows.filter(isOfYear).length < 20) return null;
    return changed(series, `all of ${year} x ${factor}`, isOfYear, times(factor));
  };
export const allTimes =
  (factor: number, accepts: (series: UpstreamSeries) => boolean): Plant =>
  (series) =>
    accepts(series) ? edited(series, `x ${factor}`, series.rows.map(times(factor))) : null;

export const swapPlaces: Plant = (series, { random }) => {
  const places = steadyPlaces(series);
  const lastOf = (rows: Row[]): number => Number(rows.at(-1)?.text ?? 1);
  for (const [one, rows] of random.shuffle(places)) {
    const other = places.find(([, others]) => {
      const ratio = lastOf(others) / lastOf(rows);
      return ratio > 3 || ratio < 1 / 3;
    })?.[0];
    if (other === undefined) continue;
    const swapped: Record<string, string> = { [one]: other, [other]: one };
    const swap = (row: Row): Row => ({ ...row, place: swapped[row.place] ?? row.place });
    return edited(series, `${one} and ${other} are swapped`, series.rows.map(swap));
  }
  return null;
};
export const shiftYears: Plant = (series) => {
  if (!isSteady(series) || maximum(series) <= 5) return null;
  const shift = (row: Row): Row => ({ ...row, year: row.year + 1 });
  return edited(series, 'all years + 1', series.rows.map(shift));
};
export const copyOver: Plant = (series, { random, free }) => {
  const other = random.pick(
    free.filter((one) => one !== series && one.provider === series.provider && one.rows.length > 500),
  );
  return {
    ...edited(series, `has the figures of ${other.id}`, other.rows),
    series: [series.id, other.id],
  };
};
/** The newest three full years of all countries repeat the one before them. */
export const repeatYears: Plant = (series) => {
  const newest = fullYear(series);
  if (newest === null || !isSteady(series)) return null;
  const last = new Map(
    series.rows.filter(({ year }) => year === newest - 3).map((row) => [row.place, row.text]),
  );
  const isStale = (row: Row): boolean => row.year > newest - 3 && row.year <= newest && last.has(row.place);
  const changes = series.rows.filter((row) => isStale(row) && row.text !== last.get(row.place)).length;
  if (changes < 90) return null;
  const repeat = (row: Row): Row => ({ ...row, text: last.get(row.place) ?? row.text });
  return changed(series, `${newest - 2} to ${newest} repeat ${newest - 3}`, isStale, repeat);
};
/** A country repeats one figure for twelve years. */
export const repeatPlace: Plant = (series, { random }) => {
  const moving = movingPlaces(series);
  if (moving.length < 20) return null;
  const [place, rows] = random.pick(moving);
  const from = rows.at(-COLUMN_YEARS - 1);
  if (!from) return null;
  const isLater = (row: Row): boolean => row.place === place && row.year > from.year;
  return changed(series, `${place} repeats ${from.year}`, isLater, (row) => ({ ...row, text: from.text }));
};
/** A third of the countries have no figures for five to ten years in the middle. */
export const losesBlock: Plant = (series, { random }) => {
  const newest = fullYear(series);
  const places = [...placesOf(series).keys()];
  if (newest === null || places.length < 60) return null;
  const lost = new Set(random.shuffle(places).slice(0, places.length / 3));
  const [from, to] = [newest - random.between(8, 12), newest - 3];
  const rows = series.rows.filter(({ place, year }) => !(lost.has(place) && year >= from && year <= to));
  if (series.rows.length - rows.length < 60) return null;
  return edited(series, `${lost.size} places lose ${from} to ${to}`, rows);
};
/** A country stands twice in the file, once with the figures of another. */
export const placeTwice = ofTwo(steadyPlaces, (series, one, [other, rows]) =>
  edited(series, `${one} also has the figures of ${other}`, [
    ...series.rows,
    ...rows.map((row) => ({ ...row, place: one })),
  ]),
);
/** A country has the figures of another, which keeps them. */
export const placeCopied = ofTwo(movingPlaces, (series, one, [other, rows]) =>
  edited(series, `${one} has the figures of ${other}`, [
    ...series.rows.filter(({ place }) => place !== one),
    ...rows.map((row) => ({ ...row, place: one })),
  ]),
);

/** Shares that make a whole: of employment by sector, of income by fifths. */
const WHOLES = [
  ...['', 'female_', 'male_'].map((sex) =>
    ['agriculture', 'industry', 'service'].map(
      (sector) => `gapminder.${sex}${sector}_workers_percent_of_${sex}employment`,
    ),
  ),
  ['poorest', '2nd_poorest', 'middle', '2nd_richest', 'richest'].map(
    (fifth) => `gapminder.income_share_of_${fifth}_20percent`,
  ),
  ['agricultural', 'industrial', 'municipal'].map(
    (use) => `gapminder.${use}_water_withdrawal_percent_of_total`,
  ),
  ['rural_population_percent_of_total', 'urban_population_percent_of_total'].map(
    (slug) => `gapminder.${slug}`,
  ),
];
/** The other parts of a whole of which the series is one. */
export const partsWith = (id: string): string[] => WHOLES.find((parts) => parts.includes(id)) ?? [];
export const partChanged: Plant = (series, { random }) => {
  if (!partsWith(series.id).length) return null;
  const places = [...placesOf(series)].filter(
    ([, rows]) => rows.length >= 4 && rows.every((row) => number(row) > 5),
  );
  const chosen = random.shuffle(places).slice(0, 3);
  if (chosen.length < 3) return null;
  const nameOf = ({ place, year }: Row): string => `${place} ${year}`;
  const cells = new Set(chosen.flatMap(([, rows]) => rows.slice(-3).map(nameOf)));
  return {
    ...changed(series, `x 1.4 in ${[...cells].join(', ')}`, (row) => cells.has(nameOf(row)), times(1.4)),
    series: [series.id, ...partsWith(series.id).filter((id) => id !== series.id)],
  };
};
export const isShareOfWhole = (series: UpstreamSeries): boolean =>
  /_percent_of_|_percent$/.test(series.slug) &&
  series.label.unit === 'percent' &&
  maximum(series) <= 100 &&
  isPositive(series);
/** Some percentages are above 100, as a count in the wrong column would be. */
export const outOfBounds: Plant = (series, { random }) => {
  const places = isShareOfWhole(series) ? [...placesOf(series)].filter(([, rows]) => rows.length >= 3) : [];
  if (places.length === 0) return null;
  const [place, rows] = random.pick(places);
  const { year } = random.pick(rows);
  const isIt = (row: Row): boolean => row.place === place && row.year === year;
  return changed(series, `${place} ${year} is 7,315.2 %`, isIt, (row) => ({ ...row, text: '7315.2' }));
};
/** One to three countries of a share stand in hundredths of a per cent. */
export const placesTimes100: Plant = (series, { random }) => {
  const places = isShareOfWhole(series)
    ? [...placesOf(series)].filter(([, rows]) => rows.some((row) => number(row) > 2))
    : [];
  if (places.length < 20) return null;
  const chosen = random.shuffle(places.map(([place]) => place)).slice(0, random.between(1, 3));
  return changed(series, `${chosen.join(', ')} x 100`, ({ place }) => chosen.includes(place), times(100));
};
const hasDecimals = ({ rows }: UpstreamSeries): boolean =>
  rows.filter(({ text }) => text.includes('.')).length > rows.length / 2;
/** A country's figures have a decimal comma. */
export const decimalComma = ofPlace((series, [place]) => {
  const write = (row: Row): Row => ({ ...row, text: row.text.replace('.', ',') });
  return changed(series, `${place} with a decimal comma`, (row) => row.place === place, write);
}, hasDecimals);
/** Whether a row is of a place and one of some years. */
const isIn =
  (place: string, years: ReadonlySet<number>) =>
  (row: Row): boolean =>
    row.place === place && years.has(row.year);
/** A thousands separator was read as a decimal point: 12345 became 12.345 in some years of a country. */
export const thousandsSlip: Plant = (series, { random }) => {
  const places = steadyPlaces(series).filter(([, rows]) => rows.every((row) => number(row) >= 1000));
  if (places.length < 5) return null;
  const [place, rows] = random.pick(places);
  const years = new Set(rows.slice(4, 6).map(({ year }) => year));
  const note = `${place} ${[...years].join(' and ')} in thousands`;
  return changed(series, note, isIn(place, years), times(0.001));
};
export const flipSigns = ofPlace((series, [place, rows], random) => {
  const years = new Set(rows.slice(5, 5 + random.between(1, 3)).map(({ year }) => year));
  return changed(series, `${place} ${[...years].join(', ')} negative`, isIn(place, years), times(-1));
}, isPositive);
export const losesPlace = ofPlace((series, [place]) => {
  const rows = series.rows.filter((row) => row.place !== place);
  return edited(series, `without ${place}`, rows);
});
/** It was not there for a night, and is back in thousandths. */
export const returnsInUnit: Plant = (series) =>
  series.provider.id === 'imf' && maximum(series) > 50
    ? { ...edited(series, 'gone, and back x 1000', series.rows.map(times(1000))), vanishesBefore: true }
    : null;
export const unitFromYear: Plant = (series, { random }) => {
  const newest = fullYear(series);
  if (newest === null || !isSteady(series)) return null;
  const factor = random.pick([0.001, 0.01, 100, 1000]);
  return changed(series, `x ${factor} from ${newest - 4}`, ({ year }) => year >= newest - 4, times(factor));
};
