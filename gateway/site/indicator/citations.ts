/** How to cite an indicator, in five styles. */
import { apa, apaHtml, bibtex, cslItem, ris } from '../../api/encoders/documents/citations.ts';
import { citationOf, citeIndicator } from '../../api/operations/catalogue/cited-subjects.ts';
import type { Edition } from '../../api/snapshot/editions/edition.ts';

interface StyledCitation {
  id: string;
  style: string;
  text: string;
  /** The same as a file; null where there is none. */
  file: string | null;
}

/** @param id of an indicator that the edition has */
export async function citationsOf(
  edition: Edition,
  id: string,
  publicUrl: string,
): Promise<StyledCitation[]> {
  const cited = await citeIndicator(edition, id);
  if ('kind' in cited) throw new Error(`the edition has no ${id}`);
  const citation = citationOf(cited, publicUrl);
  const file = (name: string) => `/v1/indicators/${id}/${name}`;
  return [
    { id: 'apa', style: 'APA', text: apa(citation), file: null },
    { id: 'bibtex', style: 'BibTeX', text: bibtex(citation).trimEnd(), file: file('citation.bib') },
    { id: 'ris', style: 'RIS', text: ris(citation).trimEnd(), file: null },
    {
      id: 'csl',
      style: 'CSL-JSON',
      text: JSON.stringify([cslItem(citation)], null, 2),
      file: file('citation.json'),
    },
    { id: 'html', style: 'HTML', text: apaHtml(citation), file: null },
  ];
}
