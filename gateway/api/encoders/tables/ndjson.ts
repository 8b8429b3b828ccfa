/** NDJSON: each row as a JSON object on a line of its own. */
import type { Encoder } from '../encoder.ts';
import { objectSyntax } from './json.ts';
import { rowText } from './text-rows.ts';

export const ndjson: Encoder = {
  name: 'ndjson',
  mediaType: 'application/x-ndjson',
  extension: 'ndjson',
  isText: true,
  isCompressible: true,
  documentation:
    'A JSON object a line, in UTF-8; every line ends with LF. `Link` and `X-Attribution` carry the licence.',
  namesIndicator: false,
  async *stream(table) {
    yield* rowText(table, { ...objectSyntax(table.columns, ''), end: '}\n' });
  },
};
