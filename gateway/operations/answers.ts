/** The bodies of successes: `{ data, meta }`, from the same record schemas that the build validates with. */
import { z } from 'zod';
import * as records from '../../data/schema/records.ts';

const generatedAt = records.timestamp;
const count = z.int().describe('Number of rows in `data`');
const envelope = <Data extends z.ZodType, Meta extends z.ZodRawShape>(data: Data, meta: Meta) =>
  z.object({ data, meta: z.strictObject({ generated_at: generatedAt, ...meta }) });
const credit = { licence: z.string(), attribution: z.string() };

export const countriesAnswer = envelope(z.array(records.countryRecord), {
  count,
  region: z.string().optional(),
  income_group: z.string().optional(),
});

export const countryAnswer = envelope(records.countryDetail, {
  count: z.int().describe('Items over all topics'),
  featured: z.boolean().optional(),
  topic: z.string().optional(),
  topic_counts: z.record(z.string(), z.int()).describe('Items held per topic; filters do not change it'),
});

export const indicatorsAnswer = envelope(z.array(records.indicatorRecord), {
  count,
  total: z.int().describe('Rows that match, over all pages'),
  q: z.string().optional(),
  topic: z.string().optional(),
  provider: z.string().optional(),
  featured: z.boolean().optional(),
  projections: z.boolean().optional(),
  sort: z.string().optional(),
  dir: z.string().optional(),
  offset: z.int().optional(),
});

export const indicatorAnswer = envelope(records.indicatorDetail, credit);
export const topicsAnswer = envelope(z.array(records.topicRecord), { count });
export const freshnessAnswer = envelope(z.array(records.freshnessRecord), { count });
export const coverageAnswer = envelope(z.array(records.coverageRecord), { count });

export const rankingsAnswer = envelope(z.array(records.rankingRow), {
  count,
  ranked: z.int().describe('How many rows have a rank'),
  indicator: records.indicatorId,
  name: z.string(),
  unit: z.string().nullable(),
  higher_is_better: z.boolean().nullable(),
  year: z.int().describe('The year that `latest` stands for, or the one asked for'),
  licence_url: z.string().nullable(),
  ...credit,
});

export const dataAnswer = envelope(z.array(records.observationRow), {
  count,
  indicator: records.indicatorId,
  name: z.string(),
  unit: z.string().nullable(),
  licence_url: z.string().nullable(),
  ...credit,
  countries: z.array(records.iso3).optional().describe('Normalised; in the order sent, each once'),
  from: z.int().optional(),
  to: z.int().optional(),
  format: z.enum(['json', 'csv']).optional(),
});

const tier = z.enum(['anonymous', 'free', 'paid']);

export const pingAnswer = envelope(
  z.object({
    key_id: z.string(),
    environment: z.enum(['live', 'test']),
    scopes: z.array(z.literal('read')),
    tier,
    balance: z.int(),
  }),
  {},
);

const counts = { requests: z.int(), errors: z.int(), rows: z.int(), credits: z.int() };

export const usageAnswer = envelope(
  z.object({
    credits: z.object({ balance: z.int(), lifetime_granted: z.int(), lifetime_spent: z.int() }),
    totals: z.object(counts),
    daily: z.array(z.object({ date: z.iso.date(), ...counts })).describe('One entry a UTC day, oldest first'),
    endpoints: z.array(z.object({ route: z.string(), ...counts })).describe('Busiest first'),
  }),
  { days: z.int().min(1).max(90) },
);
