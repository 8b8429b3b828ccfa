/** GET /indicators/{indicator_id}: one indicator with the related ones. */
import { z } from 'zod';
import { indicatorFile } from '../../../../data/schema/snapshot.ts';
import type { CatalogueEntry, Edition } from '../../snapshot/snapshot.ts';
import { credit, envelope } from '../envelope.ts';
import {
  type AsOf,
  type Content,
  defineOperation,
  document,
  free,
  indicatorNotFound,
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
  pathParameters: {
    indicator_id: {
      description: 'Indicator id, exact and case-sensitive',
      schema: { minLength: 1 },
    },
  },
  query: z.object({ include: includeWords().optional(), as_of: asOf().optional() }),
  answer: envelope(detailWithAdditions, { ...credit, ...includeEcho, ...asOfEcho }),
  errors: ['indicator_not_found', 'edition_not_found'],
  plan({ snapshot, path, query }): Planned | Promise<Planned> {
    const asked = path.indicator_id ?? '';
    const { id, alias } = snapshot.resolve(asked);
    const found = snapshot.indicator(id);
    const plan = (entry: CatalogueEntry | undefined): Planned | Promise<Planned> =>
      entry === undefined
        ? indicatorNotFound(asked, snapshot)
        : underAlias(planDetail(snapshot, id, query), alias);
    return found instanceof Promise ? found.then(plan) : plan(found);
  },
});

interface Sent {
  include?: IncludeWord[] | undefined;
  as_of?: AsOf | undefined;
}

function planDetail(snapshot: Edition, id: string, { include, as_of }: Sent): Planned {
  const descriptions = describedBy(`/indicators/${id}`, as_of?.sent);
  if (include === undefined && as_of === undefined)
    return free({ kind: 'file', path: indicatorFile(id), describedBy: descriptions });
  return free(async (): Promise<Content> => {
    const body = await snapshot.indicatorBody(id);
    const sent = sentOnly({ include, as_of: as_of?.sent });
    const content =
      include === undefined ? withMeta(body, sent) : await extendedDetail(snapshot, id, body, include, sent);
    return { ...content, describedBy: descriptions };
  });
}

async function extendedDetail(
  snapshot: Edition,
  id: string,
  body: Buffer,
  include: readonly IncludeWord[],
  sent: Record<string, unknown>,
): Promise<Content> {
  const { data, meta } = JSON.parse(body.toString());
  const add = await additionsOf(snapshot, include, [id]);
  const record = add(JSON.stringify(data), id);
  return document(`{"data":${record},"meta":${JSON.stringify({ ...meta, ...sent })}}`);
}
