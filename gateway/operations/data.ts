/** GET /data: raw observations of one indicator, as JSON or CSV. */
import { z } from 'zod';
import { indicatorId, iso3, observationRow } from '../../data/schema/records.ts';
import { csv } from '../encoders/csv.ts';
import type { CachedEncoder } from '../encoders/encoder.ts';
import { json } from '../encoders/json.ts';
import { asOf, asOfEcho } from './as-of.ts';
import { count, credit, envelope } from './envelope.ts';
import { indicatorNotFound } from './indicator.ts';
import { type Content, defineOperation, type Planned, refused, sentOnly, underAlias } from './operation.ts';
import { oneOf } from './parameters.ts';
import { checkYears, selection } from './selection.ts';

const ENCODERS: readonly CachedEncoder[] = [json, csv];
const FORMATS = [json.name, csv.name] as const;

const query = z
  .object({
    ...selection,
    format: oneOf(FORMATS).optional().describe('Default `json`').meta({ default: json.name }),
    as_of: asOf().optional(),
  })
  .superRefine(checkYears);

export const data = defineOperation({
  name: 'getData',
  path: '/data',
  tag: 'Data',
  summary: 'Observations',
  description:
    'The observations of one indicator, ordered by country and year. Costs a credit per row, at least one. ' +
    'A missing measurement is a row with null. Codes without data match nothing.',
  needsKey: true,
  priceText: 'max(1, rows) credits',
  isCacheable: false,
  pathParameters: {},
  query,
  answer: envelope(z.array(observationRow), {
    count,
    indicator: indicatorId,
    name: z.string(),
    unit: z.string().nullable(),
    licence_url: z.string().nullable(),
    ...credit,
    countries: z.array(iso3).optional().describe('Normalised; in the order sent, each once'),
    from: z.int().optional(),
    to: z.int().optional(),
    format: z.enum(FORMATS).optional(),
    ...asOfEcho,
  }),
  formats: FORMATS,
  errors: ['indicator_not_found', 'export_restricted', 'edition_not_found'],
  asOf: ({ as_of }) => as_of,
  async plan({
    snapshot,
    query: { indicator: asked, countries, from, to, format, as_of },
  }): Promise<Planned> {
    const { id, alias } = snapshot.editions.resolve(asked);
    const found = snapshot.indicator(id);
    const item = found instanceof Promise ? await found : found;
    if (!item) return indicatorNotFound(asked);
    const { record: indicator } = item;
    if (indicator.access_tier === 'display') return refused('export_restricted');
    const rows = await snapshot.observations.select(id, { countries: countries?.toSorted(), from, to });
    const meta = {
      generated_at: snapshot.generatedAt,
      count: rows.count,
      indicator: id,
      name: indicator.name,
      unit: indicator.unit,
      licence: indicator.licence,
      licence_url: indicator.licence_url,
      attribution: indicator.attribution,
      ...sentOnly({ countries, from, to, format, as_of: as_of?.sent }),
    };
    const content: Content = {
      kind: 'observations',
      table: { indicator, rows, meta },
      encoder: ENCODERS.find(({ name }) => name === format) ?? json,
    };
    const price = Math.max(1, rows.count);
    return underAlias({ kind: 'plan', price, rows: rows.count, produce: () => content }, alias);
  },
});
