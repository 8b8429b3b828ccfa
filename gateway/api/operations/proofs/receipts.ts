/** GET /receipts: the proof that a figure was published. Its form stands in docs/receipts.md. */
import { z } from 'zod';
import { sourceFile } from '../../../../data/schema/proofs.ts';
import { iso3 as iso3Code } from '../../../../data/schema/records.ts';
import { snapshotId } from '../../../../data/schema/snapshot.ts';
import { truncateInput } from '../../core/errors.ts';
import { envelope } from '../envelope.ts';
import {
  type Content,
  defineOperation,
  document,
  indicatorNotFound,
  type Planned,
  refused,
  sentOnly,
  underAlias,
} from '../operation.ts';
import { asOf, asOfEcho } from '../parameters/as-of.ts';
import { COUNTRY_CODE, fail, integer, text } from '../parameters/parameters.ts';
import { selection } from '../parameters/places.ts';

const PRICE = 1;

const country = text()
  .transform((sent, ctx): string =>
    COUNTRY_CODE.test(sent)
      ? sent.toUpperCase()
      : fail(ctx, { type: 'string_pattern_mismatch', ctx: { expected: 'a code of three letters' } }),
  )
  .meta({ type: 'string', pattern: COUNTRY_CODE.source });

const number = z.number().nullable();
const proof = z.object({ index: z.int(), path: z.array(z.string()) });

const receipt = z.object({
  format: z.literal('almanac-receipt/1'),
  row: z.object({
    ...{ iso3: iso3Code, year: z.int(), value: number, ci_lo: number, ci_hi: number },
    ...{ status: z.string().nullable(), projected: z.boolean() },
  }),
  descriptor: z.object({
    ...{ indicator: z.string(), unit: z.string().nullable(), provider: z.string() },
    sources: z.array(sourceFile).describe('The upstream files from which the figures come'),
  }),
  rows: z.int().describe('Number of rows of the indicator'),
  edition: z.object({
    ...{ edition: snapshotId, published_at: z.string(), indicators: z.int(), manifest: z.string() },
  }),
  checkpoint: z.string().describe('The signed head of the log, a C2SP checkpoint'),
  proofs: z.object({ row: proof, descriptor: proof, indicator: proof, edition: proof }),
  notice: z.object({ licence: z.string(), licence_url: z.string().nullable(), attribution: z.string() }),
});

export const receipts = defineOperation({
  name: 'getReceipt',
  path: '/receipts',
  tag: 'Data',
  summary: 'Proof of a figure',
  description:
    'Proves that a figure was published: the row, the upstream files from which it comes, and the hashes that lead from ' +
    'there to the signed head of the log of snapshots. It is verified offline. A row that is not there is 404.',
  needsKey: true,
  priceText: '1 credit',
  isCacheable: false,
  pathParameters: {},
  query: z.object({
    indicator: selection.indicator,
    country: country.describe('ISO 3166-1 alpha-3 code, upper or lower case'),
    year: integer().describe('Year of the row'),
    as_of: asOf().optional(),
  }),
  answer: envelope(receipt, asOfEcho),
  errors: ['indicator_not_found', 'figure_not_found', 'export_restricted', 'edition_not_found'],
  asOf: ({ as_of }) => as_of,
  async plan({ snapshot, query: { indicator: asked, country: iso3, year, as_of } }): Promise<Planned> {
    const { id, alias } = snapshot.resolve(asked);
    const entry = await snapshot.indicator(id);
    if (!entry) return indicatorNotFound(asked);
    const { access_tier, licence, licence_url, attribution } = entry.record;
    if (access_tier === 'display') return refused('export_restricted');
    const { count } = await snapshot.observations.select(id, { countries: [iso3], from: year, to: year });
    if (count === 0)
      return refused('figure_not_found', `${truncateInput(asked)} has no row of ${iso3} in ${year}.`);
    const produce = async (): Promise<Content> => {
      const data = await snapshot.receipt(id, iso3, year, { licence, licence_url, attribution });
      const meta = { generated_at: snapshot.generatedAt, ...sentOnly({ as_of: as_of?.sent }) };
      return document(JSON.stringify({ data, meta }));
    };
    return underAlias({ kind: 'plan', price: PRICE, rows: 1, indicators: [id], produce }, alias);
  },
});
