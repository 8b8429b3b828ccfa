/**
 * Faults that real upstreams and editors make. Each takes a series, or declines one in which it would change nothing that
 * a reader could notice. Written without knowledge of the checks.
 */
import type { Random } from '../faults/random.ts';
import type { Edit, Label, Row, Upstream, UpstreamSeries } from './upstream.ts';

export interface PlantedFault {
  kind: string;
  /** Every series that the fault touches; the first is the one that is wrong. */
  series: string[];
  note: string;
  edits: Edit[];
  /** Upstream leaves the series out on the night before. */
  vanishesBefore?: true;
}
export interface Surroundings {
  random: Random;
  upstream: Upstream;
  /** Series that may be planted, in random order. */
  free: readonly UpstreamSeries[];
}
type Plant = (series: UpstreamSeries, around: Surroundings) => Omit<PlantedFault, 'kind'> | null;
interface FaultKind {
  what: string;
  /** Whether anybody could tell it without the night before and without a second series of the same statistic. */
  alone: boolean;
  plant: Plant;
}

const COLUMN_YEARS = 12;
const STEADY = 1.35;
const number = ({ text }: Row): number => Number(text);
const isFigure = ({ text }: Row): boolean => text.trim() !== '' && Number.isFinite(Number(text));
const shown = (value: number): string => String(Number(value.toPrecision(12)));
const times =
  (factor: number) =>
  (row: Row): Row =>
    isFigure(row) ? { ...row, text: shown(number(row) * factor) } : row;

/** Rows of a place, by year. */
function placesOf({ rows }: UpstreamSeries): Map<string, Row[]> {
  return Map.groupBy(
    rows.filter(isFigure).toSorted((a, b) => a.year - b.year),
    ({ place }) => place,
  );
}
const isNation = (place: string): boolean => /^[a-z]{3}$/.test(place);
/** Places whose figures are positive and change little from year to year. */
function steadyPlaces(series: UpstreamSeries): [string, Row[]][] {
  return [...placesOf(series)].filter(
    ([place, rows]) =>
      isNation(place) &&
      rows.length >= COLUMN_YEARS &&
      rows.every((row, at) => {
        const before = number(rows[Math.max(0, at - 1)] ?? row);
        return number(row) > 0 && number(row) / before < STEADY && before / number(row) < STEADY;
      }),
  );
}
const isSteady = (series: UpstreamSeries): boolean => steadyPlaces(series).length >= 20;
const isPositive = (series: UpstreamSeries): boolean =>
  series.rows.filter(isFigure).every((row) => number(row) >= 0) && placesOf(series).size >= 30;
const maximum = (series: UpstreamSeries): number =>
  series.rows.filter(isFigure).reduce((most, row) => Math.max(most, number(row)), 0);
/** The newest year up to 2018 that most places have; later ones are forecasts in many series. */
function fullYear(series: UpstreamSeries): number | null {
  const counts = [...Map.groupBy(series.rows.filter(isFigure), ({ year }) => year)];
  const full = counts.filter(([year, rows]) => year <= 2018 && rows.length >= 30).map(([year]) => year);
  return full.length < 8 ? null : Math.max(...full);
}
const edited = (series: UpstreamSeries, note: string, rows: readonly Row[]): Omit<PlantedFault, 'kind'> => ({
  series: [series.id],
  note,
  edits: [{ series: series.id, rows }],
});
const labelled = (series: UpstreamSeries, label: Partial<Label>): Omit<PlantedFault, 'kind'> => ({
  series: [series.id],
  note: `${JSON.stringify(series.label)} became ${JSON.stringify(label)}`,
  edits: [{ series: series.id, label }],
});

/** One figure of a steady country, not the first or last. */
const cellTimes =
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
const yearTimes =
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
const allTimes =
  (factor: number, accepts: (series: UpstreamSeries) => boolean): Plant =>
  (series) =>
    accepts(series) ? edited(series, `x ${factor}`, series.rows.map(times(factor))) : null;
const unit =
  (pattern: RegExp, replacement: string): Plant =>
  (series) => {
    const changed = series.label.unit.replace(pattern, replacement);
    return changed === series.label.unit ? null : labelled(series, { unit: changed });
  };
const firstOf =
  (...plants: Plant[]): Plant =>
  (series, around) => {
    for (const plant of around.random.shuffle(plants)) {
      const fault = plant(series, around);
      if (fault) return fault;
    }
    return null;
  };

