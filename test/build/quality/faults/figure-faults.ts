/** Faults of single figures, countries, years, and whole series. */
import {
  COLUMN_YEARS,
  edited,
  fullYear,
  isFigure,
  isPositive,
  isSteady,
  maximum,
  number,
  type Plant,
  placesOf,
  steadyPlaces,
  times,
} from './planting.ts';
import type { Row, UpstreamSeries } from './upstream.ts';

/** One figure of a steady country, not the first or last. */
export const cellTimes =
  (factor: number): Plant =>
  (series, { random }) => {
    const places = steadyPlaces(series);
    if (places.length < 20) return null;
    const [place, rows] = random.pick(places);
    const { year } = random.pick(rows.slice(3, -3));
    return edited(
      series,
      `${place} ${year} x ${factor}`,
      series.rows.map((row) => (row.place === place && row.year === year ? times(factor)(row) : row)),
    );
  };
export const yearTimes =
  (factor: number, isNewest: boolean): Plant =>
  (series, { random }) => {
    const newest = fullYear(series);
    if (newest === null || !isSteady(series)) return null;
    const year = isNewest
      ? Math.max(...series.rows.filter(isFigure).map((row) => row.year))
      : newest - random.between(2, 5);
    if (series.rows.filter((row) => row.year === year).length < 20) return null;
    return edited(
      series,
      `all of ${year} x ${factor}`,
      series.rows.map((row) => (row.year === year ? times(factor)(row) : row)),
    );
  };
export const allTimes =
  (factor: number, accepts: (series: UpstreamSeries) => boolean): Plant =>
  (series) =>
    accepts(series) ? edited(series, `x ${factor}`, series.rows.map(times(factor))) : null;

export const swapPlaces: Plant = (series, { random }) => {
  const places = steadyPlaces(series);
  for (const [one, rows] of random.shuffle(places)) {
    const last = number(rows.at(-1) ?? { place: '', year: 0, text: '1' });
    const other = places.find(([, others]) => {
      const ratio = number(others.at(-1) ?? { place: '', year: 0, text: '1' }) / last;
      return ratio > 3 || ratio < 1 / 3;
    })?.[0];
    if (other === undefined) continue;
    const swapped: Record<string, string> = { [one]: other, [other]: one };
    return edited(
      series,
      `${one} and ${other} are swapped`,
      series.rows.map((row) => ({ ...row, place: swapped[row.place] ?? row.place })),
    );
  }
  return null;
};
export const shiftYears: Plant = (series) =>
  isSteady(series) && maximum(series) > 5
    ? edited(
        series,
        'all years + 1',
        series.rows.map((row) => ({ ...row, year: row.year + 1 })),
      )
    : null;
