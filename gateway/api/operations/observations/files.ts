/**
 * GET /files/{indicator_id}.parquet and /bundles/{provider_id}.parquet: published files as they are. They are paid by lease
 * (see `core/plan-call.ts`), and may be asked for in parts.
 */
import { z } from 'zod';
import { truncateInput } from '../../core/errors.ts';
import { PARQUET_TYPE } from '../../encoders/encoders.ts';
import type { Edition, StoredFile } from '../../snapshot/snapshot.ts';
import { describedBy } from '../catalogue/subjects.ts';
import {
  type AsOf,
  type Credit,
  defineOperation,
  findOpen,
  idInPath,
  type Operation,
  type Plan,
  type Planned,
  refused,
  underAlias,
} from '../operation.ts';
import { asOf } from '../parameters/as-of.ts';

/** What both have in common. */
const FILE = {
  tag: 'Data',
  needsKey: true,
  isFile: true,
  query: z.object({ as_of: asOf().optional() }),
  answer: z
    .string()
    .describe(
      'Parquet, Snappy: `indicator` and the columns of an observation, sorted by indicator, iso3, year. Rows are those that receipts ' +
        'prove, `status` in the same words.',
    ),
  mediaType: PARQUET_TYPE,
  priceText:
    '1 credit per row, at least 1; further calls of the account for the file are free for 24 hours, up to 20 times its size in bytes',
} as const;

export const indicatorFile = defineOperation({
  ...FILE,
  name: 'getIndicatorFile',
  path: '/files/{indicator_id}.parquet',
  summary: 'All figures of an indicator as a file',
  description:
    'A Parquet file, whole or in part (`Range`). The first call begins a lease of 24 hours: every further call for the file is ' +
    'free, up to 20 times its size in bytes. Without `as_of`, it is answered from one snapshot meanwhile. `HEAD` is free. ' +
    'The entity tag is the SHA-256 of the file.',
  pathParameters: { indicator_id: idInPath('Indicator') },
  errors: ['indicator_not_found', 'export_restricted', 'edition_not_found', 'file_not_found'],
  async plan({ snapshot, path, query: { as_of } }): Promise<Planned> {
    const found = await findOpen(snapshot, path.indicator_id ?? '');
    if ('kind' in found) return found;
    const { record } = found.entry;
    const file = await snapshot.wholeFile(record.id);
    if (file === null)
      return refused('file_not_found', 'The file has countries that are not shown today: ask /v1/data.');
    const served = servedFile(file, record.id, `/indicators/${record.id}`, [record], as_of);
    return underAlias({ ...served, indicators: [record.id] }, found.alias);
  },
});

export const providerBundle = defineOperation({
  ...FILE,
  name: 'getProviderBundle',
  path: '/bundles/{provider_id}.parquet',
  summary: 'All figures of a provider as a file',
  description:
    'The files of all indicators of a provider that may be exported, as one Parquet file, on the same terms as ' +
    '`/files/{indicator_id}.parquet`. Earlier snapshots keep their bundles for some nights only.',
  pathParameters: { provider_id: idInPath('Provider') },
  errors: ['not_found', 'export_restricted', 'edition_not_found', 'file_not_found'],
  async plan({ snapshot, path, query: { as_of } }): Promise<Planned> {
    const id = path.provider_id ?? '';
    const indicators = await snapshot.indicatorsOf(id);
    const [first] = indicators;
    if (first === undefined) return refused('not_found', `No provider has the id '${truncateInput(id)}'.`);
    const open = indicators.filter(({ access_tier }) => access_tier === 'open');
    if (open.length === 0)
      return refused('export_restricted', 'No indicator of the provider may be exported, by its licence.');
    const file = await snapshot.bundle(id);
    if (file === null) return refused('file_not_found', noBundle(snapshot));
    const served = servedFile(file, id, `/providers/${id}`, [first.provider, ...open], as_of);
    return { ...served, indicators: open.map((indicator) => indicator.id) };
  },
});

const noBundle = ({ id }: Edition): string =>
  `Snapshot ${id} has no bundle (any more) that may be exported: take /v1/files/{indicator_id}.parquet?as_of=${id}.`;

/** @param resource whose citations describe it. */
function servedFile(
  file: StoredFile,
  id: string,
  resource: string,
  credits: readonly Credit[],
  as_of: AsOf | undefined,
): Plan {
  const { rows } = file;
  const content = { kind: 'whole', file, mediaType: PARQUET_TYPE, name: `${id}.parquet`, credits } as const;
  const produce = () => ({ ...content, describedBy: describedBy(resource, as_of?.sent) });
  return { kind: 'plan', price: Math.max(1, rows), rows, file, produce };
}

export const files: readonly Operation[] = [indicatorFile, providerBundle];
