/**
 * Invented data for black-box tests: small enough to check by eye, with a row for every rule of the interface.
 */
import type {
  CountryRecord,
  IndicatorRecord,
  IndicatorSource,
  ProviderCredit,
} from '../../data/schema/records.ts';
import type { AdditionWord } from '../../data/schema/snapshot.ts';
import type { SeriesMeasure } from '../../data/schema/traits.ts';

type CountryRow = [iso3: string, name: string, region: string, income: string | null, flag: string | null];

const COUNTRY_ROWS: CountryRow[] = [
  ['AFG', 'Afghanistan', 'South Asia', 'Low income', '🇦🇫'],
  ['ALA', 'Åland Islands', 'Europe & Central Asia', null, '🇦🇽'],
  ['ALB', 'Albania', 'Europe & Central Asia', 'Upper middle income', '🇦🇱'],
  ['BRA', 'Brazil', 'Latin America & Caribbean', 'Upper middle income', '🇧🇷'],
  ['CIV', 'Côte d’Ivoire', 'Sub-Saharan Africa', 'Lower middle income', '🇨🇮'],
  ['CUW', 'Curaçao', 'Latin America & Caribbean', 'High income', '🇨🇼'],
  ['DEU', 'Germany', 'Europe & Central Asia', 'High income', '🇩🇪'],
  ['KEN', 'Kenya', 'Sub-Saharan Africa', 'Lower middle income', '🇰🇪'],
  ['USA', 'United States', 'North America', 'High income', '🇺🇸'],
  ['XKX', 'Kosovo', 'Europe & Central Asia', 'Upper middle income', null],
  ['ZWE', 'Zimbabwe', 'Sub-Saharan Africa', 'Lower middle income', '🇿🇼'],
];

export const COUNTRIES: CountryRecord[] = COUNTRY_ROWS.map(
  ([iso3, name, region, income_group, flag_emoji], at) => ({
    iso3,
    iso2: iso3 === 'XKX' ? null : iso3.slice(0, 2),
    m49: iso3 === 'XKX' ? null : at + 4,
    name,
    official_name: iso3 === 'ALA' ? null : `The ${name}`,
    region,
    subregion: null,
    income_group,
    wb_code: iso3 === 'XKX' ? 'KSV' : null,
    capital: null,
    wikidata_id: `Q${at + 1}`,
    flag_emoji,
  }),
);

export const PROVIDERS: Record<'alpha' | 'beta' | 'gamma', ProviderCredit> = {
  alpha: {
    id: 'alpha',
    name: 'Alpha Institute',
    licence: 'CC BY 4.0',
    licence_url: 'https://creativecommons.org/licenses/by/4.0/',
    attribution: 'Alpha Institute, CC BY 4.0',
  },
  beta: {
    id: 'beta',
    name: 'Büro Beta',
    licence: 'Beta terms',
    licence_url: null,
    attribution: 'Büro “Beta” — 100 % público, 東京',
  },
  gamma: {
    id: 'gamma',
    name: 'Gamma Fund',
    licence: 'Gamma terms',
    licence_url: 'https://gamma.example/terms?a=1&b=ü',
    attribution: 'Gamma Fund',
  },
};

/** One observation; absent fields are null or false. */
export interface FixtureRow {
  iso3: string;
  year: number;
  value: number | null;
  ci_lo?: number;
  ci_hi?: number;
  projected?: boolean;
  status?: string;
}

export interface FixtureIndicator {
  id: string;
  name: string;
  description?: string;
  unit?: string;
  topic: string;
  topic_order?: number;
  higher_is_better?: boolean;
  preferred?: boolean;
  featured?: boolean;
  access_tier?: IndicatorRecord['access_tier'];
  /** Default: its provider's. */
  licence?: string;
  no_rank?: boolean;
  /** What it measures; without it, nothing is derived from it. */
  measured?: Partial<SeriesMeasure>;
  /** The power of ten of its figures. */
  scale?: number;
  rows: FixtureRow[];
}

