/**
 * What every tool answers: one object, sent both as structured content and as text. Figures name their indicator, and
 * `series` holds what all figures of an indicator share: source and licence.
 */
import { z } from 'zod';
import { type IndicatorRecord, indicatorId, iso3 } from '../../../data/schema/records.ts';
import { ERRORS, type ErrorCode } from '../core/errors.ts';
import type { Edition } from '../snapshot/editions/edition.ts';

/** Why a question has no figure: a closed list. */
export const REFUSALS = ['no_data', 'not_held', 'unknown_place', 'ambiguous_place', 'not_a_country'] as const;

/** Said wherever a figure is missing: a model fills gaps from memory unless it is told not to. */
export const NO_ESTIMATE =
  'Nothing may be estimated, interpolated or taken from memory in its place: say that Almanac holds no such figure.';

export const placeChoice = z.object({ iso3, name: z.string() });

export const refusal = z.object({
  reason: z.enum(REFUSALS),
  message: z.string(),
  place: z.string().optional().describe('The place as it was asked for'),
  indicator: z.string().optional(),
  candidates: z.array(placeChoice).optional().describe('Countries that may be meant: ask the user which'),
  similar_indicators: z.array(z.string()).optional(),
  nearest_years: z.array(z.int()).optional().describe('The nearest years for which a figure is held'),
});
export type Refusal = z.infer<typeof refusal>;

const number = z.number().nullable();

export const figure = z.object({
  indicator: indicatorId,
  iso3,
  country: z.string(),
  year: z.int(),
  value: z.number().describe('Exact, as held'),
  unit: z.string().nullable(),
  status: z
    .string()
    .nullable()
    .describe('As the source flags it (SDMX CL_OBS_STATUS); null where it does not'),
  projected: z.boolean().describe('Whether it is a forecast and not a measurement'),
  ci_lo: number.optional(),
  ci_hi: number.optional(),
  rank: z.int().nullable().optional().describe('Among all countries in that year'),
});
export type Figure = z.infer<typeof figure>;

export const series = z.object({
  indicator: indicatorId,
  name: z.string(),
  unit: z.string().nullable(),
  source: z.string().describe('Credit line: it must be published with the figures'),
  licence: z.string(),
  licence_url: z.string().nullable(),
  url: z.string().describe('Page with chart, sources and citation'),
});
export type Series = z.infer<typeof series>;

/** Members of every answer. */
export const common = {
  outcome: z
    .enum(['answer', 'refused', 'error'])
    .describe('`refused`: nothing asked for is held; `error`: the call failed'),
  message: z.string().describe('What the answer is, and what must be said with it'),
  edition: z.string().nullable().describe('Snapshot of the data that answers; null for an error'),
  error: z
    .object({
      code: z.enum(['invalid_arguments', ...(Object.keys(ERRORS) as ErrorCode[])]),
      message: z.string(),
      retry_after_s: z.int().optional(),
    })
    .optional(),
  credits: z
    .object({ charged: z.int(), balance: z.int() })
    .optional()
    .describe('What the call cost and what is left, where a key was sent'),
};

/** Members of answers with figures. */
export const withFigures = {
  ...common,
  as_of: z.string().optional(),
  figures: z.array(figure),
  series: z.array(series).describe('Name, source and licence of each indicator among the figures'),
  refusals: z.array(refusal).describe('What was asked for and is not held'),
  refusals_left_off: z.int().optional(),
  groups: z
    .array(z.object({ group: z.string(), name: z.string(), members: z.array(iso3) }))
    .optional()
    .describe('Groups that were asked for: they have no figure of their own, their members have'),
  truncated: z
    .object({
      rows_held: z.int(),
      rows_given: z.int(),
      url: z.string().describe('Gives all of them, with the same key'),
      price: z.int().describe('What all of them cost, in credits'),
    })
    .optional()
    .describe('Present where more rows were asked for than an answer holds'),
};

export interface Answer {
  outcome: 'answer' | 'refused' | 'error';
  message: string;
  edition: string | null;
  [member: string]: unknown;
}

/** Where a path is reached. */
export const addressOf = (publicUrl: string, path: string): string => `${publicUrl}${path}`;

export const seriesOf = (record: IndicatorRecord, publicUrl: string): Series => ({
  indicator: record.id,
  name: record.name,
  unit: record.unit,
  source: record.attribution,
  licence: record.licence,
  licence_url: record.licence_url,
  url: addressOf(publicUrl, `/indicators/${record.id}`),
});

/** Those of some indicators that the edition has, each once. */
export async function seriesOfAll(
  ids: Iterable<string>,
  edition: Edition,
  publicUrl: string,
): Promise<Series[]> {
  const all: Series[] = [];
  for (const id of new Set(ids)) {
    const entry = await edition.indicator(id);
    if (entry) all.push(seriesOf(entry.record, publicUrl));
  }
  return all;
}
