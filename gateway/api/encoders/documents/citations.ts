/**
 * Citations of what the service publishes: BibTeX, RIS, CSL-JSON (the input of citation processors, CSL 1.0.2), and as text
 * in the style of the APA, plain and as HTML.
 */
import { escapedXml } from './xml.ts';

export const BIBTEX_TYPE = 'application/x-bibtex; charset=utf-8';
export const CSL_TYPE = 'application/vnd.citationstyles.csl+json; charset=utf-8';

const PUBLISHER = 'Almanac';

export interface Citation {
  /** Letters, digits and `._-`. */
  key: string;
  title: string;
  /** Organisations. */
  authors: readonly string[];
  /** ISO 8601, UTC. */
  published_at: string;
  /** Id of the edition. */
  version: string;
  /** Absolute. */
  url: string;
  /** Credit line and licence. */
  note: string;
}

function publicationDate({ published_at }: Citation) {
  const date = new Date(published_at);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** One entry. `@misc` is the type that every style knows, so the fields that it prints say all. */
export function bibtex(citation: Citation): string {
  const { key, title, authors, version, url, note } = citation;
  const { year, month } = publicationDate(citation);
  const fields = [
    // Braces keep an organisation from being read as given and family name, and a title in its own case.
    ['author', `{${authors.map((author) => `{${escapeTex(author)}}`).join(' and ')}}`],
    ['title', `{{${escapeTex(title)}}}`],
    ['howpublished', `{${PUBLISHER}, snapshot ${version}}`],
    ['year', `{${year}}`],
    ['month', MONTHS[month - 1]],
    ['version', `{${version}}`],
    ['publisher', `{${PUBLISHER}}`],
    ['note', `{${escapeTex(note)}}`],
    ['url', `{${url}}`],
  ];
  return `@misc{${key},\n${fields.map(([name, value]) => `  ${name} = ${value}`).join(',\n')}\n}\n`;
}

/** Macros that every BibTeX style defines. */
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** BibTeX counts escaped braces, too, so a brace is written by its name. Two hyphens would become a dash. */
const TEX: Readonly<Record<string, string>> = {
  '\\': '{\\textbackslash}',
  '{': '{\\textbraceleft}',
  '}': '{\\textbraceright}',
  '~': '{\\textasciitilde}',
  '^': '{\\textasciicircum}',
};

const escapeTex = (text: string): string =>
  oneLine(text)
    .replaceAll(/[\\{}~^]/g, (character) => TEX[character] ?? character)
    .replaceAll(/[$&#_%]/g, '\\$&')
    .replaceAll(/-(?=-)/g, '-{}');

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a reference manager cannot show
const oneLine = (text: string): string => text.replaceAll(/[\s\u0000-\u001f\u007f]+/g, ' ').trim();

/** A record of RIS, which reference managers read. Lines end with CR LF, and the last one holds the tag alone. */
export function ris(citation: Citation): string {
  const { key, title, authors, version, url, note } = citation;
  const { year, month, day } = publicationDate(citation);
  const twoDigits = (part: number): string => String(part).padStart(2, '0');
  const fields = [
    ['TY', 'DATA'],
    ['ID', key],
    ...authors.map((author) => ['AU', author]),
    ['TI', title],
    ['PY', String(year)],
    ['DA', `${year}/${twoDigits(month)}/${twoDigits(day)}`],
    ['PB', PUBLISHER],
    ['ET', `snapshot ${version}`],
    ['N1', note],
    ['UR', url],
    ['ER', ''],
  ];
  return fields.map(([tag, text = '']) => `${tag}  - ${oneLine(text)}\r\n`).join('');
}

/** The parts of a reference to a data set, as the APA orders them. */
function apaParts(citation: Citation) {
  const { title, authors, version, url, note } = citation;
  const names = authors.map(oneLine);
  const last = names.pop() ?? PUBLISHER;
  const joined = names.length === 0 ? last : `${names.join(', ')}, & ${last}`;
  return {
    before: `${joined} (${publicationDate(citation).year}). `,
    title: oneLine(title),
    after: ` (snapshot ${version}) [Data set]. ${PUBLISHER}. ${oneLine(note)}.`,
    url,
  };
}

export function apa(citation: Citation): string {
  const { before, title, after, url } = apaParts(citation);
  return `${before}${title}${after} ${url}`;
}

/** A paragraph of HTML. */
export function apaHtml(citation: Citation): string {
  const { before, title, after, url } = apaParts(citation);
  const link = `<a href="${escapedXml(url)}">${escapedXml(url)}</a>`;
  return `<p>${escapedXml(before)}<cite>${escapedXml(title)}</cite>${escapedXml(after)} ${link}</p>`;
}

/** An item of CSL-JSON. */
export interface CslItem {
  id: string;
  type: 'dataset';
  title: string;
  author: { literal: string }[];
  issued: { 'date-parts': [[year: number, month: number, day: number]] };
  publisher: string;
  version: string;
  note: string;
  URL: string;
}

export function cslItem(citation: Citation): CslItem {
  const { key, title, authors, version, url, note } = citation;
  const { year, month, day } = publicationDate(citation);
  return {
    id: key,
    type: 'dataset',
    title: oneLine(title),
    author: authors.map((author) => ({ literal: oneLine(author) })),
    issued: { 'date-parts': [[year, month, day]] },
    publisher: PUBLISHER,
    version,
    note: oneLine(note),
    URL: url,
  };
}
