/**
 * Schemas of the public records, as the interface specification defines them. The build validates prerendered bodies
 * with them, the gateway derives OpenAPI from them, and the tests check every response against them.
 */
import { z } from 'zod';

/** ISO 8601 with a numeric UTC offset: `2026-11-20T02:00:00+00:00`. */
export const timestamp = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+00:00$/)
  .describe('ISO 8601 timestamp with UTC offset');

/** The version of a stored form. Readers refuse any other; where it is optional, none means 1. */
export const storedFormat = (format: number) =>
  z.literal(format, { error: ({ input }) => `it has format ${input}; this program reads format ${format}` });

/** Formats an instant as a `timestamp`: whole seconds, offset +00:00. */
export function formatTimestamp(instant: Date | number): string {
  return `${new Date(instant).toISOString().slice(0, 19)}+00:00`;
}

/** ISO 3166-1 alpha-3, upper case. */
export const iso3 = z.string().regex(/^[A-Z]{3}$/);

/**
 * `<provider>.<slug>`, safe as a file name and in a URL path. The provider contains no dot, so the first dot separates
 * the two.
 */
export const INDICATOR_ID = /^[a-z0-9][a-z0-9_-]{0,63}\.[A-Za-z0-9][A-Za-z0-9_.-]{0,190}$/;
export const indicatorId = z.string().regex(INDICATOR_ID);

export const countryRecord = z.object({
  iso3,
  iso2: z.string().nullable().describe('ISO 3166-1 alpha-2'),
  m49: z.int().nullable().describe('UN M49 numeric code'),
  name: z.string().describe('Common English name'),
  official_name: z.string().nullable(),
  region: z.string().nullable().describe('World Bank region'),
  subregion: z.string().nullable().describe('UN subregion'),
  income_group: z.string().nullable().describe('World Bank income group'),
  wb_code: z.string().nullable().describe('World Bank code where it differs from ISO3'),
  capital: z.string().nullable(),
  wikidata_id: z.string().nullable().describe('Wikidata Q-identifier'),
  flag_emoji: z.string().nullable(),
});
export type CountryRecord = z.infer<typeof countryRecord>;

export const topicItem = z.object({
  indicator: indicatorId,
  name: z.string(),
  unit: z.string().nullable(),
  year: z.int(),
  value: z.number().nullable(),
  rank: z.int().nullable(),
  rank_delta_1y: z.int().nullable().describe('Rank last year minus rank this year; positive is up'),
  featured: z.boolean(),
});
export type TopicItem = z.infer<typeof topicItem>;

export const countryDetail = countryRecord.extend({
  topics: z.record(z.string(), z.array(topicItem)),
});
export type CountryDetail = z.infer<typeof countryDetail>;

export const coverage = z.object({
  n_countries: z.int(),
  yr_min: z.int().nullable(),
  yr_max: z.int().nullable(),
  latest_year: z.int().nullable().describe('Newest observed (not projected) year with a value'),
});

export const providerCredit = z.object({
  id: z.string(),
  name: z.string(),
  licence: z.string(),
  licence_url: z.string().nullable(),
  attribution: z.string(),
});
export type ProviderCredit = z.infer<typeof providerCredit>;

export const accessTier = z.enum(['open', 'display']);

export const indicatorRecord = z.object({
  id: indicatorId,
  name: z.string(),
  description: z.string().nullable(),
  unit: z.string().nullable(),
  topic: z.string(),
  higher_is_better: z.boolean().nullable(),
  preferred: z.boolean(),
  featured: z.boolean(),
  access_tier: accessTier,
  no_rank: z.boolean(),
  licence: z.string(),
  licence_url: z.string().nullable(),
  attribution: z.string(),
  provider: providerCredit,
  coverage: coverage.nullable(),
});
export type IndicatorRecord = z.infer<typeof indicatorRecord>;

/** What an edition says otherwise of an indicator than the edition before: its name, unit or definition. */
const changedText = z
  .object({ old: z.string().nullable(), new: z.string().nullable() })
  .nullable()
  .describe('Null where it did not change');

export const redefinition = z.object({
  indicator: indicatorId,
  name: changedText,
  unit: changedText,
  definition: changedText.describe('Its description; null where it did not change'),
});
export type Redefinition = z.infer<typeof redefinition>;

