/**
 * What a definition can say of an SDMX-CSV provider. The least is a list of files; everything else has the default that
 * the standard's own concept ids suggest.
 */
import { z } from 'zod';
import { pattern } from './column-roles.ts';

const codes = z.union([z.string(), z.array(z.string()).min(1)]).transform((value) => [value].flat());
const pins = z.record(z.string(), codes);

const fileSettings = z.strictObject({
  /** A reference relative to the origin, query included: a data query of the service, or a file. */
  path: z.string(),
  /** The whole file is one series of this slug. */
  slug: z.string().optional(),
  name: z.string().optional(),
  unit: z.string().optional(),
  tags: z.array(z.string()).default([]),
  /** Codes to keep, by dimension, in this file. */
  pin: pins.default({}),
});
export type SdmxFile = z.infer<typeof fileSettings>;

export const sdmxSettings = z.strictObject({
  files: z
    .array(z.union([z.string(), fileSettings]))
    .min(1)
    .transform((files) =>
      files.map((one) => (typeof one === 'string' ? fileSettings.parse({ path: one }) : one)),
    ),
  /**
   * The dimensions whose codes make a series; several are joined. Default: INDICATOR, SERIES or MEASURE; a message
   * without any is one series, its dataflow.
   */
  indicator: codes.optional(),
  place: z.string().optional(),
  time: z.string().default('TIME_PERIOD'),
  value: z.string().default('OBS_VALUE'),
  ci_lo: z.string().optional(),
  ci_hi: z.string().optional(),
  status: z.string().optional(),
  unit: z.string().optional(),
  /** Codes to keep, by dimension, where a file has the dimension. */
  pin: pins.default({}),
  /** Codes for "all of it". A dimension that is not pinned and has such a code is pinned to it. */
  total: z.array(z.string()).default(['_T', 'TOTAL', 'T']),
  /** Statuses that mark a forecast. */
  forecast: z.array(z.string()).default(['F', 'PR', 'PRED']),
  /**
   * UNIT_MULT says by which power of ten figures are to be multiplied. `keep` leaves the figures as they are and puts
   * the scale into the unit; `apply` multiplies.
   */
  multiplier: z.enum(['keep', 'apply']).default('keep'),
  decimal_comma: z.boolean().default(false),
  /** Takes the year out of TIME_PERIOD: a regular expression with one group, such as `^(\d{4})-12-31$`. */
  year_pattern: pattern.optional(),
  /** Texts that mean "no value"; the empty text is always one. */
  missing: z.array(z.string()).default(['NaN', ':', '-']),
});
export type SdmxSettings = z.infer<typeof sdmxSettings>;
