/**
 * What is stored for proofs of figures. `docs/receipts.md` fixes trees, checkpoint and keys; `data/proofs/` computes them.
 *
 *   proofs/<provider>.json            kept: roots and descriptors by indicator id (see `providerProofs`)
 *   rules.json                        kept: the leaves of the tree of rules, by which figures are derived
 *   <SNAPSHOT_DIR>/keys.json          public keys of the log (see `publishedKeys`)
 *   <VAR_DIR>/signing/key             the private key of the log
 *   <VAR_DIR>/signing/head            the last checkpoint that this builder signed
 */
import { z } from 'zod';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const RULES = 'rules.json';
export const PUBLISHED_KEYS = 'keys.json';
export const proofsFile = (provider: string): string => `proofs/${provider}.json`;

export const sourceFile = z.object({
  url: z.string(),
  sha256,
  bytes: z.int(),
  fetched_at: z.string(),
});

/** `proofs/<provider>.json`. Withheld indicators stay in it: without them the edition has another root. */
export const providerProofs = z.object({
  /** Upstream files, each once. */
  files: z.array(sourceFile),
  indicators: z.record(
    z.string(),
    z.object({
      rows: z.int(),
      root: sha256,
      unit: z.string().nullable(),
      /** Positions in `files`. */
      files: z.array(z.int()),
    }),
  ),
});
export type ProviderProofs = z.infer<typeof providerProofs>;

/** `keys.json`, as `/.well-known/almanac-keys.json` serves it. */
export const publishedKeys = z.object({
  origin: z.string().describe('The name of the log, which is the first line of its checkpoints'),
  keys: z.array(
    z.object({
      key: z.string().describe('Public key in the form of signed notes: `<name>+<id>+<base64>`'),
      from: z.int().describe('First size of the log for which it counts'),
      to: z.int().nullable().describe('Last size for which it counts; null while it is in use'),
    }),
  ),
});
export type PublishedKeys = z.infer<typeof publishedKeys>;