type Described = Pick<IndicatorRecord, 'id' | 'name' | 'unit' | 'description'>;

/** Null where nothing changed. @param before may have another id: it was renamed. */
export function redefinitionOf(before: Described, after: Described): Redefinition | null {
  const change = (name: 'name' | 'unit' | 'description') =>
    before[name] === after[name] ? null : { old: before[name], new: after[name] };
  const [name, unit, definition] = [change('name'), change('unit'), change('description')];
  return (name ?? unit ?? definition) ? { indicator: after.id, name, unit, definition } : null;
}

export const relatedEntry = z.object({
  id: indicatorId,
  name: z.string(),
  topic: z.string(),
  unit: z.string().nullable(),
  relation: z.string().describe('`same_concept`, `correlated`, `related`, or the word of a curated link'),
});
export type RelatedEntry = z.infer<typeof relatedEntry>;

/** One of the sources of an indicator. The terms are those under which its figures are published here. */
export const indicatorSource = z.object({
  name: z.string(),
  url: z.string().nullable(),
  note: z.string().nullable(),
  licence: z.string().describe('Licence of the figures from this source'),
  licence_url: z.string().nullable(),
  licence_reason: z.string().describe('Why this licence applies'),
});
export type IndicatorSource = z.infer<typeof indicatorSource>;

/** Another series of an indicator's concept, compared with the indicator. */
export const indicatorTwin = z.object({
  id: indicatorId,
  name: z.string(),
  unit: z.string().nullable(),
  provider: z.string(),
  licence: z.string(),
  preferred: z.boolean().describe('Whether it is the series to use when there is no reason for another'),
  factor: z.number().describe('What a value of the twin is multiplied by to have the unit of the indicator'),
  yr_min: z.int().nullable(),
  yr_max: z.int().nullable(),
  common_countries: z.int().describe('Countries with an observed value of one year in both series'),
  common_years: z.int().describe('Years with an observed value of one country in both series'),
  difference: z
    .object({
      median: z.number(),
      largest: z.object({
        difference: z.number(),
        iso3,
        year: z.int(),
        value: z.number().describe('Value of the indicator, in its unit'),
        twin_value: z.number().describe('Value of the twin, in its unit'),
      }),
    })
    .nullable()
    .describe(
      'Relative differences of common observed values in one unit: distance over the larger magnitude. Null without common values, or when one of the two is display-only',
    ),
  deviations: z
    .array(
      z.object({
        indicator: indicatorId,
        deviates: z.array(z.string()),
        reason: z.string(),
      }),
    )
    .describe(
      'In what the two differ from their concept, and why: `figures` is another edition, source or method',
    ),
});
export type IndicatorTwin = z.infer<typeof indicatorTwin>;

export const indicatorDetail = indicatorRecord.extend({ related: z.array(relatedEntry).max(12) });

export const topicRecord = z.object({
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  n_indicators: z.int(),
  n_featured: z.int(),
  n_countries: z.int(),
});
export type TopicRecord = z.infer<typeof topicRecord>;

export const upstreamEntry = z.object({
  name: z.string(),
  url: z.string().optional(),
  note: z.string().optional(),
});

export const freshnessRecord = z.object({
  provider_id: z.string(),
  name: z.string(),
  licence: z.string(),
  attribution: z.string(),
  cadence: z.string().nullable(),
  upstream: z.array(upstreamEntry),
  last_ok_finished_at: timestamp.nullable(),
  last_ok_rows: z.int().nullable(),
  latest_data_year: z.int().nullable().describe('Newest observed year, never a projected one'),
});
export type FreshnessRecord = z.infer<typeof freshnessRecord>;

export const coverageRecord = z.object({
  iso3,
  name: z.string(),
  n_observations: z.int(),
  n_indicators: z.int(),
  yr_min: z.int().nullable(),
  yr_max: z.int().nullable(),
});
export type CoverageRecord = z.infer<typeof coverageRecord>;

export const observationRow = z.object({
  iso3,
  year: z.int(),
  value: z.number().nullable(),
  ci_lo: z.number().nullable(),
  ci_hi: z.number().nullable(),
  rank: z.int().nullable(),
  projected: z.boolean(),
});
export type ObservationRow = z.infer<typeof observationRow>;

