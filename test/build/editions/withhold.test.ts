/** A withheld series is deleted from every snapshot; what remains is as it was published. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectGarbage, scrub } from '../../../build/editions/retention.ts';
import { decideToWithhold, deleteWithheld } from '../../../build/editions/withhold.ts';
import { parseKeys, verifyReceipt } from '../../../data/proofs/verify-receipt.ts';
import { unpackJson } from '../../../data/runtime/durable-files.ts';
import type { LogEntry } from '../../../data/schema/snapshot.ts';
import { Service } from '../../gateway/service.ts';
import { query } from '../parquet-readers.ts';
import { makeSeries, World } from '../world.ts';
import { storedReceipts } from './stored-receipts.ts';

const SECRET = 'atlas.secret';
/** A figure that only the withheld series has. */
const FIGURE = 987654.321;

const GROUPS_CSV =
  'id,name,names,members,rule,source,as_of\nall,All,,DEU FRA IND,,https://a.example,2020-01-01\n';
/** A sum of the withheld figures, and a mean that is weighed by them. */
const MEASURES_CSV = [
  'subject,name,unit,measure,scale,aggregate,weight,per_head,reason',
  'atlas.secret,,,amount,,sum,,,Money.',
  'atlas.open,,,ratio,,mean,atlas.secret,,By money.',
  'atlas.twinned,,,amount,,sum,,,Money.',
  '',
].join('\n');

let world: World;
let ids: string[];
let before: Map<string, string>;
let proofsBefore: Map<string, string[]>;
let logBefore: LogEntry[];
let service: Service;
let key: string;

/** Publishes a night. `twin` has the same figures as `twinned`, so the two share an object. */
async function night(more: number): Promise<string> {
  world.tomorrow();
  await world.publish('atlas', {
    secret: makeSeries(['FRA', 2000, FIGURE + more], ['DEU', 2000, 3]),
    open: makeSeries(['FRA', 2000, 5 + more], ['DEU', 2000, 4]),
    twin: makeSeries(['FRA', 2000, 8], ['DEU', 2000, 9]),
    twinned: makeSeries(['FRA', 2000, 8], ['DEU', 2000, 9]),
  });
  await world.publish('census', { pop: { cells: [['FRA', 2000, 7]] } });
  await world.ingest('atlas');
  await world.ingest('census');
  return (await world.build()).snapshot;
}

async function withhold(subject: string): Promise<void> {
  await decideToWithhold(world.withholding, subject, 'a court said so');
  world.tomorrow();
  await world.build();
  await deleteWithheld(world.withholding, world.settings.SNAPSHOT_KEEP);
}

const REMAINING = ['atlas.open', 'atlas.twinned', 'census.pop'];
/** Of the remaining series in the three editions: the row with its edition, each verified. */
async function verifiedRows(indicators = REMAINING): Promise<Map<string, string[]>> {
  const keys = parseKeys(await readFile(join(world.settings.SNAPSHOT_DIR, 'keys.json'), 'utf8'));
  const found = new Map<string, string[]>();
  for (const id of ids) {
    for (const indicator of indicators) {
      const receipts = await storedReceipts(world.snapshots, id, indicator);
      const verified = receipts.map((receipt) => verifyReceipt(receipt, keys));
      found.set(
        `${id} ${indicator}`,
        verified.map(({ row, descriptor, edition }) => JSON.stringify({ row, descriptor, edition })),
      );
    }
  }
  return found;
}

const PATHS = ['atlas.open', 'atlas.twin', 'census.pop'].flatMap((id) => [
  `/v1/data?indicator=${id}`,
  `/v1/rankings/${id}`,
]);

async function answers(paths: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const id of ids) {
    for (const path of paths) {
      const url = `${path}${path.includes('?') ? '&' : '?'}as_of=${id}`;
      const { status, text } = await service.get(url, { key });
      found.set(url, `${status} ${text}`);
    }
  }
  return found;
}

async function serve(): Promise<void> {
  service = await Service.start({ snapshots: world.settings.SNAPSHOT_DIR });
  ({ key } = await service.account({ credits: 1_000_000 }));
}

beforeAll(async () => {
  const gates = { max_row_drop: 1, max_country_drop: 1 };
  world = await World.create({ atlas: { gates }, census: { gates } });
  await world.write('data/groups.csv', GROUPS_CSV);
  await world.write('data/measures.csv', MEASURES_CSV);
  ids = [await night(0), await night(1), await night(2)];
  await serve();
  before = await answers(PATHS);
  await service.stop();
  proofsBefore = await verifiedRows();
  logBefore = (await world.snapshots.log()).editions;
  await withhold(SECRET);
  await withhold('atlas.twin');
  await serve();
});
afterAll(async () => {
  await service.stop();
  await world.remove();
});

