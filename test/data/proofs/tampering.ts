/** Receipts, checkpoints and proofs that say something else than what was published. */
import type { Receipt } from '../../../data/proofs/receipt.ts';
import { type SigningKey, signCheckpoint } from '../../../data/proofs/signing-key.ts';
import { readCheckpoint } from '../../../data/proofs/verify-receipt.ts';

/** What a verifier is given: files, as texts, or as bytes where they are no text. */
export interface Evidence {
  receipt: string | Uint8Array;
  keys: string;
  /** All rows of the indicator. */
  rows?: string;
  since?: string;
  consistency?: string;
}

export interface Genuine {
  receipt: Receipt;
  keys: unknown;
  /** A checkpoint before that of the receipt, and the proof from the one to the other. */
  earlier: string;
  consistency: { from: number; to: number; path: string[] };
  /** The keys that signed the receipt's checkpoint and the earlier one, and one of the same name that nobody trusts. */
  key: SigningKey;
  earlierKey: SigningKey;
  stranger: SigningKey;
}

type Draft = { -readonly [Name in keyof Receipt]: Receipt[Name] };

const flipped = (hash: string): string => (hash.startsWith('0') ? '1' : '0') + hash.slice(1);
const PROOFS = ['row', 'descriptor', 'indicator', 'edition'] as const;

type Claims = [name: string, change: (receipt: Draft) => void][];

/** Changes of members of a part of the receipt. */
const changing = <Name extends 'row' | 'descriptor' | 'edition'>(
  name: Name,
  changes: Record<string, (part: Receipt[Name]) => Partial<Receipt[Name]>>,
): Claims =>
  Object.entries(changes).map(([what, change]) => [
    what,
    (receipt) => void Object.assign(receipt[name], change(receipt[name])),
  ]);

const MADE_UP = { url: 'https://x.example/', sha256: '0'.repeat(64), bytes: 1, fetched_at: '' };
/** The last digit is another. */
const miscounted = (value: number): number =>
  Number(String(value).replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10)));

/** Changes of where a leaf stands in its tree. */
type Place = Receipt['proofs']['row'];
const PLACES: Record<string, (place: Place) => Place> = {
  'the path of the NAME cut': ({ index, path }) =>
    path.length === 0 ? { index: index + 1, path } : { index, path: path.slice(0, -1) },
  'the path of the NAME cut at the leaf': ({ index, path }) =>
    path.length === 0 ? { index: index + 1, path } : { index, path: path.slice(1) },
  'the path of the NAME padded': ({ index, path }) => ({ index, path: [...path, '0'.repeat(64)] }),
  'the path of the NAME padded at the leaf': ({ index, path }) => ({
    index,
    path: ['0'.repeat(64), ...path],
  }),
  'the place of the NAME': ({ index, path }) => ({ index: index === 0 ? 1 : index - 1, path }),
  'the place of the NAME outside its tree': ({ index, path }) => ({ index: index + 2 ** 32, path }),
};

/** Changes of what a receipt says. */
const CLAIMS: Claims = [
  ...changing('row', {
    'a digit of the value': ({ value }) => ({ value: value === null ? 0 : miscounted(value) }),
    'the sign of the value': ({ value }) => ({ value: value ? -value : 1 }),
    'the value removed or made up': ({ value }) => ({ value: value === null ? 1 : null }),
    'the year': ({ year }) => ({ year: year + 1 }),
    'the country': ({ iso3 }) => ({ iso3: iso3 === 'DEU' ? 'FRA' : 'DEU' }),
    'the lower bound': ({ ci_lo }) => ({ ci_lo: (ci_lo ?? 0) + 1 }),
    'the upper bound': ({ ci_hi }) => ({ ci_hi: (ci_hi ?? 0) + 1 }),
    'the status': ({ status }) => ({ status: status === null ? 'provisional' : null }),
    'the mark of a projection': ({ projected }) => ({ projected: !projected }),
  }),
  ...changing('descriptor', {
    'the unit': ({ unit }) => ({ unit: `${unit ?? ''} ` }),
    'the indicator': ({ indicator }) => ({ indicator: `${indicator}s` }),
    'the provider': ({ provider }) => ({ provider: `${provider}s` }),
    'the hash of a source': ({ sources: [first, ...others] }) => ({
      sources: first ? [{ ...first, sha256: flipped(first.sha256) }, ...others] : [MADE_UP],
    }),
    'a source left out or made up': ({ sources }) => ({
      sources: sources.length > 0 ? sources.slice(0, -1) : [{ ...MADE_UP, url: '', bytes: 0 }],
    }),
  }),
  ...changing('edition', {
    'the id of the edition': ({ edition }) => ({ edition: edition.replace(/^2026/, '2025') }),
    'the time of publication': ({ published_at }) => ({
      published_at: published_at.replace(/^2026/, '2025'),
    }),
    'the manifest': ({ manifest }) => ({ manifest: flipped(manifest) }),
    'the number of indicators': ({ indicators }) => ({ indicators: indicators + 1 }),
  }),
  [
    'the number of rows',
    (receipt) => {
      receipt.rows += 1;
    },
  ],
  [
    'a leaf passed off as a node',
    (receipt) => {
      // The row's leaf as if it stood one level higher, in a tree of half the size.
      const { row } = receipt.proofs;
      receipt.proofs.row = { index: Math.floor(row.index / 2), path: row.path.slice(1) };
      receipt.rows = Math.ceil((receipt.rows + 1) / 2) - 1;
    },
  ],
  [
    'the row passed off as the descriptor',
    ({ proofs }) => {
      proofs.descriptor = proofs.row;
    },
  ],
  ...PROOFS.flatMap((name) =>
    Object.entries(PLACES).map(([what, change]): Claims[number] => [
      what.replace('NAME', name),
      ({ proofs }) => void Object.assign(proofs[name], change(proofs[name])),
    ]),
  ),
];

