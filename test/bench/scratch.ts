/** What a run of the bench leaves nothing of, also when it is interrupted; and where its reports go. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PrivateRedis, startPrivateRedis } from '../../data/runtime/private-redis.ts';

/** Where Redis keeps its files here, so that the gateway is measured and not how fast this disk can fsync. */
const MEMORY_FILES = '/dev/shm';
const REPORTS = join(import.meta.dirname, '../../var/bench');

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

  /** Disposes of it, too, and before what was there earlier. */
  use<Value extends AsyncDisposable>(value: Value): Value {
    return this.#stack.use(value);
  }

  /** A new directory that goes with the run. */
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

/** Writes a report as JSON and as Markdown. @returns the path of both, without its ending. */
export async function writeReport(name: string, report: object, table: string): Promise<string> {
  await mkdir(REPORTS, { recursive: true });
  const file = join(REPORTS, name.replaceAll(':', ''));
  await writeFile(`${file}.json`, `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(`${file}.md`, `${table}\n`);
  return file;
}
