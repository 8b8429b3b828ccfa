/** Documents about an indicator, a provider or an edition, each in the form of a standard: `/{resource}/{id}/{file}`. */
import type { z } from 'zod';
import {
  defineOperation,
  free,
  type Input,
  type Operation,
  type Planned,
  type Refused,
  underAlias,
} from '../operation.ts';
import type { CitedQuery, Subject } from './cited-subjects.ts';

export interface SubjectDocument {
  /** Last part of the path. */
  file: string;
  /** As names of operations contain it. */
  name: string;
  /** After the article: `Citation of` an indicator. */
  summary: readonly [before: string, after: string];
  description: string;
  mediaType: string;
  answer: z.ZodType;
  /** @param id as sent, or that of today for an indicator. */
  write(subject: Subject, input: Input<CitedQuery>, id: string): Promise<string | Refused>;
}

export function documentOf(subject: Subject, document: SubjectDocument): Operation {
  const { name, resource, parameter, described, query, errors } = subject;
  const { file, mediaType, description, answer } = document;
  const [before, after] = document.summary;
  return defineOperation<CitedQuery>({
    name: `get${name}${document.name}`,
    path: `/${resource}/{${parameter}}/${file}`,
    tag: 'Catalogue',
    summary: `${before} ${name === 'Provider' ? 'a' : 'an'} ${name.toLowerCase()} ${after}`,
    description,
    needsKey: false,
    priceText: 'free',
    isCacheable: true,
    pathParameters: { [parameter]: described },
    query,
    answer,
    mediaType,
    errors,
    asOf: ({ as_of }) => as_of,
    async plan(input): Promise<Planned> {
      const asked = input.path[parameter] ?? '';
      const { id, alias } =
        resource === 'indicators' ? input.snapshot.editions.resolve(asked) : { id: asked, alias: null };
      const written = await document.write(subject, input, id);
      if (typeof written !== 'string') return written;
      return underAlias(free({ kind: 'document', json: Buffer.from(written), mediaType }), alias);
    },
  });
}
