/**
 * Verifies a receipt offline: `npm run -s verify -- receipt.json --key <key or keys file>`.
 *
 * Exit codes: 0 verified; 1 refused; 2 usage error; 3 sound, but no key was given, so anyone could have made it.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { DERIVATION_FORMAT, type VerifiedDerivation, verifyDerivation } from './verify-derivation.ts';
import {
  canonicalJson,
  dataOf,
  decodeUtf8,
  type Json,
  KEY,
  type LogKey,
  parseJson,
  parseKey,
  parseKeys,
  Refused,
  readCheckpoint,
  type Verified,
  verifyOneLog,
  verifyReceipt,
  verifyRows,
} from './verify-receipt.ts';

const USAGE = `usage: npm run -s verify -- RECEIPT [--key KEY] [--rows ROWS] [--since CHECKPOINT [--consistency PROOF]]

  RECEIPT        file with the answer of /v1/receipts, of a row or of a derived figure
  --key          a key of the log, or a file with the answer of /.well-known/almanac-keys.json
  --rows         file with all rows of the indicator as JSON, such as the answer of /v1/data: its tree is rebuilt
  --since        file with a checkpoint that was kept earlier: the log must extend it
  --consistency  file with the answer of /v1/log/consistency from the one size to the other`;

const OPTIONS = {
  key: { type: 'string' },
  rows: { type: 'string' },
  since: { type: 'string' },
  consistency: { type: 'string' },
} as const;

const marksOf = ({ status, projected }: { status?: Json; projected?: Json }): string =>
  `${status === null ? '' : `, status ${status}`}${projected === true ? ', projected' : ''}`;

function describe({ row, descriptor, edition, checkpoint, tree }: Verified, isWhole: boolean): string[] {
  const bounds = row.ci_lo === null && row.ci_hi === null ? '' : `, bounds ${row.ci_lo} to ${row.ci_hi}`;
  const sources = Array.isArray(descriptor.sources) ? descriptor.sources : [];
  return [
    `${descriptor.indicator}, ${row.iso3}, ${row.year}: ${row.value} (unit: ${descriptor.unit})${bounds}${marksOf(row)}`,
    `in edition ${edition.edition}, published ${edition.published_at}, in the log ${checkpoint.origin}`,
    `from ${sources.length} upstream ${sources.length === 1 ? 'file' : 'files'} of ${descriptor.provider}:`,
    ...sources.map((source) => `  ${canonicalJson(source)}`),
    ...(isWhole ? [`and all ${tree.rows} rows of the indicator, one for each country and year`] : []),
  ];
}

function describeDerived({ recipe, figure, descriptors, edition, checkpoint }: VerifiedDerivation): string[] {
  const { indicator, place, year, transform } = recipe;
  const part = figure.counted === null ? '' : `, of ${figure.counted} members, coverage ${figure.coverage}`;
  return [
    `${[indicator, ...transform].join(' ')}, ${place}, ${year}: ${figure.value}${marksOf(figure)}${part}`,
    `recomputed from edition ${edition.edition}, published ${edition.published_at}, in the log ${checkpoint.origin}`,
    ...descriptors.map((descriptor) => `  ${canonicalJson(descriptor)}`),
  ];
}

/** @param rows all rows of the indicator. */
function verifyFile(
  text: string,
  keys: readonly LogKey[] | null,
  rows: string | null,
): { verified: Verified | VerifiedDerivation; said: string[] } {
  const receipt = dataOf(parseJson(text));
  const isObject = typeof receipt === 'object' && receipt !== null && !Array.isArray(receipt);
  if (isObject && receipt.format === DERIVATION_FORMAT) {
    if (rows !== null) throw new TypeError('--rows is of receipts of one row');
    const verified = verifyDerivation(text, keys);
    return { verified, said: describeDerived(verified) };
  }
  const verified = verifyReceipt(text, keys);
  if (rows !== null) verifyRows(verified, rows);
  return { verified, said: describe(verified, rows !== null) };
}

function main(args: string[]): number {
  try {
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new TypeError('one receipt is expected');
    const read = (path: string): string => decodeUtf8(readFileSync(path));
    const { key, rows, since, consistency } = values;
    if (since === undefined && consistency !== undefined) throw new TypeError('--consistency needs --since');
    const keys = key === undefined ? null : KEY.test(key) ? [parseKey(key)] : parseKeys(read(key));
    const { verified, said } = verifyFile(read(file), keys, rows === undefined ? null : read(rows));
    const proof = consistency === undefined ? undefined : read(consistency);
    if (since !== undefined) verifyOneLog(readCheckpoint(read(since), keys), verified.checkpoint, proof);
    const verdict = `Verified. This was published, signed by the key ${verified.checkpoint.signedBy.join(' and ')}:`;
    const open = 'The proofs are sound, but without --key nobody has vouched for them:';
    console.log([keys === null ? open : verdict, ...said].join('\n'));
    return keys === null ? 3 : 0;
  } catch (error) {
    if (error instanceof Refused) console.error(`Refused. ${error.message}`);
    else console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return error instanceof Refused ? 1 : 2;
  }
}

process.exitCode = main(process.argv.slice(2));
