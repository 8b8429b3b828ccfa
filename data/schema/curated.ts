/**
 * Schemas of the curated data under `data/`: provider definitions, indicator overlay, concepts, topics, places, links,
 * packs. `data/curated/curated.ts` loads and checks them.
 */
import { z } from 'zod';
import { accessTier, countryRecord, INDICATOR_ID, iso3, upstreamEntry } from './records.ts';
import { seriesMeasure } from './traits.ts';

const slugWord = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/);
const matching = (pattern: RegExp, expected: string) => z.string().regex(pattern, expected);

/** The 13 topics, in the curated order. */
export const TOPIC_SLUGS = [
  'population',
  'economy',
  'trade',
  'labour',
  'poverty',
  'education',
  'health',
  'gender',
  'environment',
  'energy',
  'agriculture',
  'technology',
  'governance',
] as const;
export const topicSlug = z.enum(TOPIC_SLUGS);
export const topicDefinition = z.strictObject({ slug: topicSlug, name: z.string(), description: z.string() });
export type TopicDefinition = z.infer<typeof topicDefinition>;

const LEVEL_RANGE = 'a share between 0.5 and 1, such as 0.95';
/** Confidence level of upstream's bounds. */
const confidenceLevel = z.number().gt(0.5, LEVEL_RANGE).lt(1, LEVEL_RANGE);
/** What rows after the current year are when upstream does not flag them. */
export const futureYears = z.enum(['observed', 'projected']);

const curatedSource = z.strictObject({
  name: z.string().min(1),
  url: z.url().optional(),
  note: z.string().min(1).optional(),
});

const REASON_MISSING = 'licence_reason is needed: why the series may be published';

/** Curated settings of one indicator. Absent settings come from upstream. */
export const indicatorOverlay = z
  .strictObject({
    name: z.string().min(1).optional(),
    description: z.string().optional(),
    unit: z.string().optional(),
    topic: topicSlug.optional(),
    /** `null`: neither direction is better. Absent: not curated. */
    higher_is_better: z.boolean().nullable().optional(),
    preferred: z.boolean().optional(),
    featured: z.boolean().optional(),
    no_rank: z.boolean().optional(),
    /** Position within the topic; smaller comes first. */
    order: z.int().optional(),
    enabled: z.boolean().optional(),
    /** `true` decides that the series may be published, whatever the terms of its sources. */
    redistributable: z.boolean().optional(),
    /** Why it may. */
    licence_reason: z.string().min(1).optional(),
    access_tier: accessTier.optional(),
    licence: z.string().optional(),
    licence_url: z.url().optional(),
    attribution: z.string().optional(),
    /** Who collected the figures. */
    sources: z.array(curatedSource).min(1).optional(),
    /** First forecast year, for series whose rows carry no flag. */
    projected_from: z.int().optional(),
    /** Confidence level of the bounds. Without one there are no rank intervals. */
    ci_level: confidenceLevel.optional(),
    /** Rows after the current year are projected unless this is `observed`. A run with such rows is held without a rule. */
    future_years: futureYears.optional(),
    /** Values outside are rejected as out of bounds. */
    min: z.number().optional(),
    max: z.number().optional(),
  })
  .refine(({ redistributable, licence_reason }) => redistributable !== true || licence_reason !== undefined, {
    path: ['redistributable'],
    message: REASON_MISSING,
  });
export type IndicatorOverlay = z.infer<typeof indicatorOverlay>;

/** Settings for every indicator whose slug, name, tag or licence matches. The first matching rule wins per setting. */
export const indicatorRule = z.strictObject({
  /** Case-insensitive regular expressions. At least one of the four is required; all given ones must match. */
  slug: z.string().optional(),
  name: z.string().optional(),
  tag: z.string().optional(),
  /** Matches the licence that upstream states for the series; a series without one never matches. */
  licence: z.string().optional(),
  set: indicatorOverlay,
});
export type IndicatorRule = z.infer<typeof indicatorRule>;

/**
 * A directory that holds the provider's figures in another layout than the origin serves them, so another connector or
 * other settings read them: a mirror, or the starter data. `build/upstream/open-upstream.ts` decides when it counts.
 */
export const mirrorSource = z.strictObject({
  /** Folder below PROVIDER_MIRROR or `data/starter`. Default: the provider id. */
  path: z.string().optional(),
  /** Default: the definition's own connector, with `source` laid over its settings. */
  connector: z.string().optional(),
  source: z.record(z.string(), z.unknown()).default({}),
});
export type MirrorSource = z.infer<typeof mirrorSource>;

