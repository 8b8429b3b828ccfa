/** GET /indicators/{indicator_id}: one indicator with the related ones. */
import { z } from 'zod';
import { indicatorFile } from '../../../../data/schema/snapshot.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { credit, envelope } from '../envelope.ts';
import {
  type AsOf,
  type Content,
  defineOperation,
  document,
  findIndicator,
  free,
  idInPath,
  type Plan,
  type Planned,
  sentOnly,
  underAlias,
  withMeta,
} from '../operation.ts';
import { asOf, asOfEcho } from '../parameters/as-of.ts';
import { additionsOf, detailWithAdditions, type IncludeWord, includeEcho, includeWords } from './include.ts';
import { describedBy } from './subjects.ts';

export const indicator = defineOperation({
  name: 'getIndicator',
  path: '/indicators/{indicator_id}',
  tag: 'Catalogue',
  summary: 'One indicator',
  description: 'The indicator record with up to 12 related indicators, strongest first.',
  needsKey: false,
  priceText: 'free',
  isCacheable: true,
  pathParameters: { indicator_id: idInPath('Indicator') },
  query: z.object({ include: includeWords().optional(), as_of: asOf().optional() }),
  answer: envelope(detailWithAdditions, { ...credit, ...includeEcho, ...asOfEcho }),
  errors: ['indicator_not_found', 'edition_not_found'],
  async plan({ snapshot, path, query }): Promise<Planned> {
    const found = await findIndicator(snapshot, path.indicator_id ?? '');
    if ('kind' in found) return found;
    return underAlias(planDetail(snapshot, found.entry.record.id, query), found.alias);
  },
});

interface Sent {
  include?: IncludeWord[] | undefined;
  as_of?: AsOf | undefined;
}

function planDetail(snapshot: Edition, id: string, { include, as_of }: Sent): Plan {
  const descriptions = describedBy(`/indicators/${id}`, as_of?.sent);
  if (include === undefined && as_of === undefined)
    return free({ kind: 'file', path: indicatorFile(id), describedBy: descriptions });
  return free(async (): Promise<Content> => {
    const body = await snapshot.indicatorBody(id);
    const sent = sentOnly({ include, as_of: as_of?.sent });
    if (include === undefined) return { ...withMeta(body, sent), describedBy: descriptions };
    const { data, meta } = JSON.parse(body.toString());
    const add = await additionsOf(snapshot, include, [id]);
    const record = add(JSON.stringify(data), id);
    const json = `{"data":${record},"meta":${JSON.stringify({ ...meta, ...sent })}}`;
    return { ...document(json), describedBy: descriptions };
  });
}
