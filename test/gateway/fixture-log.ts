/** The log of the fixture snapshots: entered with the roots of their trees, and signed. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  descriptorLeaf,
  editionLeaf,
  editionTreeOf,
  MerkleTree,
  observationLeaf,
  type RuleLeaf,
  type SourceLeaf,
} from '../../data/proofs/merkle-tree.ts';
import { generateSigningKey, parseSigningKey, signCheckpoint } from '../../data/proofs/signing-key.ts';
import type { EditionGroups, StoredGroups } from '../../data/schema/groups.ts';
import { type ProviderProofs, PUBLISHED_KEYS, proofsFile } from '../../data/schema/proofs.ts';
import type { IndicatorRecord } from '../../data/schema/records.ts';
import {
  type FileList,
  type FileRef,
  type LogEntry,
  type Manifest,
  manifestPath,
  manifest as manifestSchema,
  objectPath,
  PUBLICATION_LOG,
} from '../../data/schema/snapshot.ts';
import { UNDECIDED } from '../../data/schema/traits.ts';
import type { ADDED_LISTS, FixtureIndicator, FixtureRow } from './fixture-data.ts';

export const FIXTURE_KEY_TEXT = generateSigningKey('almanac.example/log', new Uint8Array(32).fill(9));
export const FIXTURE_KEY = parseSigningKey(FIXTURE_KEY_TEXT);

const SOURCE: SourceLeaf = {
  url: 'https://upstream.example/figures.csv',
  sha256: 'f'.repeat(64),
  bytes: 4321,
  fetched_at: '2026-11-20T01:30:00+00:00',
};

/** `proofs/<provider>.json`: all figures come from one made-up file. */
export function fixtureProofs(
  provider: string,
  all: readonly { record: IndicatorRecord; rows: readonly FixtureRow[] }[],
): ProviderProofs {
  const entries = all.map(
    ({ record: { id, unit }, rows }): [string, ProviderProofs['indicators'][string]] => {
      const sorted = rows.toSorted((a, b) =>
        a.iso3 === b.iso3 ? a.year - b.year : a.iso3 < b.iso3 ? -1 : 1,
      );
      const leaves = sorted.map(
        ({ iso3, year, value, ci_lo = null, ci_hi = null, status = null, projected = false }) =>
          observationLeaf({ iso3, year, value, ci_lo, ci_hi, status, projected }),
      );
      const descriptor = descriptorLeaf({ indicator: id, unit, provider, sources: [SOURCE] });
      const root = MerkleTree.of([descriptor, ...leaves]).root.toString('hex');
      return [id, { rows: rows.length, root, unit, files: [0] }];
    },
  );
  return { files: [SOURCE], indicators: Object.fromEntries(entries) };
}

/** What `rules.json` has, as the build writes it. */
export const fixtureRules = (
  all: readonly { record: IndicatorRecord; indicator: FixtureIndicator }[],
  { groups, territories }: EditionGroups,
  figures: Record<string, StoredGroups> = {},
  added: typeof ADDED_LISTS = {},
): RuleLeaf[] => [
  { territories: territories.map(({ source: _, ...rest }) => rest) },
  ...groups.map(({ id, members }) => ({ group: id, members })),
  ...all
    .toSorted((a, b) => (a.record.id < b.record.id ? -1 : 1))
    .map(({ record: { id }, indicator: { measured, scale = 0 } }) => {
      const { measure, aggregate, population } = { ...UNDECIDED, ...measured };
      const breaks = JSON.parse(JSON.stringify(added.breaks?.[id] ?? []));
      const divisor = figures[id]?.divisor ?? null;
      return { indicator: id, measure, scale, aggregate, divisor, population, breaks };
    }),
];

/** The entries of the log, in their order. */
export async function readLog(root: string): Promise<LogEntry[]> {
  const text = await readFile(join(root, PUBLICATION_LOG), 'utf8').catch(() => null);
  return text === null ? [] : JSON.parse(text).editions;
}

export async function writeLog(root: string, editions: readonly LogEntry[]): Promise<void> {
  const checkpoint = signCheckpoint(FIXTURE_KEY, MerkleTree.of(editions.map(editionLeaf)));
  const keys = { origin: FIXTURE_KEY.name, keys: [{ key: FIXTURE_KEY.publicKey, from: 1, to: null }] };
  await writeFile(join(root, PUBLISHED_KEYS), JSON.stringify(keys));
  await writeFile(join(root, PUBLICATION_LOG), JSON.stringify({ editions, checkpoint }));
}

export async function readManifest(root: string, id: string): Promise<Manifest> {
  return manifestSchema.parse(JSON.parse(await readFile(join(root, manifestPath(id)), 'utf8')));
}

export async function enterInLog(root: string, id: string, base: string | null | undefined): Promise<void> {
  const before = (await readLog(root)).filter(({ edition }) => edition !== id);
  const lineage = {
    base: base === undefined ? (before.at(-1)?.edition ?? null) : base,
    changes: null,
    changed: {},
  };
  const sealed: Manifest = { ...(await readManifest(root, id)), lineage };
  const { counts, generated_at, providers } = sealed;
  const manifest = JSON.stringify(sealed);
  await writeFile(join(root, manifestPath(id)), manifest);
  const entry: LogEntry = {
    edition: id,
    published_at: generated_at,
    indicators: counts.indicators,
    root: await rootOf(root, providers),
    manifest: createHash('sha256').update(manifest).digest('hex'),
    counts,
    ...lineage,
  };
  await writeLog(root, [...before, entry]);
}

async function rootOf(root: string, providers: Manifest['providers']): Promise<string> {
  const read = async ({ sha256 }: FileRef) =>
    JSON.parse(await readFile(join(root, objectPath(sha256)), 'utf8'));
  const proofs: ProviderProofs[] = [];
  for (const [provider, ref] of Object.entries(providers)) {
    const list: FileList = await read(ref);
    const file = list[proofsFile(provider)];
    if (file !== undefined) proofs.push(await read(file));
  }
  return editionTreeOf(proofs).tree.root.toString('hex');
}
