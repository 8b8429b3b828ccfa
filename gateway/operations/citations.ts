/** GET /{indicators|providers|editions}/{id}/citation.bib and citation.json: how to cite it. */
import { z } from 'zod';
import {
  BIBTEX_TYPE,
  bibtex,
  type Citation,
  CSL_TYPE,
  type CslItem,
  cslItem,
} from '../encoders/citations.ts';
import { type CitedQuery, SUBJECTS, type Subject } from './cited-subjects.ts';
import { defineOperation, free, type Operation, type Planned, underAlias } from './operation.ts';

interface CitationFormat {
  file: string;
  /** As names of operations contain it. */
  name: string;
  summary: string;
  mediaType: string;
  answer: z.ZodType;
  write(citation: Citation): string;
}

const item: z.ZodType<CslItem> = z.object({
  id: z.string(),
  type: z.literal('dataset'),
  title: z.string(),
  author: z.array(z.object({ literal: z.string() })).describe('Provider and collectors'),
  issued: z
    .object({ 'date-parts': z.tuple([z.tuple([z.int(), z.int(), z.int()])]) })
    .describe('When the snapshot was published'),
  publisher: z.string(),
  version: z.string().describe('Id of the snapshot'),
  note: z.string().describe('Credit line and licence'),
  URL: z.string().optional(),
});

const FORMATS: readonly CitationFormat[] = [
  {
    file: 'citation.bib',
    name: 'Bibtex',
    summary: 'in BibTeX',
    mediaType: BIBTEX_TYPE,
    answer: z.string().describe('A BibTeX entry, UTF-8'),
    write: bibtex,
  },
  {
    file: 'citation.json',
    name: 'Csl',
    summary: 'in CSL-JSON',
    mediaType: CSL_TYPE,
    answer: z.array(item),
    write: (citation) => JSON.stringify([cslItem(citation)]),
  },
];

function citationOf(subject: Subject, format: CitationFormat): Operation {
  const { resource, parameter, described, query, errors } = subject;
  return defineOperation<CitedQuery>({
    name: `get${subject.name}${format.name}`,
    path: `/${resource}/{${parameter}}/${format.file}`,
    tag: 'Catalogue',
    summary: `Citation of ${subject.name === 'Provider' ? 'a' : 'an'} ${subject.name.toLowerCase()} ${format.summary}`,
    description:
      'Names the provider and who collected the figures, their credit line and licence, and the snapshot.',
    needsKey: false,
    priceText: 'free',
    isCacheable: true,
    pathParameters: { [parameter]: described },
    query,
    answer: format.answer,
    mediaType: format.mediaType,
    errors,
    asOf: ({ as_of }) => as_of,
    async plan(input): Promise<Planned> {
      const asked = input.path[parameter] ?? '';
      const { id, alias } =
        resource === 'indicators' ? input.snapshot.editions.resolve(asked) : { id: asked, alias: null };
      const cited = await subject.cite(input, id);
      if ('kind' in cited) return cited;
      const { path, ...citation } = cited;
      const url = input.publicUrl === undefined ? null : input.publicUrl.replace(/\/+$/, '') + path;
      const json = Buffer.from(format.write({ ...citation, url }));
      return underAlias(free({ kind: 'document', json, mediaType: format.mediaType }), alias);
    },
  });
}

export const citations: readonly Operation[] = SUBJECTS.flatMap((subject) =>
  FORMATS.map((format) => citationOf(subject, format)),
);
