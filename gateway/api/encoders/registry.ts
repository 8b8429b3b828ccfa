/** The output formats of rows. The first is the default. */

import type { Encoder } from './encoder.ts';
import { arrow } from './tables/arrow.ts';
import { csv } from './tables/csv.ts';
import { json } from './tables/json.ts';
import { ndjson } from './tables/ndjson.ts';
import { parquet } from './tables/parquet.ts';
import { sdmxCsv } from './tables/sdmx-csv.ts';
import { xlsx } from './tables/xlsx.ts';

export const ENCODERS: readonly [Encoder, ...Encoder[]] = [json, csv, ndjson, parquet, arrow, xlsx, sdmxCsv];

const [{ name: DEFAULT_FORMAT }, ...others] = ENCODERS;
/** Values of the `format` parameter. */
export const FORMATS: readonly [string, ...string[]] = [DEFAULT_FORMAT, ...others.map(({ name }) => name)];
export { DEFAULT_FORMAT };
/** Formats of what is no table of observations or ranks. */
export const LIST_FORMATS = [json.name, csv.name, ndjson.name] as const;

const byName = new Map(ENCODERS.map((encoder) => [encoder.name, encoder]));

/** @throws {RangeError} for a name that is not in `FORMATS`. */
export function encoderFor(format: string): Encoder {
  const encoder = byName.get(format);
  if (!encoder) throw new RangeError(`no encoder for ${format}`);
  return encoder;
}
