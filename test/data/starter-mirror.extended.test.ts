/** The starter data are what their script copies from the mirror. */
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { openZip, ZIP_LIMITS } from '../../build/connectors/zip.ts';
import { writeStarter } from '../../build/starter/write-starter.ts';
import { describeWithMirror } from '../mirror.ts';

/** A file, decompressed: compressors differ between machines. */
async function plain(file: string): Promise<string> {
  if (file.endsWith('.gz')) return gunzipSync(await readFile(file)).toString();
  if (!file.endsWith('.zip')) return readFile(file, 'utf8');
  const zip = await openZip(createReadStream(file), ZIP_LIMITS);
  try {
    const texts = zip.names.map(async (name) => name + (await text(zip.stream(name))));
    return (await Promise.all(texts)).join();
  } finally {
    await zip.close();
  }
}

async function contents(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = files.map(async (file) => [file.slice(directory.length), await plain(file)]);
  return Object.fromEntries(await Promise.all(read));
}

describeWithMirror('the script of the starter data', (mirror) => {
  it('writes the committed files', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'almanac-starter-'));
    try {
      await writeStarter('data', mirror, directory);
      const { '/README.md': _, '/manifest.csv': __, ...committed } = await contents('data/starter');
      const written = await contents(directory);
      expect(Object.keys(written).toSorted()).toEqual(Object.keys(committed).toSorted());
      const different = Object.keys(committed).filter((file) => written[file] !== committed[file]);
      expect(different).toEqual([]);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