/** `data/providers/<id>.yaml`. */
export const providerDefinition = z.strictObject({
  id: slugWord,
  name: z.string(),
  enabled: z.boolean().default(true),
  licence: z.string(),
  licence_url: z.url().nullable(),
  attribution: z.string(),
  redistributable: z.boolean(),
  access_tier: accessTier,
  cadence: z.string().nullable().default(null),
  upstream: z.array(upstreamEntry).default([]),
  /** Whether the credit line of a series names its sources after the provider's. */
  credit_sources: z.boolean().default(false),
  /** The connector, and its settings, which the connector's own schema checks. */
  connector: z.string(),
  source: z.record(z.string(), z.unknown()).default({}),
  /** The upstream address. */
  origin: z.url(),
  /**
   * Folder below PROVIDER_MIRROR (default: the provider id), or how a mirror directory with another layout is read.
   */
  mirror: z.union([z.string(), mirrorSource]).optional(),
  /** How the files below `data/starter` are read; absent when the provider has none there. */
  starter: mirrorSource.optional(),
  /** Place schemes in which codes are looked up, in order. */
  places: z.array(z.string()).default(['iso3']),
  /** First forecast year of every series whose rows carry no flag. */
  projected_from: z.int().optional(),
  /** Confidence level of the bounds of every series. */
  ci_level: confidenceLevel.optional(),
  /** As `future_years` of an indicator, for every series. */
  future_years: futureYears.optional(),
  default_topic: topicSlug,
  rules: z.array(indicatorRule).default([]),
  /** Settings of single indicators by slug. `overlay/<id>.csv` takes precedence. */
  indicators: z.record(z.string(), indicatorOverlay).default({}),
  /** Groups of which the provider publishes figures of its own, by its code: derived figures are compared with them. */
  aggregates: z.record(z.string(), z.string()).default({}),
  /** Quality gates of ingestion (shares, 0..1). */
  gates: z
    .strictObject({
      max_row_drop: z.number().min(0).max(1).default(0.2),
      max_country_drop: z.number().min(0).max(1).default(0.1),
    })
    .prefault({}),
});
export type ProviderDefinition = z.infer<typeof providerDefinition>;

/** One row of `data/countries.csv`: the public record and whether it is served. */
export const spineCountry = countryRecord.extend({
  iso2: matching(/^[A-Z]{2}$/, 'two capital letters').nullable(),
  m49: z.int().min(1).max(999).nullable(),
  name: z.string().min(1),
  wikidata_id: matching(/^Q[1-9]\d*$/, 'a Wikidata id such as Q889').nullable(),
  flag_emoji: matching(/^[\u{1F1E6}-\u{1F1FF}]{2}$/u, 'a pair of regional indicators').nullable(),
  enabled: z.boolean(),
});
export type SpineCountry = z.infer<typeof spineCountry>;

/** One row of `data/groups.csv`: either members or a rule. */
export const countryGroup = z.strictObject({
  id: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'small letters and digits, joined by hyphens'),
  name: z.string().min(1),
  /** What people call it besides. */
  names: z.array(z.string().min(1)),
  members: z.array(iso3).min(1).nullable(),
  /** Countries with one of these values in a column of the list of countries. */
  rule: z
    .strictObject({
      column: z.enum(['region', 'subregion', 'income_group']),
      values: z.array(z.string()).min(1),
    })
    .nullable(),
  /** Where the membership is stated. */
  source: z.url({ protocol: /^https?$/ }),
  /** The day since, or on, which these are the members. */
  as_of: z.iso.date(),
});
export type CountryGroup = z.infer<typeof countryGroup>;

/** One row of `data/territories.csv`: whether a provider's figure of a place includes that of another. */
export const territory = z.strictObject({
  /** A provider, a series of it, or `*` for providers without a row of their own. */
  provider: z.string().min(1),
  parent: iso3,
  child: iso3,
  /** First and last year; null without an end. */
  from: z.int().nullable(),
  to: z.int().nullable(),
  /** Null where nobody has decided: a group with both has no figure while both have one. */
  contained: z.boolean().nullable(),
  /** Who says so, as a sentence. */
  source: z.string().min(1),
});
export type Territory = z.infer<typeof territory>;

/** What a place code stands for that is no present country. */
export const placeKind = z.enum(['aggregate', 'historical']);
export type PlaceKind = z.infer<typeof placeKind>;

/** One row of `data/concepts.csv`: what holds for every series of the concept. */
export const concept = z.strictObject({
  id: slugWord,
  name: z.string().min(1),
  topic: topicSlug,
  /** `null`: neither direction is better. */
  higher_is_better: z.boolean().nullable(),
  /** The series to use when there is no reason for another. */
  preferred: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
  /** First forecast year of the series whose rows carry no flag. */
  projected_from: z.int().nullable(),
});
export type Concept = z.infer<typeof concept>;

/**
 * In what a series may differ from its concept, with a reason. `figures`: it measures by another definition, edition or
 * method. `featured`: it is featured although another series is preferred.
 */
