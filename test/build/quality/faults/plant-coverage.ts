/** Faults of coverage: countries, years and rows that are missing, or are sold without a figure. */
import { countriesOf, type Figure, valuesOf, yearsOf } from './figures.ts';
import { faultOf, type Planter, replaced, type Tools } from './tools.ts';

const MIN_COUNTRIES = 30;
const ENDED_YEARS = 8;

const only = (figures: readonly Figure[], countries: readonly string[]): Figure[] =>
  figures.filter(({ iso3 }) => countries.includes(iso3));

export const placesLostSeries: Planter = async (series, { random, data }) => {
  const figures = await data.figures(series.id);
  const countries = random.shuffle(countriesOf(figures));
  if (countries.length < MIN_COUNTRIES) return null;
  const lost = random.between(Math.ceil(countries.length / 10), Math.floor(countries.length / 3));
  return replaced(
    only(figures, countries.slice(lost)),
    'places_lost_series',
    series,
    false,
    `${lost} of ${countries.length} countries lost`,
  );
};

export const twoCountriesLeft: Planter = async (series, { random, data }) => {
  const figures = await data.figures(series.id);
  const countries = random.shuffle(countriesOf(figures));
  if (countries.length < MIN_COUNTRIES) return null;
  const left = countries.slice(0, random.between(1, 2));
  return replaced(
    only(figures, left),
    'two_countries_left',
    series,
    true,
    `only ${left.join(' and ')} of ${countries.length} left`,
  );
};

/** A provider does not know the codes of some countries any more: their rows become unknown places. */
export const placesLostProvider: Planter = async (series, { random, data }) => {
  const provider = series.providerId;
  const published = [...data.series.values()].filter((one) => one.providerId === provider);
  const countries = new Set<string>();
  for (const { id } of published) for (const iso3 of countriesOf(await data.figures(id))) countries.add(iso3);
  if (countries.size < MIN_COUNTRIES) return null;
  const lost = random.shuffle([...countries].sort()).slice(0, random.between(3, 16));
  return {
    fault: {
      ...faultOf(
        'places_lost_provider',
        series,
        true,
        `${lost.join(', ')} lost by all ${published.length} series`,
      ),
      series: null,
    },
    changes: { lost: { provider, countries: lost } },
  };
};

export const featuredEnded: Planter = async (series, { random, data }) => {
  // A second featured series of one concept would be another fault.
  if (!series.record.featured && data.twinsOf(series.id).length > 0) return null;
  const figures = await data.figures(series.id);
  const last = data.currentYear - random.between(ENDED_YEARS, ENDED_YEARS + 8);
  const kept = figures.filter(({ year }) => year <= last);
  const years = yearsOf(figures);
  const isCurrent = (years.at(-1) ?? 0) >= data.currentYear - 4;
  if (!isCurrent || countriesOf(kept).length < MIN_COUNTRIES || series.projectedFrom <= last) return null;
  return {
    fault: faultOf('featured_ended', series, true, `cut off after ${last}, and featured`),
    changes: {
      figures: { [series.id]: kept },
      ...(!series.record.featured && { settings: { [series.id]: { featured: 'true' } } }),
    },
  };
};

const empty = (iso3: string, year: number): Figure => ({
  iso3,
  year,
  value: null,
  ciLo: null,
  ciHi: null,
  projected: null,
  status: null,
});

/** The cells that a wide table leaves empty: years before the first figure, and countries without any. */
export const emptyRows: Planter = async (series, { data }: Tools) => {
  const figures = await data.figures(series.id);
  const values = valuesOf(figures).length;
  const years = yearsOf(figures);
  const first = years[0];
  if (first === undefined || values < 50 || values > 20_000) return null;
  const has = new Set(figures.map(({ iso3 }) => iso3));
  const enabled = data.curated.countries.filter((one) => one.enabled).map(({ iso3 }) => iso3);
  const without = enabled.filter((iso3) => !has.has(iso3));
  const before = Array.from({ length: 30 }, (_, back) => first - 30 + back);
  const added = [
    ...without.flatMap((iso3) => years.map((year) => empty(iso3, year))),
    ...[...has].flatMap((iso3) => before.map((year) => empty(iso3, year))),
  ];
  const after = [...figures, ...added].sort((a, b) =>
    a.iso3 < b.iso3 ? -1 : a.iso3 > b.iso3 ? 1 : a.year - b.year,
  );
  return replaced(after, 'empty_rows', series, true, `${added.length} empty rows beside ${values} values`);
};
