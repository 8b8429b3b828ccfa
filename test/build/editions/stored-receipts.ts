/** Receipts made from the stored files of an edition, without the gateway. */
import type { SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import {
  descriptorLeaf,
  descriptorOf,
  editionLeaf,
  editionTreeOf,
  MerkleTree,
  type ObservationLeaf,
  observationLeaf,
} from '../../../data/proofs/merkle-tree.ts';
import { receiptOf } from '../../../data/proofs/receipt.ts';
import { proofsFile, providerProofs } from '../../../data/schema/proofs.ts';
import { type FileList, type FileRef, observationsFile, providerOf } from '../../../data/schema/snapshot.ts';
import { query } from '../parquet-readers.ts';

const NOTICE = { licence: '', licence_url: null, attribution: '' };
const LEAF = 'iso3, year, value, ci_lo, ci_hi, status, projected';

const proofsIn = async (storage: SnapshotStorage, kept: FileList, provider: string) =>
  providerProofs.parse(JSON.parse(await storage.readText(fileOf(kept, proofsFile(provider)))));

function fileOf(kept: FileList, name: string): FileRef {
  const file = kept[name];
  if (file === undefined) throw new Error(`there is no ${name}`);
  return file;
}

/** A receipt for every row of an indicator, as JSON. @throws when its figures are not there */
export async function storedReceipts(
  storage: SnapshotStorage,
  id: string,
  indicator: string,
): Promise<string[]> {
  const { kept, manifest } = await storage.open(id);
  const names = Object.keys(manifest.providers);
  const proofs = await Promise.all(names.map((provider) => proofsIn(storage, kept, provider)));
  const provider = providerOf(indicator);
  const own = proofs[names.indexOf(provider)];
  const descriptor = own && descriptorOf(provider, own, indicator);
  const { editions, checkpoint } = await storage.log();
  const index = editions.findIndex(({ edition }) => edition === id);
  const edition = editions[index];
  if (!descriptor || !edition) throw new Error(`${id} does not prove ${indicator}`);
  const path = storage.pathOf(fileOf(kept, observationsFile(indicator)));
  const rows = (await query(`SELECT ${LEAF} FROM read_parquet('${path}')`)) as unknown as ObservationLeaf[];
  const tree = MerkleTree.of([descriptorLeaf(descriptor), ...rows.map(observationLeaf)]);
  const { tree: indicators, indicators: ids } = editionTreeOf(proofs);
  const log = MerkleTree.of(editions.map(editionLeaf));
  return rows.map((row, at) => {
    const places = {
      row: { tree, index: at + 1 },
      indicator: { tree: indicators, index: ids.indexOf(indicator) },
      edition: { tree: log, index },
    };
    return JSON.stringify(receiptOf({ row, descriptor, edition, checkpoint, notice: NOTICE, places }));
  });
}
