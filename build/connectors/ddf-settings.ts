/** What a provider definition may say of a DDFcsv data set. */
import { z } from 'zod';

const names = z.union([z.string(), z.array(z.string()).min(1)]).transform((value) => [value].flat());
/** Names of concept properties; the first that a concept fills is taken. */
const property = z.array(z.string()).min(1);

export const ddfSettings = z.strictObject({
  datapackage: z.string().default('datapackage.json'),
  /**
   * The key columns with places and years. Several names where files differ: a data set may key some by `country` and
   * some by the `geo` that countries are a set of. A file is keyed by one of them.
   */
  geo: names.default(['geo']),
  time: names.default(['time']),
  /** Only datapoint files keyed by exactly these are series, in any order. Default: one place and one year. */
  by: z.array(z.string()).min(2).optional(),
  /** Texts that mean a published gap; an empty cell always does. */
  missing: z.array(z.string()).default([]),
  /** Series to leave out, by concept. */
  exclude: z.array(z.string()).default([]),
  /** Where a concept's properties are. */
  concept: z
    .strictObject({
      name: property.default(['name', 'subject_descriptor', 'name_short']),
      description: property.default(['description', 'description_long', 'subject_notes']),
      unit: property.default(['unit']),
      /** A factor in words (`Billions`) that belongs to the unit. */
      scale: property.default(['scale']),
      source: property.default(['source', 'source_long']),
      source_url: property.default(['source_url', 'indicator_url']),
      tags: property.default(['tags']),
      licence: property.default(['licence', 'license']),
    })
    .prefault({}),
  /** A table that gives the last actual year of a place and series; what comes later is a projection. */
  notes: z
    .strictObject({
      path: z.string(),
      geo: z.string().optional(),
      concept: z.string().default('concept'),
      last_actual: z.string().default('estimates_start_after'),
    })
    .optional(),
});
export type DdfSettings = z.infer<typeof ddfSettings>;
