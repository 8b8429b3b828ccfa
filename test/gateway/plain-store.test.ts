/** A store whose kept JSON is not compressed and whose latest values are one file a provider, before and after a build. */
import { parquetMetadata } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseKeys, verifyReceipt } from '../../data/proofs/verify-receipt.ts';
import { OBSERVATION_COLUMNS } from '../../data/schema/snapshot.ts';
import { type StoredAnswers, storedWorld, withoutEcho } from '../build/editions/stored-world.ts';
import { cells, type World } from '../build/world.ts';
import { codeOf, Service } from './service.ts';

let world: World;
let answers: StoredAnswers;
let service: Service;
let key: string;
beforeAll(async () => {
  ({ world, answers } = await storedWorld('plain-store.zip'));
  service = await Service.start({ snapshots: world.settings.SNAPSHOT_DIR });
  ({ key } = await service.account({ credits: 1_000_000 }));
});
afterAll(async () => {
  await service.stop();
  await world.remove();
});

const ids = (): string[] => Object.keys(answers).sort();

/** Compares what every edition answers by `as_of` with what was recorded while it was served. */
async function expectRecorded(): Promise<void> {
  expect(ids()).toHaveLength(2);
  for (const id of ids()) {
    for (const [path, recorded] of Object.entries(answers[id] ?? {})) {
      const answer = await service.get(`${path}${path.includes('?') ? '&' : '?'}as_of=${id}`, { key });
      expect({ status: answer.status, text: withoutEcho(answer.text, id) }, path).toEqual(recorded);
    }
  }
}

/** Asks for a receipt in every edition. */
async function expectReceipts(): Promise<void> {
  const keys = parseKeys((await service.get('/.well-known/almanac-keys.json')).text);
  for (const id of ids()) {
    const asked = `/v1/receipts?indicator=atlas.one&country=FRA&year=2001&as_of=${id}`;
    const { data } = (await service.get(asked, { key })).json;
    expect(verifyReceipt(JSON.stringify(data), keys)).toMatchObject({ edition: { edition: id } });
  }
}

/** The object of each kept file. */
async function keptObjects(): Promise<Record<string, string>> {
  const { kept = {} } = (await world.snapshots.current()) ?? {};
  return Object.fromEntries(Object.entries(kept).map(([name, { sha256 }]) => [name, sha256]));
}

describe('a store of plain JSON', () => {
  it('answers every edition as before', async () => {
    await expectRecorded();
    await expectReceipts();
  });

  it('still does after a build, which takes over the JSON that did not change', async () => {
    const before = await keptObjects();
    world.tomorrow(2);
    await world.publish('atlas', {
      one: { name: 'One', unit: '%', cells: cells(5, (place, year) => place + year / 8) },
      two: { name: 'Two', cells: cells(4, (place, year) => place * year) },
    });
    await world.ingest('atlas');
    await world.publish('census', {
      pop: { name: 'Population', cells: cells(3, (place, year) => 100 * place + year) },
    });
    await world.ingest('census');
    const { is_new, snapshot } = await world.build();
    expect(is_new).toBe(true);
    await service.snapshots.check();
    expect((await service.get('/v1/indicators')).headers['x-snapshot']).toBe(snapshot);
    const after = await keptObjects();
    // Findings begin anew, since the lake of the stored world is not kept.
    const names = Object.keys(after).filter((name) => !name.startsWith('quality/'));
    const added = names.filter((name) => after[name] !== before[name]);
    expect(added.sort()).toEqual([
      'latest/atlas.0.parquet',
      'latest/census.0.parquet',
      // All have the column that they lacked.
      'observations/atlas.one.parquet',
      'observations/atlas.two.parquet',
      'observations/census.pop.parquet',
      'proofs/atlas.json',
      'proofs/census.json',
    ]);
    await expectRecorded();
    await expectReceipts();
    // No figure of theirs counts as changed.
    const { data } = (await service.get('/v1/changes')).json;
    expect(data[0]).toMatchObject({ edition: snapshot, added: [], withdrawn: [], renamed: [] });
    expect(data[0].revised.map(({ indicator }: { indicator: string }) => indicator)).toEqual(['atlas.one']);
    expect((await world.build()).is_new).toBe(false);
  });

  it('serves the file of an indicator from every edition, and a bundle from the new one', async () => {
    const path = '/v1/files/atlas.two.parquet';
    const columns = async (asOf: string): Promise<string[]> => {
      const { bytes } = await service.get(`${path}?as_of=${asOf}`, { key });
      const metadata = parquetMetadata(new Uint8Array(bytes).buffer);
      return metadata.schema.slice(1).map(({ name }) => name);
    };
    const own = Object.keys(OBSERVATION_COLUMNS);
    for (const id of ids()) expect(await columns(id)).toEqual(own.filter((name) => name !== 'indicator'));
    expect(await columns(service.snapshots.current()?.id ?? '')).toEqual(own);
    const bundle = (asOf = '') => service.get(`/v1/bundles/atlas.parquet${asOf}`, { key });
    expect((await bundle()).status).toBe(200);
    expect(codeOf(await bundle(`?as_of=${ids()[0]}`))).toBe('file_not_found');
    expect(codeOf(await service.get('/v1/bundles/census.parquet', { key }))).toBe('export_restricted');
  });
});