export const rankingRow = z.object({
  rank: z.int().nullable(),
  iso3,
  name: z.string(),
  value: z.number().nullable(),
  ci_lo: z.number().nullable(),
  ci_hi: z.number().nullable(),
  rank_delta_1y: z.int().nullable(),
  projected: z.boolean(),
});

/**
 * What a source says of a figure, in words: `status` of the lake and of snapshots. Null is a normal value, or a source that
 * says nothing. The words are a closed list with the codes of the SDMX code list CL_OBS_STATUS 2.3 and those that agencies
 * add to it (Eurostat, UNICEF), and usual labels, in upper case. Several are joined by a comma: `break, provisional`. What
 * is not in the list is kept as the source writes it, in lower case, so that nothing is lost.
 */
const STATUSES = {
  break: ['B', 'TIME SERIES BREAK', 'BREAK IN TIME SERIES'],
  'definition differs': ['D'],
  estimated: ['E', 'ESTIMATE', 'ESTIMATED VALUE'],
  forecast: ['F', 'FORECAST VALUE'],
  experimental: ['G', 'EXPERIMENTAL VALUE'],
  imputed: ['I', 'IMPUTED VALUE'],
  derogation: ['J'],
  'included elsewhere': ['K', 'DATA INCLUDED IN ANOTHER CATEGORY'],
  'not collected': ['L'],
  missing: ['H', 'M', 'O', 'MISSING VALUE'],
  'not significant': ['N'],
  provisional: ['P', 'PROVISIONAL VALUE', 'PRELIMINARY'],
  suppressed: ['Q'],
  revised: ['R'],
  'special event': ['S', 'STRIKE AND OTHER SPECIAL EVENTS'],
  'low reliability': ['U'],
  unvalidated: ['V', 'UNVALIDATED VALUE'],
  'includes another category': ['W', 'INCLUDES DATA FROM ANOTHER CATEGORY'],
  'not applicable': ['Z', '_Z'],
  adjusted: ['AD'],
  'external reanalysis': ['ER'],
  'less than': ['LT'],
  modelled: ['MD', 'MODELED'],
  partial: ['PA'],
  projection: ['PR', 'PROJECTED'],
  reanalysed: ['RA', 'REANALYZED'],
  reported: ['RP'],
  excluded: ['EXCL'],
  predicted: ['PRED'],
} as const satisfies Record<string, readonly string[]>;
type StatusWord = keyof typeof STATUSES;

/** The closed list. */
export const STATUS_WORDS = Object.keys(STATUSES) as StatusWord[];
/** A figure with one of these is a projection. */
const FORECASTS: ReadonlySet<string> = new Set<StatusWord>(['forecast', 'projection', 'predicted']);
/** Codes and labels of a normal value, or of an unknown status. */
const NORMAL = ['A', 'NORMAL', 'NORMAL VALUE', '_U'];

const WORD_OF: ReadonlyMap<string, StatusWord | null> = new Map<string, StatusWord | null>([
  ...NORMAL.map((text) => [text, null] as const),
  ...STATUS_WORDS.flatMap((word) =>
    [word.toUpperCase(), ...STATUSES[word]].map((text) => [text, word] as const),
  ),
]);
/** Codes that agencies combine without a separator, such as `bep`; at most three. */
const COMBINED = /^[BDEFGIJKNPRSUVW]{2,3}$/;
const SEPARATOR = /\s*[,;|+]\s*/;

/** The codes or labels of a combination, in upper case. */
export function splitStatus(text: string): string[] {
  const known = text.toUpperCase();
  if (WORD_OF.has(known)) return [known];
  return COMBINED.test(known) ? [...known] : known.split(SEPARATOR);
}

/** The status in words; a word stays as it is. */
export function describeStatus(text: string | null | undefined): string | null {
  const given = text?.replaceAll(/\s+/g, ' ').trim() ?? '';
  if (given === '') return null;
  const words = splitStatus(given).map((part) => WORD_OF.get(part));
  if (words.includes(undefined)) return given.toLowerCase();
  return [...new Set(words.filter((word) => !!word))].join(', ') || null;
}

/** Whether a status, or one of several, marks a projection. */
export const isForecastStatus = (status: string | null): boolean =>
  status?.split(', ').some((word) => FORECASTS.has(word)) ?? false;
