/** GET /indicators/{indicator_id}: one indicator with the related ones. */
import { z } from 'zod';
import type { AdditionWord } from '../../data/schema/additions.ts';
import { indicatorFile } from '../../data/schema/snapshot.ts';
import { truncateInput } from '../errors.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { credit, envelope } from './envelope.ts';
import { addTo, detailWithAdditions, includeEcho, includeWords } from './include.ts';
import {
  type Content,
  defineOperation,
  document,
  freeFile,
  type Planned,
  type Refused,
  refused,
} from './operation.ts';

/** Indicators that may not be redistributed are absent from the snapshot, so they are 404 and never 403. */
export const indicatorNotFound = (id: string): Refused =>
  refused('indicator_not_found', `No indicator has the id '${truncateInput(id)}'.`);

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
    },
  },
  query: z.object({ include: includeWords().optional() }),
  answer: envelope(detailWithAdditions, { ...credit, ...includeEcho }),
  errors: ['indicator_not_found'],
  plan({ snapshot, path, query: { include } }): Planned {
    const id = path.indicator_id ?? '';
    if (!snapshot.catalogue.indicators.has(id)) return indicatorNotFound(id);
    if (include === undefined) return freeFile(indicatorFile(id));
    return { kind: 'plan', price: 0, rows: 0, produce: () => extendedDetail(snapshot, id, include) };
  },
});

async function extendedDetail(
  { files, addedLists }: Snapshot,
  id: string,
  include: readonly AdditionWord[],
): Promise<Content> {
  const body = await files.bytes(indicatorFile(id), 'identity');
  const { data, meta } = JSON.parse(body.toString());
  const record = addTo(JSON.stringify(data), id, include, addedLists);
  return document(`{"data":${record},"meta":${JSON.stringify({ ...meta, include })}}`);
}
