/** One answer of each operation, shortened, for the machine-readable description. A test holds them to the schemas. */

const generated_at = '2026-11-20T02:00:00+00:00';
const gapminder = {
  licence: 'CC BY 4.0',
  licence_url: 'https://creativecommons.org/licenses/by/4.0/',
  attribution: 'Gapminder, CC BY 4.0',
};

const kenya = {
  iso3: 'KEN',
  iso2: 'KE',
  m49: 404,
  name: 'Kenya',
  official_name: 'Republic of Kenya',
  region: 'Sub-Saharan Africa',
  subregion: 'Eastern Africa',
  income_group: 'Lower middle income',
  wb_code: null,
  capital: 'Nairobi',
  wikidata_id: 'Q114',
  flag_emoji: '🇰🇪',
};

const lifeExpectancy = {
  id: 'gapminder.life_expectancy_years',
  name: 'Life expectancy',
  description: 'Years a newborn would live if mortality stayed as it is in the year of birth.',
  unit: 'years',
  topic: 'health',
  higher_is_better: true,
  preferred: true,
  featured: true,
  access_tier: 'open',
  no_rank: false,
  ...gapminder,
  provider: { id: 'gapminder', name: 'Gapminder', ...gapminder },
  coverage: { n_countries: 195, yr_min: 1800, yr_max: 2100, latest_year: 2020 },
};

const counts = { requests: 12, errors: 1, rows: 240, credits: 241 };

/** By operation. */
export const EXAMPLES: Readonly<Record<string, unknown>> = {
  listCountries: { data: [kenya], meta: { generated_at, count: 1, region: 'Sub-Saharan Africa' } },
  getCountry: {
    data: {
      ...kenya,
      topics: {
        health: [
          {
            indicator: lifeExpectancy.id,
            name: lifeExpectancy.name,
            unit: lifeExpectancy.unit,
            year: 2020,
            value: 67.4,
            rank: 143,
            rank_delta_1y: 1,
            featured: true,
          },
        ],
      },
    },
    meta: { generated_at, count: 1, topic: 'health', topic_counts: { economy: 40, health: 1 } },
  },
  listIndicators: {
    data: [lifeExpectancy],
    meta: { generated_at, count: 1, total: 1, q: 'life expectancy' },
  },
  getIndicator: {
    data: {
      ...lifeExpectancy,
      related: [
        {
          id: 'gapminder.child_mortality_0_5_year_olds_dying_per_1000_born',
          name: 'Child mortality',
          topic: 'health',
          unit: 'per 1,000 born',
          relation: 'correlated',
        },
      ],
    },
    meta: { generated_at, licence: gapminder.licence, attribution: gapminder.attribution },
  },
  listTopics: {
    data: [
      {
        slug: 'population',
        name: 'Population',
        description: 'How many people live where, and how that changes.',
        n_indicators: 31,
        n_featured: 3,
        n_countries: 197,
      },
    ],
    meta: { generated_at, count: 1 },
  },
  listFreshness: {
    data: [
      {
        provider_id: 'gapminder',
        name: 'Gapminder',
        licence: gapminder.licence,
        attribution: gapminder.attribution,
        cadence: 'annual',
        upstream: [{ name: 'Systema Globalis', url: 'https://www.gapminder.org/data/' }],
        last_ok_finished_at: generated_at,
        last_ok_rows: 3_700_000,
        latest_data_year: 2025,
      },
    ],
    meta: { generated_at, count: 1 },
  },
  listCoverage: {
    data: [
      { iso3: 'KEN', name: 'Kenya', n_observations: 21_874, n_indicators: 402, yr_min: 1800, yr_max: 2100 },
    ],
    meta: { generated_at, count: 1 },
  },
  getRanking: {
    data: [
      {
        rank: 143,
        iso3: 'KEN',
        name: 'Kenya',
        value: 67.4,
        ci_lo: null,
        ci_hi: null,
        rank_delta_1y: 1,
        projected: false,
      },
    ],
    meta: {
      generated_at,
      count: 1,
      ranked: 1,
      indicator: lifeExpectancy.id,
      name: lifeExpectancy.name,
      unit: lifeExpectancy.unit,
      higher_is_better: true,
      year: 2020,
      ...gapminder,
    },
  },
  getData: {
    data: [{ iso3: 'KEN', year: 2020, value: 67.4, ci_lo: null, ci_hi: null, rank: 143, projected: false }],
    meta: {
      generated_at,
      count: 1,
      indicator: lifeExpectancy.id,
      name: lifeExpectancy.name,
      unit: lifeExpectancy.unit,
      ...gapminder,
      countries: ['KEN'],
      from: 2020,
    },
  },
  getUsage: {
    data: {
      credits: { balance: 759, lifetime_granted: 1000, lifetime_spent: 241 },
      totals: counts,
      daily: [{ date: '2026-11-20', ...counts }],
      endpoints: [{ route: '/v1/data', ...counts }],
    },
    meta: { generated_at, days: 1 },
  },
  ping: {
    data: { key_id: '0k3v9q2m7x4c', environment: 'live', scopes: ['read'], tier: 'free', balance: 1000 },
    meta: { generated_at },
  },
};
