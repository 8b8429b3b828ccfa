/** GET /{indicators|providers|editions}/{id}/citation.bib and citation.json: how to cite it. */
import { z } from 'zod';
import {
  BIBTEX_TYPE,
  bibtex,
  type Citation,
  CSL_TYPE,
  type CslItem,
  cslItem,
} from '../../encoders/documents/citations.ts';
import type { Operation } from '../operation.ts';
import { citationOf, SUBJECTS } from './cited-subjects.ts';
import { documentOf, type SubjectDocument } from './subject-documents.ts';

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
  URL: z.string(),
});

type Form = Pick<SubjectDocument, 'file' | 'name' | 'mediaType' | 'answer'> & {
  standard: string;
  write(citation: Citation): string;
};

const FORMS: readonly Form[] = [
  {
    file: 'citation.bib',
    name: 'Bibtex',
    standard: 'BibTeX',
    mediaType: BIBTEX_TYPE,
    answer: z.string().describe('A BibTeX entry, UTF-8'),
    write: bibtex,
  },
  {
    file: 'citation.json',
    name: 'Csl',
    standard: 'CSL-JSON',
    mediaType: CSL_TYPE,
    answer: z.array(item),
    write: (citation) => JSON.stringify([cslItem(citation)]),
  },
];

const documents = FORMS.map(
  ({ standard, write, ...form }): SubjectDocument => ({
    ...form,
    summary: ['Citation of', `in ${standard}`],
    description:
      'Names the provider and who collected the figures, their credit line and licence, and the snapshot.',
    async write(subject, input, id) {
      const cited = await subject.cite(input, id);
      return 'kind' in cited ? cited : write(citationOf(cited, input.publicUrl));
    },
  }),
);

export const citations: readonly Operation[] = SUBJECTS.flatMap((subject) =>
  documents.map((document) => documentOf(subject, document)),
);