export const copyOver: Plant = (series, { random, free }) => {
  const other = random.pick(
    free.filter((one) => one !== series && one.provider === series.provider && one.rows.length > 500),
  );
  return {
    series: [series.id, other.id],
    note: `has the figures of ${other.id}`,
    edits: [{ series: series.id, rows: other.rows }],
  };
};
/** The newest three full years of all countries repeat the one before them. */
export const repeatYears: Plant = (series) => {
  const newest = fullYear(series);
  if (newest === null || !isSteady(series)) return null;
  const last = new Map(
    series.rows.filter(({ year }) => year === newest - 3).map((row) => [row.place, row.text]),
  );
  const stale = (row: Row): boolean => row.year > newest - 3 && row.year <= newest && last.has(row.place);
  const changes = series.rows.filter((row) => stale(row) && row.text !== last.get(row.place)).length;
  if (changes < 90) return null;
  return edited(
    series,
    `${newest - 2} to ${newest} repeat ${newest - 3}`,
    series.rows.map((row) => (stale(row) ? { ...row, text: last.get(row.place) ?? row.text } : row)),
  );
};
/** A country repeats one figure for twelve years. */
export const repeatPlace: Plant = (series, { random }) => {
  const moving = steadyPlaces(series).filter(
    ([, rows]) => rows.length >= 18 && new Set(rows.map(({ text }) => text)).size > 0.9 * rows.length,
  );
  if (moving.length < 20) return null;
  const [place, rows] = random.pick(moving);
  const from = rows.at(-COLUMN_YEARS - 1);
  if (!from) return null;
  return edited(
    series,
    `${place} repeats ${from.year}`,
    series.rows.map((row) =>
      row.place === place && row.year > from.year ? { ...row, text: from.text } : row,
    ),
  );
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
export const placeTwice: Plant = (series, { random }) => {
  const places = steadyPlaces(series);
  if (places.length < 20) return null;
  const [[one], [other, rows]] = [random.pick(places), random.pick(places)];
  if (one === other) return null;
  return edited(series, `${one} also has the figures of ${other}`, [
    ...series.rows,
    ...rows.map((row) => ({ ...row, place: one })),
  ]);
};
/** A country has the figures of another, which keeps them. */
export const placeCopied: Plant = (series, { random }) => {
  const places = steadyPlaces(series).filter(
    ([, rows]) => rows.length >= 18 && new Set(rows.map(({ text }) => text)).size > 0.9 * rows.length,
  );
  if (places.length < 20) return null;
  const [[one], [other, rows]] = [random.pick(places), random.pick(places)];
  if (one === other) return null;
  return edited(series, `${one} has the figures of ${other}`, [
    ...series.rows.filter(({ place }) => place !== one),
    ...rows.map((row) => ({ ...row, place: one })),
  ]);
};

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
  const cells = new Set(
    chosen.flatMap(([place, rows]) => rows.slice(-3).map(({ year }) => `${place} ${year}`)),
  );
  return {
    ...edited(
      series,
      `x 1.4 in ${[...cells].join(', ')}`,
      series.rows.map((row) => (cells.has(`${row.place} ${row.year}`) ? times(1.4)(row) : row)),
    ),
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
  return edited(
    series,
    `${place} ${year} is 7,315.2 %`,
    series.rows.map((row) => (row.place === place && row.year === year ? { ...row, text: '7315.2' } : row)),
  );
};
/** One to three countries of a share stand in hundredths of a per cent. */
export const placesTimes100: Plant = (series, { random }) => {
  const places = isShareOfWhole(series)
    ? [...placesOf(series)].filter(([, rows]) => rows.some((row) => number(row) > 2))
    : [];
  if (places.length < 20) return null;
  const chosen = random.shuffle(places.map(([place]) => place)).slice(0, random.between(1, 3));
  return edited(
    series,
    `${chosen.join(', ')} x 100`,
    series.rows.map((row) => (chosen.includes(row.place) ? times(100)(row) : row)),
  );
};
const hasDecimals = ({ rows }: UpstreamSeries): boolean =>
  rows.filter(({ text }) => text.includes('.')).length > rows.length / 2;
/** A country's figures have a decimal comma. */
export const decimalComma: Plant = (series, { random }) => {
  if (!hasDecimals(series)) return null;
  const places = steadyPlaces(series);
  if (places.length < 20) return null;
  const [place] = random.pick(places);
  return edited(
    series,
    `${place} with a decimal comma`,
    series.rows.map((row) => (row.place === place ? { ...row, text: row.text.replace('.', ',') } : row)),
  );
};
/** A thousands separator was read as a decimal point: 12345 became 12.345 in some years of a country. */
export const thousandsSlip: Plant = (series, { random }) => {
  const places = steadyPlaces(series).filter(([, rows]) => rows.every((row) => number(row) >= 1000));
  if (places.length < 5) return null;
  const [place, rows] = random.pick(places);
  const years = new Set(rows.slice(4, 6).map(({ year }) => year));
  return edited(
    series,
    `${place} ${[...years].join(' and ')} in thousands`,
    series.rows.map((row) => (row.place === place && years.has(row.year) ? times(0.001)(row) : row)),
  );
};
export const flipSigns: Plant = (series, { random }) => {
  const places = isPositive(series) ? steadyPlaces(series) : [];
  if (places.length < 20) return null;
  const [place, rows] = random.pick(places);
  const years = new Set(rows.slice(5, 5 + random.between(1, 3)).map(({ year }) => year));
  return edited(
    series,
    `${place} ${[...years].join(', ')} negative`,
    series.rows.map((row) => (row.place === place && years.has(row.year) ? times(-1)(row) : row)),
  );
};
export const losesPlace: Plant = (series, { random }) => {
  const places = steadyPlaces(series);
  if (places.length < 20) return null;
  const [place] = random.pick(places);
  return edited(
    series,
    `without ${place}`,
    series.rows.filter((row) => row.place !== place),
  );
};
/** It was not there for a night, and is back in thousandths. */
export const returnsInUnit: Plant = (series) =>
  series.provider.id === 'imf' && maximum(series) > 50
    ? { ...edited(series, 'gone, and back x 1000', series.rows.map(times(1000))), vanishesBefore: true }
    : null;
export const unitFromYear: Plant = (series, { random }) => {
  const newest = fullYear(series);
  if (newest === null || !isSteady(series)) return null;
  const factor = random.pick([0.001, 0.01, 100, 1000]);
  return edited(
    series,
    `x ${factor} from ${newest - 4}`,
    series.rows.map((row) => (row.year >= newest - 4 ? times(factor)(row) : row)),
  );
};