const series = (
  iso3: string,
  from: number,
  values: (number | null)[],
  more: Partial<FixtureRow> = {},
): FixtureRow[] => values.map((value, at) => ({ iso3, year: from + at, value, ...more }));

/** Doubles that an inexact reader or writer would change. */
export const HARD_DOUBLES = [
  0.1 + 0.2,
  1e21,
  1e-7,
  5e-324,
  Number.MAX_VALUE,
  -0,
  2 ** 53 + 2,
  1 / 3,
  123456789.12345679,
  -1.5e-10,
];

/** Long enough to be encoded as a stream: 250 years of every country. */
const longSeries = COUNTRIES.flatMap(({ iso3 }, at) =>
  series(
    iso3,
    1770,
    Array.from({ length: 250 }, (_, year) => Math.sqrt(year * 37 + at * 11) * 1000),
  ),
);

export const INDICATORS: FixtureIndicator[] = [
  {
    id: 'alpha.life_expectancy',
    name: 'Life expectancy',
    description: 'Years a newborn may expect to live.',
    unit: 'years',
    topic: 'health',
    topic_order: 2,
    higher_is_better: true,
    preferred: true,
    featured: true,
    measured: { measure: 'duration', aggregate: 'mean', weight: 'alpha.population_total' },
    rows: [
      // DEU and USA tie in 2020, so KEN is third there; USA falls behind in 2021; 2022 has a gap.
      ...series('DEU', 2019, [81, 80, 82, null]),
      { iso3: 'KEN', year: 2020, value: 62.5, ci_lo: 61, ci_hi: 64 },
      { iso3: 'KEN', year: 2021, value: 63.5, ci_lo: 62, ci_hi: 65 },
      ...series('USA', 2020, [80, 79]),
      ...series('ZWE', 2021, [null]),
    ],
  },
  {
    id: 'beta.life_expectancy',
    name: 'Life expectancy',
    description: 'The same concept by another institute.',
    unit: 'years',
    topic: 'health',
    topic_order: 1,
    higher_is_better: true,
    measured: { measure: 'duration', aggregate: 'mean' },
    rows: [...series('DEU', 2000, [78]), ...series('KEN', 2000, [51.5]), ...series('ALA', 2000, [80.25])],
  },
  {
    id: 'alpha.child_mortality',
    name: 'Child mortality',
    description: 'Deaths before the age of five; lower life expectancy often goes with it.',
    unit: 'per 1,000',
    topic: 'health',
    topic_order: 1,
    higher_is_better: false,
    featured: true,
    measured: { measure: 'ratio' },
    rows: [...series('AFG', 2015, [70, 68]), ...series('DEU', 2015, [4, 4]), ...series('KEN', 2015, [50, 4])],
  },
  {
    id: 'alpha.population_total',
    name: 'Population, total',
    unit: 'people',
    topic: 'population',
    featured: true,
    measured: { measure: 'count', aggregate: 'sum' },
    rows: [
      ...series('KEN', 2019, [50, 51]),
      ...series('KEN', 2021, [52, 53, 54], { projected: true }),
      ...series('USA', 2019, [330, 331]),
      ...series('USA', 2021, [332], { projected: true }),
    ],
  },
  {
    id: 'alpha.regime_code',
    name: 'Regime code',
    topic: 'governance',
    no_rank: true,
    measured: {},
    rows: [...series('DEU', 2010, [2, 2]), ...series('ZWE', 2010, [1, 1])],
  },
  {
    id: 'alpha.GDP.PCAP.CD',
    name: 'GDP per capita',
    unit: 'US$',
    topic: 'economy',
    higher_is_better: true,
    preferred: true,
    measured: { measure: 'ratio' },
    rows: HARD_DOUBLES.map((value, at) => ({ iso3: 'BRA', year: 1990 + at, value })),
  },
  {
    id: 'beta.co2_emissions',
    name: 'CO₂ emissions – Émissions',
    description: 'Carbon dioxide, territorial.',
    unit: 't',
    topic: 'environment',
    higher_is_better: false,
    measured: { measure: 'amount', aggregate: 'sum', population: 'alpha.population_total' },
    rows: [...series('CIV', 730, [0.5]), ...series('CIV', 2005, [0.3]), ...series('XKX', 2005, [5.5])],
  },
  {
    id: 'beta.long_series',
    name: 'Zeta long series',
    topic: 'economy',
    measured: { measure: 'amount', aggregate: 'sum', population: 'alpha.population_total' },
    rows: longSeries,
  },
  { id: 'beta.empty_series', name: 'Empty series', topic: 'trade', rows: [] },
  {
    id: 'beta.forecast_only',
    name: 'Forecast only',
    topic: 'energy',
    measured: { measure: 'amount', aggregate: 'sum', population: 'alpha.population_total' },
    rows: series('BRA', 2030, [1, 2, 3], { projected: true }),
  },
  {
    id: 'beta.gaps_only',
    name: 'Gaps only',
    topic: 'trade',
    rows: [...series('AFG', 2001, [null, null]), ...series('ALB', 2001, [null])],
  },
  {
    id: 'gamma.reserves',
    name: 'Foreign reserves',
    unit: 'US$',
    topic: 'economy',
    topic_order: 5,
    higher_is_better: true,
    access_tier: 'display',
    measured: { measure: 'amount', aggregate: 'sum', population: 'alpha.population_total' },
    rows: [...series('BRA', 2018, [9, 10]), ...series('DEU', 2018, [11, 12])],
  },
  {
    id: 'gamma.zero',
    name: 'Åland ferries',
    topic: 'trade',
    measured: { measure: 'count', aggregate: 'sum', population: 'alpha.population_total' },
    rows: [...series('ALA', 2018, [0, 0]), ...series('ALB', 2018, [0, 0])],
  },
];

