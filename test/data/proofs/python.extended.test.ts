/**
 * The verifiers on the starter data: ours accepts every value of ten indicators, that of the Python client a part of them.
 * `test/clients` holds what it refuses.
 */
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LogSigner } from '../../../build/editions/log-signer.ts';
import { SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import {
  descriptorLeaf,
  descriptorOf,
  editionLeaf,
  editionTreeOf,
  MerkleTree,
  type ObservationLeaf,
  observationLeaf,
} from '../../../data/proofs/merkle-tree.ts';
import { type Receipt, receiptOf } from '../../../data/proofs/receipt.ts';
import { generateSigningKey } from '../../../data/proofs/signing-key.ts';
import { parseKeys, verifyReceipt } from '../../../data/proofs/verify-receipt.ts';
import { proofsFile, providerProofs } from '../../../data/schema/proofs.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import { query } from '../../build/parquet-readers.ts';
import { type Installed, installWheel } from '../../clients/python-package.ts';
import { verifyWithPackage } from '../../clients/python-receipts.ts';
import { Service } from '../../gateway/service.ts';
import { buildStarter } from '../../shared-builds.ts';
import { readKept, showSnapshot } from '../../shown-snapshot.ts';
import type { Evidence } from './tampering.ts';

const INDICATORS = 10;
/** The client verifies signatures without a library, which takes it ten milliseconds: it reads one receipt in so many. */
const STRIDE = 12;
const KEY = generateSigningKey('almanac.example/log');

let root: string;
let installed: Installed;
let service: Service;
let key: string;
/** Receipts of every row, by indicator. */
const receipts = new Map<string, Receipt[]>();
let keys: string;

beforeAll(async () => {
  const [built, client] = await Promise.all([buildStarter(), installWheel()]);
  installed = client;
  root = await mkdtemp(join(tmpdir(), 'almanac-python-'));
  const snapshots = join(root, 'snapshots');
  await cp(built.snapshots, snapshots, { recursive: true });
  await rm(join(snapshots, 'keys.json'));
  const storage = new SnapshotStorage(snapshots);
  const signer = new LogSigner({ SIGNING_DIR: join(root, 'signing'), SIGNING_KEY: KEY }, storage);
  const [entry] = (await storage.log()).editions;
  if (!entry) throw new Error('nothing is published');
  // Two editions that nobody can read, so that paths have hashes.
  const others = ['20200101T000000Z-00000001', '20200102T000000Z-00000002'].map((edition) => ({
    ...entry,
    edition,
  }));
  await signer.commit([...others, entry]);
  const { editions, checkpoint } = await storage.log();
  const tree = MerkleTree.of(editions.map(editionLeaf));
  keys = await readFile(join(snapshots, 'keys.json'), 'utf8');
  service = await Service.start({ snapshots });
  ({ key } = await service.account({ credits: 1_000 }));
  await readReceipts(snapshots, entry, checkpoint, tree);
});
afterAll(async () => {
  await service?.stop();
  await rm(root, { recursive: true, force: true });
});

const verifyInPython = (all: readonly Evidence[]) => verifyWithPackage(installed, all);

/** Assembles the receipts of every row, of ten indicators that lie apart. */
async function readReceipts(
  snapshots: string,
  edition: Parameters<typeof receiptOf>[0]['edition'],
  checkpoint: string,
  tree: MerkleTree,
): Promise<void> {
  const { directory, manifest } = await showSnapshot(snapshots);
  const read = async (provider: string) =>
    providerProofs.parse(await readKept({ directory }, proofsFile(provider)));
  const proofs = new Map(
    await Promise.all(Object.keys(manifest.providers).map(async (one) => [one, await read(one)] as const)),
  );
  const all = editionTreeOf([...proofs.values()]);
  const { json } = await service.get('/v1/indicators');
  const open = json.data.filter(({ access_tier }: { access_tier: string }) => access_tier === 'open');
  for (let at = 0; receipts.size < INDICATORS; at += Math.floor(open.length / INDICATORS)) {
    const { id, provider, licence, licence_url, attribution } = open[at];
    const own = proofs.get(provider.id);
    const descriptor = own && descriptorOf(provider.id, own, id);
    if (!descriptor) throw new Error(`no proof of ${id}`);
    const rows = (await query(
      `SELECT iso3, year, value, ci_lo, ci_hi, status, projected FROM '${join(directory, observationsFile(id))}'`,
    )) as unknown as ObservationLeaf[];
    const rowTree = MerkleTree.of([descriptorLeaf(descriptor), ...rows.map(observationLeaf)]);
    const notice = { licence, licence_url, attribution };
    const indicator = { tree: all.tree, index: all.indicators.indexOf(id) };
    const list = rows.map((row, index) => {
      const places = { row: { tree: rowTree, index: index + 1 }, indicator, edition: { tree, index: 2 } };
      return receiptOf({ row, descriptor, edition, checkpoint, notice, places });
    });
    receipts.set(id, list);
  }
}

describe('the verifier in Python', () => {
  it('accepts what the gateway answers, which is what the published files give', async () => {
    for (const [id, list] of receipts) {
      const expected = list[Math.floor(list.length / 2)];
      const { iso3, year } = expected?.row ?? expect.fail(`${id} has no rows`);
      const answer = await service.get(`/v1/receipts?indicator=${id}&country=${iso3}&year=${year}`, { key });
      expect(answer.json.data).toEqual(expected);
      const served = (await service.get('/.well-known/almanac-keys.json')).text;
      expect(await verifyInPython([{ receipt: answer.text, keys: served }])).toEqual(['accepted']);
    }
  });

  it('accepts every value of ten indicators', async () => {
    expect(receipts.size).toBe(INDICATORS);
    const all = [...receipts.values()].flat();
    expect(all.length).toBeGreaterThan(10_000);
    const files = all.map((one) => ({ receipt: JSON.stringify(one), keys }));
    for (const { receipt } of files) verifyReceipt(receipt, parseKeys(keys));
    const some = files.filter((_, at) => at % STRIDE === 0);
    expect(new Set(await verifyInPython(some))).toEqual(new Set(['accepted']));
  });
});
