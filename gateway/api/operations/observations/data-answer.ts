/** The JSON body of GET /data, in each of its shapes. */
import { z } from 'zod';
import { indicatorId, iso3, observationRow } from '../../../../data/schema/records.ts';
import { FORMATS } from '../../encoders/encoders.ts';
import { count, envelope, named } from '../envelope.ts';
import { asOfEcho } from '../parameters/as-of.ts';
import { countriesEcho, yearsEcho } from '../parameters/places.ts';
import { derivation, transformEcho } from '../parameters/transforms.ts';
import { FIELDS, longColumns } from './long-table.ts';

const CELLS = { text: z.string(), integer: z.int(), double: z.number(), boolean: z.boolean() } as const;

const severalRow = z.strictObject({ indicator: indicatorId, ...observationRow.shape });
const chosenRow = z
  .strictObject(
    Object.fromEntries(
      longColumns(FIELDS).map(({ name, type }) => [name, CELLS[type].nullable().optional()]),
    ),
  )
  .describe('The columns asked for');
const wideRow = z
  .object({ iso3: z.string(), year: z.int() })
  .catchall(z.number().nullable())
  .describe('A value, or null, by indicator');

const one = { indicator: indicatorId, ...named, derivation: derivation.optional() };
const several = {
  indicators: z
    .array(z.object({ id: indicatorId, ...named, derivation: derivation.optional() }))
    .describe('Each once, in the order sent'),
};
/** Either of them. */
const oneOrSeveral = z.object({ ...one, ...several }).partial().shape;

const echo = {
  countries: countriesEcho,
  ...yearsEcho,
  ...transformEcho,
  latest: z.int().optional(),
  missing: z.enum(['null', 'omit']).optional(),
  format: z.enum(FORMATS).optional(),
  ...asOfEcho,
};
const long = { layout: z.literal('long').optional() };

const observations = envelope(z.array(observationRow), { count, ...one, ...long, ...echo }).describe(
  'Of one `indicator`',
);
const severalIndicators = envelope(z.array(severalRow), { count, ...several, ...long, ...echo }).describe(
  'With `indicators`',
);
const chosenColumns = envelope(z.array(chosenRow), {
  count,
  ...oneOrSeveral,
  fields: z.array(z.enum(FIELDS)),
  ...long,
  ...echo,
}).describe('With `fields`');
const groupRow = severalRow
  .partial({ indicator: true })
  .extend({ iso3: iso3.nullable(), group: z.string().nullable().describe('A group, by @ and id') });
const weights = z
  .array(z.object({ id: indicatorId, ...named }))
  .optional()
  .describe('Of means: whose figures weigh the members');
const groups = envelope(z.array(z.union([groupRow, chosenRow])), {
  count,
  ...oneOrSeveral,
  aggregate: z.enum(['declared', 'median', 'min', 'max']),
  groups: z.array(
    z.object({
      group: z.string(),
      members: z.array(iso3),
      name: z.string().optional().describe("Absent for a group of one's own, like source and date"),
      source: z.string().optional(),
      as_of: z.string().optional().describe('The day since, or on, which these are the members'),
    }),
  ),
  weights,
  fields: z.array(z.enum(FIELDS)).optional(),
  ...long,
  ...echo,
}).describe('With `aggregate` or `group`');
const wide = envelope(z.array(wideRow), {
  count,
  ...oneOrSeveral,
  layout: z.literal('wide'),
  ...echo,
}).describe('With `layout=wide`');

/**
 * The shapes, as the machine-readable description names them. Members of `meta` tell them apart, so that a client that
 * tries them in this order never takes one for another.
 */
export const DATA_ANSWERS = {
  GroupsAnswer: groups,
  ChosenColumnsAnswer: chosenColumns,
  WideAnswer: wide,
  SeveralIndicatorsAnswer: severalIndicators,
  ObservationsAnswer: observations,
};

export const dataAnswer = z.union([groups, chosenColumns, wide, severalIndicators, observations]);