/** @returns what a verifier must refuse, by name */
export function tampered({
  receipt,
  keys,
  earlier,
  consistency,
  key,
  earlierKey,
  stranger,
}: Genuine): Record<string, Evidence> {
  const keyList = JSON.stringify(keys);
  const genuine: Evidence = { receipt: JSON.stringify(receipt), keys: keyList };
  const withReceipt = (change: Partial<Receipt>): Evidence => ({
    receipt: JSON.stringify({ ...receipt, ...change }),
    keys: keyList,
  });
  const head = readCheckpoint(receipt.checkpoint, null);
  const otherRoot = { ...head, root: Buffer.alloc(32, 7) };
  const [signed = '', bytes = ''] = receipt.checkpoint.trimEnd().split(/ (?=\S+$)/);
  const forged = Buffer.from(bytes, 'base64');
  forged.writeUInt8(forged.readUInt8(20) ^ 1, 20);
  const since: Evidence = { ...genuine, since: earlier, consistency: JSON.stringify(consistency) };
  const forkedHead = { ...readCheckpoint(earlier, null), root: Buffer.alloc(32, 7) };
  const { from, to, path } = consistency;
  const proof = (change: Partial<typeof consistency>): Evidence => ({
    ...since,
    consistency: JSON.stringify({ ...consistency, ...change }),
  });

  const cases: Record<string, Evidence> = {
    'the checkpoint of another edition': withReceipt({ checkpoint: earlier }),
    'another root, signed by the log': withReceipt({ checkpoint: signCheckpoint(key, otherRoot) }),
    'a checkpoint signed by a stranger': withReceipt({ checkpoint: signCheckpoint(stranger, head) }),
    'a checkpoint of another log': withReceipt({
      checkpoint: receipt.checkpoint.replace(/^.*\n/, 'other.example/log\n'),
    }),
    'a forged signature': withReceipt({ checkpoint: `${signed} ${forged.toString('base64')}\n` }),
    'a checkpoint without signature': withReceipt({
      checkpoint: receipt.checkpoint.replace(/\n—.*\n/, '\n'),
    }),
    'a checkpoint with a line too many': withReceipt({
      checkpoint: receipt.checkpoint.replace('\n\n', '\nmore\n\n'),
    }),
    'a key that does not count for this size': {
      ...genuine,
      keys: JSON.stringify({
        origin: key.name,
        keys: [{ key: key.publicKey, from: head.size + 1, to: null }],
      }),
    },
    'a key that counts no longer': {
      ...genuine,
      keys: JSON.stringify({ origin: key.name, keys: [{ key: key.publicKey, from: 1, to: head.size - 1 }] }),
    },
    'an earlier checkpoint that the log does not extend': {
      ...since,
      since: signCheckpoint(earlierKey, forkedHead),
    },
    'an earlier checkpoint that is signed by a stranger': {
      ...since,
      since: signCheckpoint(stranger, readCheckpoint(earlier, null)),
    },
    'an earlier checkpoint without proof': { ...genuine, since: earlier },
    'an earlier checkpoint of the same size with another root': {
      ...genuine,
      since: signCheckpoint(key, otherRoot),
    },
    'a proof of consistency that is cut': proof({ path: path.slice(0, -1) }),
    'a proof of consistency that is padded': proof({ path: [...path, '0'.repeat(64)] }),
    'a proof of consistency with another hash': proof({ path: path.map(flipped) }),
    'a proof of consistency from another size': proof({ from: from + 1 }),
    'a proof of consistency to another size': proof({ to: to + 1 }),
  };
  for (const [name, change] of CLAIMS) {
    const draft = structuredClone(receipt);
    change(draft);
    cases[name] = { ...genuine, receipt: JSON.stringify(draft) };
  }
  return cases;
}
