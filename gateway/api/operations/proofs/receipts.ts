/**
 * GET /receipts and /log/consistency: the proof that a figure was published, and that a later log of snapshots extends an
 * earlier one. Their form stands in docs/receipts.md.
 */
import { z } from 'zod';
import { hexPath } from '../../../../data/proofs/receipt.ts';
import { sourceFile } from '../../../../data/schema/proofs.ts';
import { iso3 as iso3Code } from '../../../../data/schema/records.ts';
import { snapshotId } from '../../../../data/schema/snapshot.ts';
import { truncateInput } from '../../core/errors.ts';
import { envelope } from '../envelope.ts';
import {
  defineOperation,
  findOpen,
  free,
  jsonAnswer,
  type Planned,
  refused,
  underAlias,
} from '../operation.ts';
import { asOf, asOfEcho } from '../parameters/as-of.ts';
import { integer, oneOf } from '../parameters/parameters.ts';
import { GROUP_MARK } from '../parameters/place-names.ts';
import { countryCodes, onePlace, selection } from '../parameters/places.ts';
import { transforms } from '../parameters/transforms.ts';
import { planDerivation } from './derivation.ts';

const PRICE = 1;

const number = z.number().nullable();
const proof = z.object({ index: z.int(), path: z.array(z.string()) });

const row = z.object({
  iso3: iso3Code,
  year: z.int(),
  value: number,
  ci_lo: number,
  ci_hi: number,
  status: z.string().nullable(),
  projected: z.boolean(),
});
const descriptor = z.object({
  indicator: z.string(),
  unit: z.string().nullable(),
  provider: z.string(),
  sources: z.array(sourceFile).describe('The upstream files from which the figures come'),
});
const rows = z.int().describe('Number of rows of the indicator');
const edition = z.object({
  edition: snapshotId,
  published_at: z.string(),
  indicators: z.int(),
  manifest: z.string(),
});
const notice = { licence: z.string(), licence_url: z.string().nullable(), attribution: z.string() };

const receipt = z.object({
  format: z.literal('almanac-receipt/1'),
  row,
  descriptor,
  rows,
  edition,
  checkpoint: z.string().describe('The signed head of the log, a C2SP checkpoint'),
  proofs: z.object({ row: proof, descriptor: proof, indicator: proof, edition: proof }),
  notice: z.object(notice),
});

const path = z.array(z.string());

const derivation = z.object({
  format: z.literal('almanac-derivation/1'),
  recipe: z.object({
    indicator: z.string(),
    place: z.string(),
    year: z.int(),
    transform: z.array(z.string()),
    aggregate: z.literal('declared').nullable(),
  }),
  figure: z.object({
    value: z.number(),
    status: z.string().nullable(),
    projected: z.boolean(),
    counted: z.int().nullable(),
    coverage: number,
  }),
  series: z.array(
    z.object({ descriptor, rows, given: z.array(z.object({ index: z.int(), row })), path, index: z.int() }),
  ),
  indicators: path,
  rules: z.object({ given: z.array(z.object({ index: z.int(), rule: z.looseObject({}) })), path }),
  manifest: z.string().describe('Its text'),
  edition,
  checkpoint: z.string(),
  proof,
  notices: z.array(z.object({ indicator: z.string(), ...notice })),
});

export const receipts = defineOperation({
  name: 'getReceipt',
  path: '/receipts',
  tag: 'Data',
  summary: 'Proof of a figure',
  description:
    'Proves that a figure was published: the row, the upstream files from which it comes, and the hashes that lead from ' +
    'there to the signed head of the log of snapshots. It is verified offline. A row that is not there is 404. With ' +
    '`transform` or `aggregate` it proves a derived figure, with the rows that it takes.',
  needsKey: true,
  priceText: '1 credit; of a derived figure 1 per row in the receipt',
  query: z.object({
    indicator: selection.indicator,
    country: onePlace().describe(
      'ISO3, ISO2 or M49 code, or a usual name; with `aggregate` a group such as `@eu`',
    ),
    year: integer().describe('Year of the row'),
    transform: transforms().optional(),
    aggregate: oneOf(['declared']).optional().describe('`declared` for the figure of a group'),
    as_of: asOf().optional(),
  }),
  answer: envelope(z.union([receipt, derivation]), asOfEcho),
  errors: [
    ...(['indicator_not_found', 'figure_not_found', 'export_restricted', 'edition_not_found'] as const),
    'not_in_edition',
  ],
  async plan({ snapshot, query }): Promise<Planned> {
    const { indicator: asked, year, as_of, transform, aggregate } = query;
    const [iso3 = ''] = countryCodes([query.country], snapshot, true);
    const isGroup = iso3.startsWith(GROUP_MARK);
    if (transform || aggregate || isGroup) return planDerivation(snapshot, { ...query, place: iso3 });
    const found = await findOpen(snapshot, asked);
    if ('kind' in found) return found;
    const { id, licence, licence_url, attribution } = found.entry.record;
    const { count } = await snapshot.observations.select(id, { countries: [iso3], from: year, to: year });
    if (count === 0)
      return refused('figure_not_found', `${truncateInput(asked)} has no row of ${iso3} in ${year}.`);
    const produce = async () => {
      const data = await snapshot.receipt(id, iso3, year, { licence, licence_url, attribution });
      return jsonAnswer(data, { generated_at: snapshot.generatedAt, as_of: as_of?.sent });
    };
    return underAlias({ kind: 'plan', price: PRICE, rows: 1, indicators: [id], produce }, found.alias);
  },
});

export const consistency = defineOperation({
  name: 'getConsistency',
  path: '/log/consistency',
  tag: 'Catalogue',
  summary: 'Proof that the log only grew',
  description:
    'The hashes that prove that the log of snapshots at size `to` begins with all entries of the log at size `from` ' +
    '(RFC 6962). The newest signed head is at `/log/checkpoint`.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  query: z.object({
    from: integer().describe('Size of the earlier log, at least 1'),
    to: integer().optional().describe('Size of the later log; default the newest'),
  }),
  answer: envelope(z.object({ from: z.int(), to: z.int(), path: z.array(z.string()) }), {}),
  errors: ['log_size_not_found'],
  async plan({ snapshot, query }): Promise<Planned> {
    const { tree } = await snapshot.editions.signedLog.head();
    const { from, to = tree.size } = query;
    if (from < 1 || from > to || to > tree.size)
      return refused('log_size_not_found', `Sizes go from 1 to ${tree.size}, and from must not be above to.`);
    const data = { from, to, path: hexPath(tree.first(to).consistency(from)) };
    return free(jsonAnswer(data, { generated_at: snapshot.generatedAt }));
  },
});
