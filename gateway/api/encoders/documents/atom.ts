/** Atom feeds (RFC 4287). Links may be relative: readers resolve them against the URL of the feed. */
import { createHash } from 'node:crypto';
import { escapedXml } from './xml.ts';

export const ATOM_TYPE = 'application/atom+xml; charset=utf-8';

export interface Feed {
  /** A permanent URI, as each entry has one. */
  id: string;
  title: string;
  /** Timestamps are of RFC 3339. */
  updated: string;
  /** URL of the feed itself. */
  self: string;
  entries: FeedEntry[];
}

export interface FeedEntry {
  id: string;
  title: string;
  updated: string;
  /** Plain text. */
  summary: string;
  link: string;
  sections: FeedSection[];
}

export interface FeedSection {
  heading: string;
  items: string[];
}

const AUTHOR = 'Almanac';

/** A name-based UUID as a URI: the same for the same name, wherever the feed is served. */
export function urnOf(name: string): string {
  const digest = createHash('sha256').update(name).digest();
  digest.writeUInt8(((digest[6] ?? 0) & 0x0f) | 0x80, 6);
  digest.writeUInt8(((digest[8] ?? 0) & 0x3f) | 0x80, 8);
  const hex = digest.toString('hex');
  return `urn:uuid:${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')}`;
}

const element = (name: string, text: string): string => `<${name}>${escapedXml(text)}</${name}>`;

export function atomFeed({ id, title, updated, self, entries }: Feed): Buffer {
  const lines = [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    element('id', id),
    element('title', title),
    element('updated', updated),
    `<author>${element('name', AUTHOR)}</author>`,
    `<link rel="self" type="application/atom+xml" href="${escapedXml(self)}"/>`,
    ...entries.flatMap(entryLines),
    '</feed>',
    '',
  ];
  return Buffer.from(lines.join('\n'));
}

const entryLines = ({ id, title, updated, summary, link, sections }: FeedEntry): string[] => [
  '<entry>',
  element('id', id),
  element('title', title),
  element('updated', updated),
  `<link rel="alternate" href="${escapedXml(link)}"/>`,
  element('summary', summary),
  `<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">${sections.map(sectionMarkup).join('')}</div></content>`,
  '</entry>',
];

const sectionMarkup = ({ heading, items }: FeedSection): string =>
  `${element('p', heading)}<ul>${items.map((item) => element('li', item)).join('')}</ul>`;
