/** Zip archives: reading, truncation, size limits, checksums, unsafe names. */
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { openZip, ZIP_LIMITS, ZipError, type ZipLimits } from '../../../build/connectors/zip.ts';
import { zipOf } from '../fakes/zip.ts';

async function* chunked(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 11) yield bytes.subarray(at, at + 11);
}

const textOf = async (stream: AsyncIterable<Uint8Array>): Promise<string> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};

async function readEntry(bytes: Uint8Array, name: string, limits?: ZipLimits): Promise<string> {
  const zip = await openZip(chunked(bytes), limits);
  try {
    return await textOf(zip.stream(name));
  } finally {
    await zip.close();
  }
}

const spooled = async (): Promise<string[]> =>
  (await readdir(tmpdir())).filter((name) => name.startsWith('almanac-zip-'));

it('reads every file by name, repeatedly', async () => {
  const zip = await openZip(
    chunked(
      zipOf([
        { name: 'a.csv', body: 'one' },
        { name: 'ü/b.csv', body: 'two' },
      ]),
    ),
  );
  expect(zip.names).toEqual(['a.csv', 'ü/b.csv']);
  expect(await textOf(zip.stream('ü/b.csv'))).toBe('two');
  expect(await textOf(zip.stream('a.csv'))).toBe('one');
  expect(await textOf(zip.stream('a.csv'))).toBe('one');
  await zip.close();
});

it('removes its temporary files', async () => {
  const before = await spooled();
  await readEntry(zipOf([{ name: 'a', body: 'x' }]), 'a');
  await expect(openZip(chunked(Buffer.from('no zip')))).rejects.toThrow(ZipError);
  expect((await spooled()).filter((name) => !before.includes(name))).toEqual([]);
});

it.each([
  ['half of it', 0.5],
  ['all but the last byte', 0.999_999],
])('rejects a truncated archive: %s', async (_, share) => {
  const whole = zipOf([{ name: 'a.csv', body: 'figures '.repeat(500) }]);
  const part = whole.subarray(0, Math.floor(whole.length * share));
  await expect(readEntry(part, 'a.csv')).rejects.toThrow(ZipError);
});

it('stops an entry that inflates to more than it declares', async () => {
  const liar = zipOf([{ name: 'a.csv', body: Buffer.alloc(5_000_000), claimed_bytes: 1_000 }]);
  await expect(readEntry(liar, 'a.csv')).rejects.toThrow(/too many bytes/);
});

it('rejects entries that together exceed the size limit', async () => {
  const entry = { body: Buffer.alloc(900_000) };
  const many = zipOf([1, 2, 3].map((number) => ({ ...entry, name: `${number}.csv` })));
  const limits = { ...ZIP_LIMITS, inflated_bytes: 2_000_000 };
  await expect(readEntry(many, '1.csv', limits)).rejects.toThrow('"3.csv" takes the archive past 2000000');
});

it('stops a download that exceeds the size limit', async () => {
  const limits = { ...ZIP_LIMITS, archive_bytes: 100 };
  await expect(readEntry(Buffer.alloc(200), 'a', limits)).rejects.toThrow('larger than 100 bytes');
});

it('detects damage by the checksum', async () => {
  const damaged = zipOf([{ name: 'a.csv', body: 'figures', crc: 1 }]);
  await expect(readEntry(damaged, 'a.csv')).rejects.toThrow('its CRC-32 does not fit');
});

it('skips folders and names that point outside the archive', async () => {
  const bytes = zipOf([
    { name: '../../etc/passwd', body: 'no' },
    { name: '/root.csv', body: 'no' },
    { name: 'C:\\x.csv', body: 'no' },
    { name: 'folder/', body: '' },
    { name: 'good.csv', body: 'yes' },
  ]);
  const zip = await openZip(chunked(bytes));
  expect(zip.names).toEqual(['good.csv']);
  expect(await textOf(zip.stream('good.csv'))).toBe('yes');
  expect(() => zip.stream('../../etc/passwd')).toThrow(ZipError);
  await zip.close();
});