describe('a withheld series', () => {
  it('is in no object of any snapshot', async () => {
    const root = join(world.settings.SNAPSHOT_DIR, 'objects');
    const names = await readdir(root, { recursive: true, withFileTypes: true });
    const paths = names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
    for (const path of paths) {
      const bytes = await readFile(path);
      if (bytes.subarray(0, 4).toString() === 'PAR1') {
        const rows = await query(`SELECT * FROM read_parquet('${path}')`);
        expect(JSON.stringify(rows), path).not.toMatch(/98765[4-9]\.|atlas\.secret|atlas\.twin"/);
      } else expect(unpackJson(bytes), path).not.toMatch(/98765[4-9]\.321/);
    }
  });

  it('has no figure in groups any more, nor a series that it weighs', async () => {
    for (const id of ids) {
      const { kept } = await world.snapshots.open(id);
      const figures = Object.keys(kept).filter((name) => name.startsWith('groups/'));
      expect(figures, id).toEqual(['groups/atlas.twinned.json']);
    }
  });

  it('leaves every other answer as it was', async () => {
    const remaining = PATHS.filter((path) => !path.includes('atlas.twin'));
    const now = await answers(remaining);
    expect(now.size).toBe(12);
    for (const [url, answer] of now) expect(answer, url).toBe(before.get(url));
  });

  it('leaves the log and every proof of the others as they were', async () => {
    const { editions } = await world.snapshots.log();
    expect(editions.slice(0, logBefore.length)).toEqual(logBefore);
    expect(editions.length).toBe(5);
    expect([...proofsBefore.values()].flat()).toHaveLength(15);
    expect(await verifiedRows()).toEqual(proofsBefore);
    const served = editions.at(-1)?.edition ?? '';
    const keys = parseKeys(await readFile(join(world.settings.SNAPSHOT_DIR, 'keys.json'), 'utf8'));
    for (const receipt of await storedReceipts(world.snapshots, served, 'atlas.open'))
      expect(verifyReceipt(receipt, keys).edition.edition).toBe(served);
  });

  it('is not found by /v1/receipts in any edition, where the others verify', async () => {
    const keys = parseKeys((await service.get('/.well-known/almanac-keys.json')).text);
    for (const id of ids) {
      const ask = (indicator: string) =>
        service.get(`/v1/receipts?indicator=${indicator}&country=FRA&year=2000&as_of=${id}`, { key });
      for (const indicator of [SECRET, 'atlas.twin'])
        expect((await ask(indicator)).json.error?.code, `${indicator} ${id}`).toBe('indicator_not_found');
      for (const indicator of REMAINING) {
        const { row, descriptor, edition } = verifyReceipt((await ask(indicator)).text, keys);
        const verified = JSON.stringify({ row, descriptor, edition });
        expect(proofsBefore.get(`${id} ${indicator}`)).toContain(verified);
      }
    }
  });

  it('is answered for no time, and is in no profile or list', async () => {
    const paths = [
      `/v1/data?indicator=${SECRET}`,
      `/v1/indicators/${SECRET}`,
      '/v1/data?indicator=atlas.twin',
    ];
    for (const [url, answer] of await answers(paths)) expect(answer, url).toMatch(/^404 /);
    for (const [url, answer] of await answers(['/v1/countries/FRA', '/v1/indicators'])) {
      expect(answer, url).toMatch(/^200 /);
      expect(answer, url).toContain('atlas.open');
      expect(answer, url).not.toContain(SECRET);
    }
  });

  it('keeps an object that another series has, too', async () => {
    const { kept } = await world.snapshots.open(ids[0] ?? '');
    expect(kept['observations/atlas.twin.parquet']).toBeUndefined();
    const shared = kept['observations/atlas.twinned.parquet'] ?? { sha256: '' };
    expect((await readFile(world.snapshots.pathOf(shared))).length).toBeGreaterThan(0);
  });

  it('is no damage, and manifests are what the log says', async () => {
    expect((await scrub(world.snapshots, { keep: 3 })).damaged).toEqual([]);
    expect(await collectGarbage(world.snapshots, world.settings.SNAPSHOT_KEEP, false)).toMatchObject({
      objects: [],
    });
  });

  it('cannot come back by a rollback or a build', async () => {
    await expect(world.rollback(ids[2])).rejects.toThrow('cannot be served');
    const snapshot = await night(3);
    expect(Object.keys((await world.snapshots.open(snapshot)).kept).join()).not.toMatch(/secret|twin\./);
  });

  it('can be all of a provider', async () => {
    await withhold('census');
    for (const id of ids) {
      const names = Object.keys((await world.snapshots.open(id)).kept).join();
      expect(names).not.toContain('observations/census');
    }
    for (const [place, rows] of await verifiedRows(['atlas.open', 'atlas.twinned']))
      expect(rows, place).toEqual(proofsBefore.get(place));
    expect((await scrub(world.snapshots, { keep: 3 })).damaged).toEqual([]);
    await expect(decideToWithhold(world.withholding, 'nobody', 'x')).rejects.toThrow(
      'no snapshot has a series of nobody',
    );
  });
});
