/** The output formats of rows. The first is the default. */
import { arrow } from './arrow.ts';
import { csv } from './csv.ts';
import type { Encoder } from './encoder.ts';
import { json } from './json.ts';
import { ndjson } from './ndjson.ts';
import { parquet } from './parquet.ts';
import { sdmxCsv } from './sdmx-csv.ts';
import { xlsx } from './xlsx.ts';

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
