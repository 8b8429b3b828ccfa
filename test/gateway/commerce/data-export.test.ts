/** Data exports: streamed in bounded memory, complete or not there, deleted in time. */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { redisKeys } from '../../../data/schema/redis-keys.ts';
import { ExportFiles } from '../../../gateway/commerce/privacy/export-files.ts';
import { AccountError } from '../../../gateway/commerce/store/records.ts';
import { useDirectory } from '../../after-tests.ts';
import { useRedis } from '../../redis.ts';
import { addDebits, openLedger, prepareExport, requestExport } from './long-ledger.ts';
import { readExport } from './pages/read-export.ts';

const directory = await useDirectory();
const server = await useRedis();
const redis = await server.connect();

const ENTRIES = 4_000;
/** Enough for the program, not for a ledger of any length. `export.extended.test.ts` has one that does not fit. */
const HEAP_MB = 256;

it('holds every entry of a ledger', async () => {
  const account_id = await openLedger(redis, ENTRIES);
  await addDebits(redis, account_id, ENTRIES - 1);
  const request_id = await requestExport(redis, account_id);
  const environment = { ...server.settings, VAR_DIR: directory };
  const { status, plan } = await prepareExport(request_id, environment, HEAP_MB);
  expect([status, plan]).toEqual(['ready', expect.stringContaining('with 4,000 ledger entries')]);
  const exports = join(directory, 'exports');
  expect(await readdir(exports)).toEqual([`${request_id}.zip`]);
  const { ledger = [], account } = await readExport(await readFile(join(exports, `${request_id}.zip`)));
  const stored: string[] = [];
  for (let last = '-'; stored.length < ENTRIES; last = `(${stored.at(-1)}`) {
    const page = await redis.xrange(redisKeys.ledger(account_id), last, '+', 'COUNT', 4_000);
    stored.push(...page.map(([id]) => id));
  }
  expect(ledger.map(({ id }) => id)).toEqual(stored.reverse());
  const sum = ledger.reduce((total, { delta }) => total + Number(delta), 0);
  expect([sum, account]).toEqual([
    1,
    [expect.objectContaining({ account: expect.objectContaining({ account_id }) })],
  ]);
});

it('takes rows only as fast as they are written', async () => {
  const files = new ExportFiles(join(directory, 'paced'));
  const request_id = `req_${randomBytes(8).toString('hex')}`;
  const row = { text: randomBytes(30_000).toString('base64') };
  const written: number[] = [];
  let given = 0;
  const rows = async function* () {
    for (; given < 200; given++) yield row;
  };
  await files.write(request_id, [{ name: 'rows', help: '', rows }], async () => {
    const [part = ''] = await readdir(join(directory, 'paced'));
    written.push((await stat(join(directory, 'paced', part))).size);
  });
  // 8 MB that do not compress: halfway, most of the first half is on disk.
  expect((written[100] ?? 0) / (written.at(-1) ?? 1)).toBeGreaterThan(0.4);
  expect((await readExport(await readFile(join(directory, 'paced', `${request_id}.zip`)))).rows).toHaveLength(
    200,
  );
});

it('listens to its file once, however many lists it has', async () => {
  const files = new ExportFiles(join(directory, 'many'));
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  const rows = async function* () {
    yield { id: 1 };
  };
  const names = Array.from({ length: 20 }, (_, at) => `list-${at}`);
  await files.write(
    'req_many',
    names.map((name) => ({ name, help: '', rows })),
    () => {},
  );
  process.off('warning', note);
  expect(warnings).toEqual([]);
});

it('leaves nothing behind when a list cannot be read', async () => {
  const files = new ExportFiles(join(directory, 'failing'));
  const rows = async function* () {
    yield { id: 1 };
    throw new AccountError('archive_damaged', 'Part 7 of the archive cannot be read.');
  };
  const failing = files.write('req_abc', [{ name: 'ledger', help: '', rows }], () => {});
  await expect(failing).rejects.toThrow('Part 7 of the archive cannot be read.');
  expect(await readdir(join(directory, 'failing'))).toEqual([]);
  // What a killed process left is deleted with the request's file.
  await writeFile(join(directory, 'failing', '.req_abc.zip.0011'), 'half');
  expect(await files.list()).toEqual(['req_abc']);
  await files.delete('req_abc');
  expect(await files.list()).toEqual([]);
});
