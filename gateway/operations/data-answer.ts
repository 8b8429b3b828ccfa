/** The JSON body of GET /data, in each of its shapes. */
import { z } from 'zod';
import { indicatorId, observationRow } from '../../data/schema/records.ts';
import { FORMATS } from '../encoders/registry.ts';
import { asOfEcho } from './as-of.ts';
import { FIELDS, type Field, fieldColumn } from './data-columns.ts';
import { count, credit, envelope } from './envelope.ts';
import { countriesEcho } from './selection.ts';

const CELLS = { text: z.string(), integer: z.int(), double: z.number(), boolean: z.boolean() } as const;
const cellOf = (field: Field): z.ZodType => CELLS[fieldColumn(field).type].nullable();

const severalRow = z
  .strictObject({ indicator: indicatorId, ...observationRow.shape })
  .describe('With `indicators`');
const chosenRow = z
  .strictObject(Object.fromEntries(FIELDS.map((field) => [field, cellOf(field).optional()])))
  .describe('With `fields`: those asked for');
const wideRow = z
  .object({ iso3: z.string(), year: z.int() })
  .catchall(z.number().nullable())
  .describe('With `layout=wide`: a value, or null, by indicator');

const listed = z.object({
  id: indicatorId,
  name: z.string(),
  unit: z.string().nullable(),
  licence: z.string(),
  licence_url: z.string().nullable(),
  attribution: z.string(),
});

export const dataAnswer = envelope(
  z.union([z.array(observationRow), z.array(severalRow), z.array(chosenRow), z.array(wideRow)]),
  {
    count,
    indicator: indicatorId.optional().describe('Absent with `indicators`, as are `name` to `attribution`'),
    name: z.string().optional(),
    unit: z.string().nullable().optional(),
    licence_url: z.string().nullable().optional(),
    licence: credit.licence.optional(),
    attribution: credit.attribution.optional(),
    indicators: z.array(listed).optional().describe('With `indicators`: each once, in the order sent'),
    countries: countriesEcho,
    from: z.int().optional(),
    to: z.int().optional(),
    fields: z.array(z.enum(FIELDS)).optional(),
    layout: z.enum(['long', 'wide']).optional(),
    latest: z.int().optional(),
    missing: z.enum(['null', 'omit']).optional(),
    format: z.enum(FORMATS).optional(),
    ...asOfEcho,
  },
);
