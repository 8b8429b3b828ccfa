/** Content that an encoder turns into a body. */
import type { IndicatorRecord } from '../../../../data/schema/records.ts';
import type { Content } from '../../operations/operation.ts';
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
  const [only, another] = indicators;
  const credits = only && another === undefined ? creditOf(only) : creditHeaders(indicators);
  return [...disposition(`${name}.${extension}`), ...credits];
}

/** Of single indicators: writing them takes as long as all else of a download's headers. */
const known = new WeakMap<IndicatorRecord, readonly string[]>();

function creditOf(indicator: IndicatorRecord): readonly string[] {
  const headers = known.get(indicator) ?? creditHeaders([indicator]);
  known.set(indicator, headers);
  return headers;
}

function creditHeaders(indicators: readonly IndicatorRecord[]): string[] {
  const headers: string[] = [];
  const credits = new Set(indicators.map(({ attribution }) => attribution));
  if (credits.size > 0) headers.push('X-Attribution', headerText([...credits].join('; ')));
  for (const url of new Set(indicators.map(({ licence_url }) => licence_url)))
    if (url !== null) headers.push('Link', `<${headerAddress(url)}>; rel="license"`);
  return headers;
}
