/** Reads a data export: a zip archive of JSON lines. */
import { createInterface } from 'node:readline';
import * as yauzl from 'yauzl';

type Row = Record<string, unknown>;

/** The rows of each list by its name. */
export async function readExport(bytes: Buffer): Promise<Record<string, Row[]>> {
  const lists: Record<string, Row[]> = {};
  const zip = await yauzl.fromBufferPromise(bytes, { lazyEntries: true });
  for await (const entry of zip.eachEntry()) {
    const stream = await zip.openReadStreamPromise(entry);
    const lines: string[] = [];
    for await (const line of createInterface({ input: stream })) lines.push(line);
    const [name = '', suffix] = entry.fileName.split('.');
    if (suffix === 'ndjson') lists[name] = lines.map((line) => JSON.parse(line));
  }
  return lists;
}
