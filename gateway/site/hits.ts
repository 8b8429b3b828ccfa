/** Indicators in lists of pages. */
import type { IndicatorRecord } from '../../data/schema/records.ts';
import type { CatalogueEntry } from '../api/snapshot/editions/catalogue.ts';

/** Of a description, in a list. */
const EXCERPT_LENGTH = 180;

export interface Hit {
  record: IndicatorRecord;
  /** The beginning of the description; empty without one. */
  excerpt: string;
}

export const hitOf = ({ record }: Pick<CatalogueEntry, 'record'>): Hit => ({
  record,
  excerpt: excerptOf(record.description ?? ''),
});

/** Ends at a word. */
export function excerptOf(text: string, length = EXCERPT_LENGTH): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= length) return line;
  const end = line.lastIndexOf(' ', length);
  return `${line.slice(0, end > 0 ? end : length).replace(/[,;:.–-]+$/, '')} …`;
}