export const conceptDeviation = z.enum([
  'topic',
  'higher_is_better',
  'projected_from',
  'featured',
  'figures',
]);
export type ConceptDeviation = z.infer<typeof conceptDeviation>;

/** One row of `data/concept-series.csv`: a series of a concept. */
export const conceptSeries = z
  .strictObject({
    concept: slugWord,
    indicator: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
    /** Multiplies its values to compare them with the other series; 1 for the unit of the preferred one. */
    factor: z.number().positive().default(1),
    deviates: z.array(conceptDeviation),
    reason: z.string().nullable(),
  })
  .refine(({ deviates, reason }) => deviates.length > 0 === (reason !== null), {
    message: 'what deviates needs a reason, and a reason says what deviates',
    path: ['reason'],
  });
export type ConceptSeries = z.infer<typeof conceptSeries>;

/** One row of `data/links.csv`. */
export const curatedLink = z.strictObject({
  from: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
  to: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
  relation: z.string().min(1),
});
export type CuratedLink = z.infer<typeof curatedLink>;

const { measure, aggregate } = seriesMeasure.shape;
/** The source of a regular expression, in which case does not count. */
export const regexSource = z.string().refine((source) => {
  try {
    return new RegExp(source, 'iu') instanceof RegExp;
  } catch {
    return false;
  }
}, 'a regular expression');

/** One row of `data/measures.csv`: a decision about a series or a concept, or a rule for names and units. */
export const measureRow = z
  .strictObject({
    /** An indicator id or the id of a concept; null for a rule. */
    subject: z.string().nullable(),
    /** Found in the name. */
    name: regexSource.nullable(),
    /** Fits the whole unit. */
    unit: regexSource.nullable(),
    measure,
    /** The power of ten of the figures where the unit does not say it. */
    scale: z.int().min(0).max(12).nullable(),
    aggregate,
    /** The denominator of a mean: an indicator id or the id of a concept. */
    weight: z.string().nullable(),
    /** The population of figures per head, likewise; null where they make no sense. */
    per_head: z.string().nullable(),
    reason: z.string().min(1),
  })
  .superRefine(({ subject, name, unit, measure, aggregate, weight, per_head }, { addIssue }) => {
    const isQuantity = measure === 'count' || measure === 'amount';
    const isRule = name !== null || unit !== null;
    const faults = [
      isRule === (subject !== null) && 'subject: a row has either a subject, or a name, a unit or both',
      (weight !== null) !== (aggregate === 'mean') && 'weight: a mean has one, and only a mean',
      aggregate === 'sum' && !isQuantity && `aggregate: no sum belongs to the measure ${measure}`,
      aggregate === 'mean' && isQuantity && `aggregate: no mean belongs to the measure ${measure}`,
      measure === 'other' && aggregate !== 'none' && 'aggregate: what is other has none',
      per_head !== null && !isQuantity && `per_head: the measure ${measure} is not divided by a population`,
    ];
    for (const message of faults.filter((fault) => fault !== false)) addIssue({ code: 'custom', message });
  });
export type MeasureRow = z.infer<typeof measureRow>;

/** One row of `data/aliases.csv`: an indicator that has another id now, and the days on which the old one answers. */
export const indicatorAlias = z.strictObject({
  old: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
  new: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
  /** The day of the rename. */
  since: z.iso.date(),
  /** The last day on which the old id answers; null: not decided. */
  until: z.iso.date().nullable(),
});
export type IndicatorAlias = z.infer<typeof indicatorAlias>;

/** One row of `data/collectors.csv`: a collector whose terms follow its figures, by whatever provider they come. */
export const collector = z.strictObject({
  id: slugWord,
  name: z.string().min(1),
  /** Names by which sources call it; see `data/curated/collectors.ts` for how they are compared. */
  names: z.array(z.string().min(1)),
  /** Hosts, with subdomains, and beginnings of paths: `data.worldbank.org/indicator/MS.MIL.XPND`. */
  urls: z.array(
    z.string().regex(/^[a-z0-9.-]+\.[a-z]{2,}(\/\S*)?$/i, 'a host, with the beginning of a path or without'),
  ),
  licence: z.string().min(1),
  licence_url: z.url(),
  /** `display`: shown, not exported. */
  redistributable: z.enum(['yes', 'display', 'no']),
  reason: z.string().min(1),
  looked_up: z.iso.date(),
});
export type Collector = z.infer<typeof collector>;

/** One entry of `data/packs.yaml`: credits that can be bought. */
export const creditPack = z.strictObject({
  id: slugWord,
  name: z.string().min(1),
  credits: z.int().positive(),
  /** In minor units of the currency: cents, pence. */
  price_minor: z.int().positive(),
  currency: z.string().regex(/^[A-Z]{3}$/, 'an ISO 4217 code'),
});
export type CreditPack = z.infer<typeof creditPack>;
