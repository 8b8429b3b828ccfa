/** A call of each tool that has an answer in the fixture. */
const LIFE = 'alpha.life_expectancy';

export const CALLS: Readonly<Record<string, Record<string, unknown>>> = {
  find_indicators: { query: 'life expectancy' },
  describe_indicator: { indicator: LIFE },
  get_data: { indicators: [LIFE], countries: ['Kenya', 'Germany'], from: 2019 },
  rank_countries: { indicator: LIFE },
  compare_countries: { indicators: [LIFE], countries: ['Kenya', 'Germany'] },
  country_profile: { country: 'Kenya' },
  verify_claims: { claims: [{ indicator: LIFE, country: 'Kenya', year: 2020, value: '62.5' }] },
};

/** Of the tools that hosts for research know, whose answers have members of their own alone. */
export const RESEARCH_CALLS: Readonly<Record<string, Record<string, unknown>>> = {
  search: { query: 'life expectancy' },
  fetch: { id: LIFE },
};