const swapPlaces: Plant = (series, { random }) => {
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
const shiftYears: Plant = (series) =>
  isSteady(series) && maximum(series) > 5
    ? edited(
        series,
        'all years + 1',
        series.rows.map((row) => ({ ...row, year: row.year + 1 })),
      )
    : null;
const copyOver: Plant = (series, { random, free }) => {
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
const repeatYears: Plant = (series) => {
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
const repeatPlace: Plant = (series, { random }) => {
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
const losesBlock: Plant = (series, { random }) => {
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
const placeTwice: Plant = (series, { random }) => {
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
const placeCopied: Plant = (series, { random }) => {
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
const partChanged: Plant = (series, { random }) => {
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
/** Some percentages are above 100, as a count in the wrong column would be. */
const outOfBounds: Plant = (series, { random }) => {
  if (!/_percent_of_|_percent$/.test(series.slug) || series.label.unit !== 'percent') return null;
  if (maximum(series) > 100 || !isPositive(series)) return null;
  const places = [...placesOf(series)].filter(([, rows]) => rows.length >= 3);
  if (places.length === 0) return null;
  const [place, rows] = random.pick(places);
  const { year } = random.pick(rows);
  return edited(
    series,
    `${place} ${year} is 7,315.2 %`,
    series.rows.map((row) => (row.place === place && row.year === year ? { ...row, text: '7315.2' } : row)),
  );
};
const hasDecimals = ({ rows }: UpstreamSeries): boolean =>
  rows.filter(({ text }) => text.includes('.')).length > rows.length / 2;
/** A country's figures have a decimal comma. */
const decimalComma: Plant = (series, { random }) => {
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
const thousandsSlip: Plant = (series, { random }) => {
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
const flipSigns: Plant = (series, { random }) => {
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
const losesPlace: Plant = (series, { random }) => {
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
const returnsInUnit: Plant = (series) =>
  series.provider.id === 'imf' && maximum(series) > 50
    ? { ...edited(series, 'gone, and back x 1000', series.rows.map(times(1000))), vanishesBefore: true }
    : null;
const unitFromYear: Plant = (series, { random }) => {
  const newest = fullYear(series);
  if (newest === null || !isSteady(series)) return null;
  const factor = random.pick([0.001, 0.01, 100, 1000]);
  return edited(
    series,
    `x ${factor} from ${newest - 4}`,
    series.rows.map((row) => (row.year >= newest - 4 ? times(factor)(row) : row)),
  );
};
const isPercentage = (series: UpstreamSeries): boolean =>
  /^(percent$|% of)/.test(series.label.unit) && maximum(series) > 20;
const isCount = (series: UpstreamSeries): boolean =>
  /^(people|deaths|new cases|births|subscriptions)$/.test(series.label.unit);

export const UPSTREAM_FAULTS: Readonly<Record<string, FaultKind>> = {
  cell_times_10: { what: 'a figure is ten times too large', alone: true, plant: cellTimes(10) },
  cell_times_100: { what: 'a figure is a hundred times too large', alone: true, plant: cellTimes(100) },
  cell_tenth: { what: 'a figure is a tenth of what it should be', alone: true, plant: cellTimes(0.1) },
  year_times_10: {
    what: 'all figures of a year are ten times too large',
    alone: true,
    plant: yearTimes(10, false),
  },
  year_times_100: {
    what: 'all figures of a year are a hundred times too large',
    alone: true,
    plant: yearTimes(100, false),
  },
  newest_year_tenth: {
    what: 'all figures of the newest year are a tenth',
    alone: true,
    plant: yearTimes(0.1, true),
  },
  unit_from_year: { what: 'from a year on, figures are in another unit', alone: true, plant: unitFromYear },
  share_as_fraction: {
    what: 'a percentage is given as a fraction of 1',
    alone: true,
    plant: allTimes(0.01, isPercentage),
  },
  count_in_thousands: {
    what: 'a plain count is given in thousands',
    alone: false,
    plant: allTimes(0.001, isCount),
  },
  unit_scale: {
    what: 'a plain count is labelled thousands',
    alone: false,
    plant: unit(/^(people|deaths|new cases|subscriptions)$/, 'thousands of $1'),
  },
  unit_share: {
    what: 'a percentage is labelled per 1,000 people',
    alone: true,
    plant: unit(/^percent$/, 'per 1,000 people'),
  },
  unit_duration: {
    what: 'years are labelled months, or days',
    alone: true,
    plant: firstOf(unit(/^years$/, 'months'), unit(/^years$/, 'days')),
  },
  unit_area: {
    what: 'an amount per hectare, or per person, is labelled as an amount',
    alone: true,
    plant: firstOf(unit(/ per hectare$/, ''), unit(/ per person$/, '')),
  },
  unit_rate_base: {
    what: 'per 1,000 and per 100,000 are exchanged',
    alone: true,
    plant: firstOf(unit(/per 1,000\b/, 'per 100,000'), unit(/per 100,000\b/, 'per 1,000')),
  },
  price_base_dropped: {
    what: 'constant prices name no base year',
    alone: true,
    plant: firstOf(unit(/^constant \d{4} /, 'constant '), unit(/ at \d{4} prices/, ' at constant prices')),
  },
  sign_flipped: { what: 'figures of a country have the wrong sign', alone: true, plant: flipSigns },
  places_swapped: { what: 'two countries have exchanged their figures', alone: false, plant: swapPlaces },
  years_shifted: { what: 'all figures stand a year too late', alone: false, plant: shiftYears },
  copied_over: { what: 'a series has the figures of another', alone: true, plant: copyOver },
  years_repeated: { what: 'the newest three years repeat the one before', alone: true, plant: repeatYears },
  place_repeated: { what: 'a country repeats one figure for twelve years', alone: true, plant: repeatPlace },
  block_lost: { what: 'a third of the countries lose some years', alone: false, plant: losesBlock },
  place_twice: {
    what: 'a country stands twice in the file, with two sets of figures',
    alone: true,
    plant: placeTwice,
  },
  place_copied: { what: 'a country has the figures of another', alone: true, plant: placeCopied },
  part_changed: { what: 'parts of a whole do not add up to 100 % any more', alone: true, plant: partChanged },
  out_of_bounds: { what: 'a percentage is far above 100', alone: true, plant: outOfBounds },
  decimal_comma: { what: 'figures of a country have a decimal comma', alone: true, plant: decimalComma },
  thousands_slip: {
    what: 'a thousands separator was read as a decimal point',
    alone: true,
    plant: thousandsSlip,
  },
  place_lost: { what: 'a country has vanished', alone: false, plant: losesPlace },
  returned_in_unit: {
    what: 'a series vanished for a night and is back in another unit',
    alone: false,
    plant: returnsInUnit,
  },
};
