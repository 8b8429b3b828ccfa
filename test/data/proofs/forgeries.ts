/** What every verifier has to refuse, and unusual forms that it has to accept: one list for TypeScript and Python. */
import { sign } from 'node:crypto';
import type { SigningKey } from '../../../data/proofs/signing-key.ts';
import { malformedCheckpoints } from './malformed-checkpoints.ts';
import { MALFORMED_JSON } from './malformed-json.ts';
import { type Evidence, type Genuine, tampered } from './tampering.ts';
import { wholeTrees } from './whole-trees.ts';

/** @returns what a verifier must refuse, by name */
export function forgeries(genuine: Genuine): Record<string, Evidence> {
  const keys = JSON.stringify(genuine.keys);
  const receipt = JSON.stringify(genuine.receipt);
  const texts = Object.entries(MALFORMED_JSON).map(([name, change]) => [
    name,
    { keys, receipt: change(receipt) },
  ]);
  return {
    ...tampered(genuine),
    ...malformedCheckpoints(genuine),
    ...wholeTrees(genuine).forged,
    ...Object.fromEntries(texts),
    'bytes that are not UTF-8': {
      keys,
      receipt: Buffer.from(receipt.replace(/(?<="licence":)"[^"]*"/, '"\xff"'), 'latin1'),
    },
    'a receipt in UTF-16': { keys, receipt: Buffer.from(receipt, 'utf16le') },
  };
}

const signatureLine = ({ name, id, privateKey }: SigningKey, text: string): string => {
  const bytes = Buffer.concat([Buffer.from(id, 'hex'), sign(null, Buffer.from(text), privateKey)]);
  return `— ${name} ${bytes.toString('base64')}\n`;
};

/** @returns what a verifier must accept, by name */
export function sound(genuine: Genuine): Record<string, Evidence> {
  const { receipt, stranger, key, earlier } = genuine;
  const keys = JSON.stringify(genuine.keys);
  const text = JSON.stringify(receipt);
  const proof = JSON.stringify(genuine.consistency);
  const under = (checkpoint: string): Evidence => ({
    keys,
    receipt: JSON.stringify({ ...receipt, checkpoint }),
  });
  const size = Number(receipt.checkpoint.split('\n')[1]);
  const retired = { key: stranger.publicKey, from: 1, to: size - 1 };
  const strangersLine = signatureLine(stranger, 'something else');
  return {
    ...wholeTrees(genuine).sound,
    'a list of keys with other members': {
      receipt: text,
      keys: keys.replaceAll(/(?<=\{)(?="(?:key|origin)":)/g, '"more":[1],'),
    },
    'the receipt alone': { keys, receipt: text },
    'the body of the answer': { keys, receipt: JSON.stringify({ data: receipt, meta: {} }, null, 2) },
    'members in another order': {
      keys,
      receipt: JSON.stringify(Object.fromEntries(Object.entries(receipt).reverse())),
    },
    'names with escapes': { keys, receipt: text.replace('"year"', '"ye\\u0061r"') },
    'integers with a point': { keys, receipt: text.replace(/"rows":\d+/, '$&.000') },
    'integers with an exponent': { keys, receipt: text.replace(/"rows":\d+/, '$&0e-1') },
    'zero with a sign': { keys, receipt: text.replaceAll('"index":0,', '"index":-0,') },
    'zero with a huge exponent': {
      keys,
      receipt: text.replaceAll('"index":0,', '"index":0e99999999999999999,'),
    },
    'another notice': { keys, receipt: JSON.stringify({ ...receipt, notice: [] }) },
    'the signature twice': under(`${receipt.checkpoint}${receipt.checkpoint.split('\n\n')[1]}`),
    'a signature by an unknown key': under(`${receipt.checkpoint}${strangersLine}`),
    'a signature by an unknown key before the other': under(
      receipt.checkpoint.replace('\n\n', `\n\n${strangersLine}`),
    ),
    'a signature of another length by an unknown key': under(
      `${receipt.checkpoint}— witness.example ${Buffer.alloc(76, 9).toString('base64')}\n`,
    ),
    'a signature by a key that counts no longer': {
      receipt: JSON.stringify({ ...receipt, checkpoint: `${receipt.checkpoint}${strangersLine}` }),
      keys: JSON.stringify({
        origin: key.name,
        keys: [retired, { key: key.publicKey, from: size, to: size }],
      }),
    },
    'a proof from an earlier checkpoint': { keys, receipt: text, since: earlier, consistency: proof },
    'the body of the answer with the proof': {
      keys,
      receipt: text,
      since: earlier,
      consistency: JSON.stringify({ data: genuine.consistency, meta: {} }),
    },
    'the same checkpoint without a proof': { keys, receipt: text, since: receipt.checkpoint },
    'the same checkpoint with a proof that is not needed': {
      keys,
      receipt: text,
      since: receipt.checkpoint,
      consistency: proof,
    },
  };
}
