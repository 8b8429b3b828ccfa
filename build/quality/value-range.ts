/**
 * Reads from the name and the unit of a series which values are possible at all.
 *
 * The rules are words of statistics, never ids. In doubt a range is open: a ratio whose part may exceed its whole (trade
 * in % of GDP), a flow that may be negative (net, balance, change).
 */

export interface ValueRange {
  /** Null where there is no limit. */
  low: number | null;
  high: number | null;
  /** `share`: per cent of a whole. `quantity`: counts or measures something. */
  type: 'share' | 'quantity' | 'open';
}

interface Labels {
  name: string;
  unit: string | null;
}

const OPEN: ValueRange = { low: null, high: null, type: 'open' };

/** `1=low to 6=high`, `scale 0-1`, `index from 0 to 100`, `points from -10 to 10`: checked by what the label states. */
const STATED_RANGE =
  /^(?:scale|index|score|points?)\b\D*?-?\d+\s*(?:to|[-–])\s*-?\d|^-?\d+ ?=.*?(?: to |[;,] ?)-?\d+ ?=/iu;

/** Differences, flows in both directions and rates of change. */
const MAY_BE_NEGATIVE =
  /\b(?:net(?! enrol| attend| barter| reproduc)|balance|growth|change|increase|inflation|deflator|gap|savings?|lending|borrowing|spread|premium|interest|libor|aid|oda|assistance|grants?|inventor(?:y|ies)|investments?|capital formation|value added|deviation|anomal(?:y|ies)|temperature|difference|returns?|profit|surplus|deficit|transfers?|score|elevation|latitude|longitude|effect)\b/iu;
/** The same for a part of a whole, which is negative only as a difference. */
const SHARE_MAY_BE_NEGATIVE =
  /(?<!% )\b(?:net(?! enrol| attend)|balance|growth|change|difference)\b(?! \()/iu;

/** What is compared with something that it is no part of, so that it may exceed 100 %. */
const NOT_A_PART =
  /\b(?:gdp|gni|gnp|gross domestic product|gross(?! fixed)|debts?|credit|reserves|aid received|oda|ratio|rates?|libor|turnover|intake|completion rate|profits|assets|internal resources|detection|per (?:person|capita|student|pupil|head|year)|annual|(?:percent|%) (?:of )?men|years? in (?:percent|school)|prices?|capitali[sz]ation|liabilities)\b/iu;

/** Ratios and rates of a part to its whole nonetheless. */
const PART =
  /\b(?:literacy|(?:un)?employment|participation|prevalence|coverage|immuni[sz]ation|attendance|survival|dropout|repetition|poverty|headcount|access|share|cause of death|success)\b|% net\b/iu;

const PERCENT = /%|\bper ?cent\b|\bpercentage\b/iu;
const GROWTH_UNIT = /\b(?:annual|per year|a year|change|growth|points?)\b|^lending rate|of potential gdp/iu;

/** Counts, sizes, amounts and rates of them. An index relative to a year or a change has no unit of these. */
const QUANTITY =
  /\b(?:people|persons|population|number|deaths|cases|births|children|boys|girls|women|men|males|females|pupils|teachers|students|workers|subscriptions|subscribers|users|species|companies|firms|patents|applications|departures|arrivals|computers|vehicles|phones|billionaires|km²?|sq\. ?km|km2|route-km|hectares?|ha|kg|tonnes?|tons?|kilotonnes|kt|grams|micrograms|litres?|liters?|cubic|kwh|mwh|kilowatt|mj|toe|kcal|kilocalories|years?|months|weeks|days|hours|minutes|mm|mmhg|mmol|metres?|meters?|us\$|dollars?|international \$|ppp \$|lcu|national currency|teu|teeth|drinks|pounds|beds|doctors|physicians|nurses|households|dwellings|passengers|ratio|index, \d{4}|\d{4}(?:-\d{4})? = 100)\b|\$/iu;

/** Returns the range of values that the labels allow. */
export function valueRange({ name, unit }: Labels): ValueRange {
  const text = unit ?? '';
  if (STATED_RANGE.test(text)) return OPEN;
  if (PERCENT.test(text)) return percentRange({ name, unit: text });
  const low = MAY_BE_NEGATIVE.test(`${name} ${text}`) ? null : 0;
  return QUANTITY.test(text) ? { low, high: null, type: 'quantity' } : OPEN;
}

function percentRange({ name, unit }: { name: string; unit: string }): ValueRange {
  if (GROWTH_UNIT.test(unit)) return OPEN;
  const labels = `${name} ${unit}`;
  if (NOT_A_PART.test(labels) && !PART.test(name) && !/\b(\w+) given \(% of \1\)/iu.test(name))
    return { low: MAY_BE_NEGATIVE.test(labels) ? null : 0, high: null, type: 'quantity' };
  return { low: SHARE_MAY_BE_NEGATIVE.test(labels) ? null : 0, high: 100, type: 'share' };
}