const source = (name: string, more: Partial<IndicatorSource> = {}): IndicatorSource => ({
  name,
  url: null,
  note: null,
  licence: 'CC BY 4.0',
  licence_url: 'https://creativecommons.org/licenses/by/4.0/',
  licence_reason: 'The licence of Alpha Institute.',
  ...more,
});

/** What `include` adds, by word and indicator id. */
export const ADDED_LISTS: Partial<Record<AdditionWord, Record<string, unknown[]>>> = {
  sources: {
    'alpha.life_expectancy': [
      source('Registers of 東京', { url: 'https://example.org/a?b=ü', note: 'From “1990”' }),
      source('Census'),
    ],
    'beta.life_expectancy': [source('Census')],
  },
  quality: {
    'alpha.life_expectancy': [
      {
        id: '00112233445566aa',
        kind: 'share_out_of_range',
        severity: 'error',
        indicator: 'alpha.life_expectancy',
        other: null,
        countries: ['FRA'],
        years: [2001, 2002],
        message: 'France is 2,634 % in 2001; 2 values of 1 country lie outside 0 to 100 %.',
        first_seen: '2026-11-20T02:00:00+00:00',
        decision: 'accept',
        reason: 'Counted twice, at the source.',
      },
    ],
  },
  twins: {
    'alpha.life_expectancy': [
      {
        id: 'beta.life_expectancy',
        name: 'Life expectancy',
        unit: 'years',
        provider: 'beta',
        licence: 'CC BY 4.0',
        preferred: false,
        factor: 1,
        yr_min: 1990,
        yr_max: 2023,
        common_countries: 2,
        common_years: 30,
        difference: {
          median: 0.001,
          largest: { difference: 0.02, iso3: 'FRA', year: 2001, value: 80, twin_value: 78.4 },
        },
        deviations: [
          { indicator: 'beta.life_expectancy', deviates: ['figures'], reason: 'An older edition.' },
        ],
      },
    ],
  },
};

/** The series with all their figures moved. */
export const movedBy = (by: number): FixtureIndicator[] =>
  INDICATORS.map((one) => ({
    ...one,
    rows: one.rows.map((row) => ({ ...row, value: row.value === null ? null : row.value + by })),
  }));
