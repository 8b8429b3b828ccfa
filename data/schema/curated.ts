/**
 * What people curate and review under `data/`: provider definitions, the indicator overlay, topics, places, links.
 * Loading and checking them (with file, line and reason) is `data/curated/curated.ts`.
 */
import { z } from 'zod';
import { accessTier, countryRecord, INDICATOR_ID, iso3, upstreamEntry } from './records.ts';

const slugWord = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/);

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

/** What may be curated of one indicator. Everything is optional: what is not said comes from upstream. */
export const indicatorOverlay = z.strictObject({
  name: z.string().min(1).optional(),
  description: z.string().optional(),
  unit: z.string().optional(),
  topic: topicSlug.optional(),
  /** `null` says there is no better end; absent says nothing. */
  higher_is_better: z.boolean().nullable().optional(),
  preferred: z.boolean().optional(),
  featured: z.boolean().optional(),
  no_rank: z.boolean().optional(),
  /** Place within the topic; smaller comes first. */
  order: z.int().optional(),
  enabled: z.boolean().optional(),
  redistributable: z.boolean().optional(),
  access_tier: accessTier.optional(),
  licence: z.string().optional(),
  licence_url: z.url().optional(),
  attribution: z.string().optional(),
  /** First year that is a forecast, for series whose rows carry no flag. */
  projected_from: z.int().optional(),
  /** Values outside are rejected as out of bounds. */
  min: z.number().optional(),
  max: z.number().optional(),
});
export type IndicatorOverlay = z.infer<typeof indicatorOverlay>;

/** Gives settings to every indicator whose slug, name, tag or licence matches; the first matching rule wins per setting. */
export const indicatorRule = z.strictObject({
  /** Regular expressions, case-insensitive. At least one of the four; where several stand, all must match. */
  slug: z.string().optional(),
  name: z.string().optional(),
  tag: z.string().optional(),
  /** The licence that upstream states for the one series; a series without one never matches. */
  licence: z.string().optional(),
  set: indicatorOverlay,
});

/**
 * A mirror directory that holds the provider's figures in another layout than the origin serves them, so another
 * connector or other settings read them. `build/upstream/open-upstream.ts` decides when it counts.
 */
export const mirrorSource = z.strictObject({
  /** Folder below PROVIDER_MIRROR. Default: the provider id. */
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
  /** A sample provider serves only while no other provider has data. */
  sample: z.boolean().default(false),
  licence: z.string(),
  licence_url: z.url().nullable(),
  attribution: z.string(),
  redistributable: z.boolean(),
  access_tier: accessTier,
  cadence: z.string().nullable().default(null),
  upstream: z.array(upstreamEntry).default([]),
  /** Which connector reads it, and that connector's own settings (checked by the connector's schema). */
  connector: z.string(),
  source: z.record(z.string(), z.unknown()).default({}),
  /** The true upstream address; absent for data that ships inside a package. */
  origin: z.url().optional(),
  /**
   * Where the provider's files lie below PROVIDER_MIRROR (default: the provider id), or how a mirror *directory* is
   * read when its layout is not the origin's.
   */
  mirror: z.union([z.string(), mirrorSource]).optional(),
  /** Columns of places.csv to look codes up in, in order. Default: iso3 alone. */
  places: z.array(z.string()).default(['iso3']),
  /** First year that is a forecast in every series, where rows carry no flag. */
  projected_from: z.int().optional(),
  default_topic: topicSlug,
  rules: z.array(indicatorRule).default([]),
  /** Settings of single indicators by slug; `overlay/<id>.csv` is the same as a table and wins over this. */
  indicators: z.record(z.string(), indicatorOverlay).default({}),
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
  iso3,
  iso2: z
    .string()
    .regex(/^[A-Z]{2}$/, 'two capital letters')
    .nullable(),
  m49: z.int().min(1).max(999).nullable(),
  name: z.string().min(1),
  wikidata_id: z
    .string()
    .regex(/^Q[1-9]\d*$/, 'a Wikidata id such as Q889')
    .nullable(),
  flag_emoji: z
    .string()
    .regex(/^[\u{1F1E6}-\u{1F1FF}]{2}$/u, 'a pair of regional indicators')
    .nullable(),
  enabled: z.boolean(),
});
export type SpineCountry = z.infer<typeof spineCountry>;

/** What a place code that is no present country stands for. */
export const placeKind = z.enum(['aggregate', 'historical']);
export type PlaceKind = z.infer<typeof placeKind>;

/** One row of `data/links.csv`. */
export const curatedLink = z.strictObject({
  from: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
  to: z.string().regex(INDICATOR_ID, 'an indicator id, <provider>.<slug>'),
  relation: z.string().min(1),
});
export type CuratedLink = z.infer<typeof curatedLink>;

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
