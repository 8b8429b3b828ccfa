/**
 * The verifiers on the starter data: ours accepts every value of ten indicators, that of the Python client a part of them.
 * `test/clients` holds what it refuses.
 */
import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LogSigner } from '../../../build/editions/log-signer.ts';
import { SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import type { Receipt } from '../../../data/proofs/receipt.ts';
import { generateSigningKey } from '../../../data/proofs/signing-key.ts';
import { parseKeys, verifyReceipt } from '../../../data/proofs/verify-receipt.ts';
import { useDirectory } from '../../after-tests.ts';
import { storedReceipts } from '../../build/editions/stored-receipts.ts';
import { installWheel, verifyWithPackage } from '../../clients/python-package.ts';
import { useService } from '../../gateway/service.ts';
import { buildStarter } from '../../shared-builds.ts';
import type { Evidence } from './tampering.ts';

const INDICATORS = 10;
/** The client verifies signatures without a library, which takes it ten milliseconds: it reads one receipt in so many. */
const STRIDE = 12;

const [built, installed] = await Promise.all([buildStarter(), installWheel()]);
const root = await useDirectory();
const snapshots = join(root, 'snapshots');
await cp(built.snapshots, snapshots, { recursive: true });
await rm(join(snapshots, 'keys.json'));
const storage = new SnapshotStorage(snapshots);
const SIGNING_KEY = generateSigningKey('almanac.example/log');
const signer = new LogSigner({ SIGNING_DIR: join(root, 'signing'), SIGNING_KEY }, storage);
const [entry = expect.fail('nothing is published')] = (await storage.log()).editions;
// Two editions that nobody can read, so that paths have hashes.
const others = ['20200101T000000Z-00000001', '20200102T000000Z-00000002'].map((edition) => ({
  ...entry,
  edition,
}));
await signer.commit([...others, entry]);
const keys = await readFile(join(snapshots, 'keys.json'), 'utf8');
const service = await useService({ snapshots });
const { key } = await service.account({ credits: 1_000 });

const verifyInPython = (all: readonly Evidence[]) => verifyWithPackage(installed, all);

/** Receipts of every row of ten indicators that lie apart, by indicator. */
const receipts = new Map<string, Receipt[]>();
const { json } = await service.get('/v1/indicators');
const open = json.data.filter(({ access_tier }: { access_tier: string }) => access_tier === 'open');
for (let at = 0; receipts.size < INDICATORS; at += Math.floor(open.length / INDICATORS)) {
  const { id, licence, licence_url, attribution } = open[at];
  const notice = { licence, licence_url, attribution };
  const stored = await storedReceipts(storage, entry.edition, id);
  receipts.set(
    id,
    stored.map((receipt) => ({ ...JSON.parse(receipt), notice })),
  );
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
