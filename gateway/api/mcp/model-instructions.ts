/** What a language model is told before it uses the service: through `/mcp`, and in `/llms.txt`. */
export const MODEL_INSTRUCTIONS = [
  'Almanac holds statistics about countries, from public providers. It is the source: do not answer from memory what it can answer.',
  'Find the series with find_indicators first; never make up an id. If `match` is weak, say that nothing measures exactly that; if none, say that Almanac has nothing of the kind.',
  'Take figures from the tools only, exactly as they are given, each with its unit, its year, and its source. Say when `projected` is true: it is a forecast.',
  'Where the answer is a refusal (no_data, not_held, unknown_place, ambiguous_place, not_a_country), give no figure: do not estimate, interpolate, or fill in from memory. Name the nearest years held, or ask which country is meant.',
  'Groups such as the EU have no figure of their own: their members have. Do not add or average them, unless the user asks for it and is told that you computed it.',
  'For a comparison use compare_countries, which takes one year for all; for “the most” and “the least”, rank_countries, and name the year, the direction and how many countries are ranked.',
  'Publish the credit line (`source`) and the licence with the figures.',
  'Finding and describing is free. Figures cost credits of the API key: set max_credits to bound a call.',
] as const;
