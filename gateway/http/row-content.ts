/** Content that an encoder turns into a body. */
import type { Content } from '../operations/operation.ts';
import { headerAddress, headerText } from './header-text.ts';

export type RowContent = Extract<Content, { kind: 'observations' | 'table' }>;

/** The whole body. */
export const piecesOf = (content: RowContent): Promise<Buffer[]> =>
  content.kind === 'observations'
    ? content.encoder.encodeCached(content.table)
    : collect(content.encoder.stream(content.table));

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
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
  const headers = disposition(`${name}.${extension}`);
  const credits = new Set(indicators.map(({ attribution }) => attribution));
  if (credits.size > 0) headers.push('X-Attribution', headerText([...credits].join('; ')));
  for (const url of new Set(indicators.map(({ licence_url }) => licence_url)))
    if (url !== null) headers.push('Link', `<${headerAddress(url)}>; rel="license"`);
  return headers;
}
