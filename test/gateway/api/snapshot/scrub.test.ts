/** Published files are hashed in the background, slowly, and no answer is made from a damaged one. */
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { observationsFile } from '../../../../data/schema/snapshot.ts';
import { Scrub } from '../../../../gateway/api/snapshot/files/scrub.ts';
import { FIXTURE_ID, fixturePath, publishFixture } from '../../fixture-snapshot.ts';
import { codeOf, Service, type TestKey } from '../../service.ts';

const FILE = observationsFile('beta.long_series');
const DATA = '/v1/data?indicator=beta.long_series&countries=KEN&from=2000';
const RANKING = '/v1/rankings/beta.long_series?year=2000';

let directory: string;
let service: Service;
let owner: TestKey;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'alm-scrub-'));
  await publishFixture(directory);
  service = await Service.start({ snapshots: directory, settings: { SNAPSHOT_POLL_MS: '1000000' } });
  owner = await service.account();
});
afterEach(async () => {
  await service.stop();
  await rm(directory, { recursive: true });
});
const ask = (path: string) => service.get(path, { key: owner.key });

/** Runs some passes. */
async function scrub(passes = 1): Promise<{ damaged: string[]; waited_ms: number; waits: number }> {
  const damaged: string[] = [];
  let rests = 0;
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  let [waited_ms, waits] = [0, 0];
  const running = new Scrub({
    snapshots: service.snapshots,
    onDamage: (file) => damaged.push(file),
    wait: async (ms, signal) => {
      if (ms < 60_000) {
        waited_ms += ms;
        waits += 1;
        return;
      }
      rests += 1;
      if (rests <= passes) return;
      end();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    },
  });
  await isOver;
  await running.stop();
  return { damaged, waited_ms, waits };
}

/** Changes one byte within a value, which the format does not notice. */
async function damage(): Promise<() => Promise<void>> {
  const path = await fixturePath(directory, FILE);
  await copyFile(path, `${path}-whole`);
  const bytes = await readFile(path);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
  return () => copyFile(`${path}-whole`, path);
}

test('finds nothing in whole files, and reads them at a bounded rate', async () => {
  const { damaged, waited_ms, waits } = await scrub();
  expect(damaged).toEqual([]);
  const { bytes = 0 } = service.snapshots.current()?.size ?? {};
  expect(waits).toBeGreaterThan(1);
  // At most two megabytes a second, but for the last burst.
  expect(waited_ms).toBeGreaterThan((bytes - 256 * 1024) / (2 * 1024));
  expect((await service.get('/readyz')).status).toBe(200);
});

test('rests before the first pass, so that a start reads no file for it', async () => {
  await damage();
  expect(await scrub(0)).toEqual({ damaged: [], waited_ms: 0, waits: 0 });
  expect((await ask(DATA)).status).toBe(200);
  expect((await scrub()).damaged).toEqual([FILE]);
});

test('a damaged file is named, no answer is made from it, not even from memory, until it is whole again', async () => {
  for (let time = 0; time < 3; time += 1) expect((await ask(DATA)).status).toBe(200);
  const ranking = (await ask(RANKING)).text;
  const repair = await damage();
  const { damaged } = await scrub();
  expect(damaged).toEqual([FILE]);
  const before = await service.balance(owner);
  for (const path of [DATA, RANKING, `${DATA}&as_of=${FIXTURE_ID}`]) {
    const answer = await ask(path);
    expect([answer.status, codeOf(answer)]).toEqual([503, 'unavailable']);
  }
  expect(await service.balance(owner)).toBe(before);
  expect((await ask('/v1/data?indicator=alpha.life_expectancy')).status).toBe(200);
  const { status, json } = await service.get('/readyz');
  expect(status).toBe(503);
  expect(json.causes).toEqual([`The file ${FILE} of snapshot ${FIXTURE_ID} cannot be read.`]);
  await service.snapshots.check();
  expect((await ask(DATA)).status).toBe(503);
  await repair();
  await service.snapshots.check();
  expect((await service.get('/readyz')).status).toBe(200);
  expect((await ask(RANKING)).text).toBe(ranking);
});

test('another process that is told of the file refuses it, too', async () => {
  await damage();
  expect((await ask(DATA)).status).toBe(200);
  await service.snapshots.verifyFile(FILE);
  expect((await ask(DATA)).status).toBe(503);
});
