/**
 * Headers that the content of an answer brings along: links, licences, names of downloads, and security headers of pages. All
 * are alternating names and values.
 */
import type { IndicatorAlias } from '../../../../data/schema/curated.ts';
import type { Content, Credit, Description } from '../../operations/operation.ts';
import { sunsetOf } from '../../snapshot/editions/aliases.ts';

/** What an encoder turns into a body. */
export type RowContent = Extract<Content, { kind: 'observations' | 'table' }>;
export type FileContent = Extract<Content, { kind: 'whole' }>;

/** Printable ASCII stays readable in a header, everything else is percent-encoded UTF-8. */
const UNSAFE = /[^\x20-\x24\x26-\x7e]+/gu;

/** A header value that `decodeURIComponent` decodes to the text. Only `%` of printable ASCII is encoded. */
export const headerText = (text: string): string => text.toWellFormed().replaceAll(UNSAFE, percentEncode);

/** A URL for the angle brackets of a `Link` header. */
export const headerAddress = (address: string): string =>
  address.toWellFormed().replaceAll(/[^\x21-\x3b\x3d\x3f-\x7e]+/gu, percentEncode);

const percentEncode = (text: string): string =>
  [...Buffer.from(text, 'utf8')]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');

/**
 * The call by the id of today, and documents about what is answered.
 * @param request its URL is read for a former id only: working it out costs time.
 */
export function linkHeaders({ alias, describedBy }: Content, request: { readonly url: string }): string[] {
  const renamed = alias === undefined ? [] : renameHeaders(alias, request.url);
  return describedBy === undefined ? renamed : [...renamed, 'Link', descriptionLinks(describedBy)];
}

/** The relation is defined by the Protocol for Web Description Resources (POWDER). */
const descriptionLinks = (descriptions: readonly Description[]): string =>
  descriptions
    .map(({ path, mediaType }) => {
      const type = mediaType.split(';', 1)[0];
      return `<${headerAddress(path)}>; rel="describedby"; type="${type}"`;
    })
    .join(', ');

/**
 * `Deprecation` (RFC 9745): the day of the rename. `Sunset` (RFC 8594): when the former id answers no more.
 * `Link` with `successor-version` (RFC 5829): the same call by the id of today.
 */
function renameHeaders(alias: IndicatorAlias, url: string): string[] {
  const { old, new: now, since } = alias;
  const headers = ['Deprecation', `@${Date.parse(since) / 1000}`];
  const sunset = sunsetOf(alias);
  if (sunset !== null) headers.push('Sunset', new Date(sunset).toUTCString());
  // A caller may have escaped characters of the id that need no escape.
  const successor = url.includes(old) ? url.replace(old, now) : `/v1/indicators/${now}`;
  headers.push('Link', `<${headerAddress(successor)}>; rel="successor-version"`);
  return [...headers, 'Access-Control-Expose-Headers', 'Deprecation, Link, Sunset'];
}

export const disposition = (fileName: string): string[] => [
  'Content-Disposition',
  `attachment; filename="${fileName}"`,
];

/** A download states its licences in headers, because its body may have no place for them. */
export function downloadHeaders(content: RowContent): string[] {
  const { extension } = content.encoder;
  if (extension === null) return [];
  const { name, indicators } =
    content.kind === 'table'
      ? content.table
      : { name: content.table.indicator.id, indicators: [content.table.indicator] };
  return [...disposition(`${name}.${extension}`), ...creditHeaders(indicators)];
}

/** What clients tell credit lines apart by, and some of them bound. */
const CREDITS_MAX = 4096;

/** The credit lines of a file may be more than a header takes: then the first, that of the provider. */
export const fileHeaders = ({ name, credits }: FileContent): string[] => [
  ...['Accept-Ranges', 'bytes', ...disposition(name), ...creditHeaders(credits, CREDITS_MAX)],
  ...['Access-Control-Expose-Headers', 'Accept-Ranges, Content-Range'],
];

function creditHeaders(credits: readonly Credit[], maxLength = Number.POSITIVE_INFINITY): string[] {
  const lines = [...new Set(credits.map(({ attribution }) => attribution))];
  const all = headerText(lines.join('; '));
  const text = all.length <= maxLength ? all : headerText(lines[0] ?? '');
  const headers = text === '' ? [] : ['X-Attribution', text];
  for (const url of new Set(credits.map(({ licence_url }) => licence_url)))
    if (url !== null) headers.push('Link', `<${headerAddress(url)}>; rel="license"`);
  return headers;
}

/** Nothing from elsewhere, no inline script or style, no frame but for embeds. */
const policy = (ancestors: string): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${ancestors}`,
  ].join('; ');

const REFERRER = ['Referrer-Policy', 'strict-origin-when-cross-origin'] as const;
const EMBEDDABLE = ['Content-Security-Policy', policy('*'), ...REFERRER];
const FRAMELESS = ['Content-Security-Policy', policy("'none'"), 'X-Frame-Options', 'DENY', ...REFERRER];

export const pageHeaders = (isEmbeddable: boolean): readonly string[] =>
  isEmbeddable ? EMBEDDABLE : FRAMELESS;
