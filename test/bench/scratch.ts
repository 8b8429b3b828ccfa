/** Temporary resources of a bench run, removed even after an interrupt, and where its reports are written. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PrivateRedis, startPrivateRedis } from '../../data/runtime/private-redis.ts';

/** For the files of Redis and what floors write, so that the disk is not measured. */
export const MEMORY_FILES = '/dev/shm';
const REPORTS = join(import.meta.dirname, '../../var/bench');
export const RESULTS = join(import.meta.dirname, '../../docs/bench-results.md');

export class Scratch implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, async () => {
        await this[Symbol.asyncDispose]();
        process.exit(130);
      });
    }
  }

  /** Adds a resource; the last one added is disposed of first. */
  use<Value extends AsyncDisposable>(value: Value): Value {
    return this.#stack.use(value);
  }

  /** A new temporary directory. */
  async directory(under = tmpdir()): Promise<string> {
    const dir = await mkdtemp(join(under, 'almanac-bench-'));
    this.#stack.defer(() => rm(dir, { recursive: true, force: true }));
    return dir;
  }

  async redis(): Promise<PrivateRedis> {
    const dir = await this.directory(existsSync(MEMORY_FILES) ? MEMORY_FILES : tmpdir());
    const redis = await startPrivateRedis(dir);
    this.#stack.defer(() => redis.stop());
    return redis;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Writes a report as JSON and as Markdown. @returns the path of both, without extension */
export async function writeReport(name: string, report: object, table: string): Promise<string> {
  await mkdir(REPORTS, { recursive: true });
  const file = join(REPORTS, name.replaceAll(':', ''));
  await writeFile(`${file}.json`, `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(`${file}.md`, `${table}\n`);
  return file;
}

/** Replaces the block of these parts in the page of results, or appends it. */
export function withResults(page: string, parts: string, command: string, table: string): string {
  const [start, end] = [`<!-- bench ${parts} -->`, `<!-- /bench ${parts} -->`];
  const block = `${start}\n## ${command}\n\n${table}\n${end}\n`;
  const from = page.indexOf(start);
  if (from === -1) return `${page}\n${block}`;
  return page.slice(0, from) + block + page.slice(page.indexOf(end, from) + end.length + 1);
}

/** `--write`: the table becomes part of the documentation. */
export async function writeResults(parts: string, command: string, table: string): Promise<void> {
  await writeFile(RESULTS, withResults(await readFile(RESULTS, 'utf8'), parts, command, table));
}
