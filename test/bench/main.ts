/**
 * `npm run bench [-- options]`: what the gateway and the build cost beside their floors, measured on this machine in one
 * run of several minutes. The tables go to standard output as Markdown; var/bench/<time>.json and .md hold them too.
 *
 *   --only NAMES     parts, separated by commas; an unknown one lists them
 *   --compare FILE   shows the change against an earlier run's JSON
 *   --data DIR       where the snapshot is built, and found again by the next run; else a directory that goes
 *
 * Everything runs on loopback, with data, Redis and settings of its own in a temporary directory; the real `var/` only
 * receives the report. The snapshot is all of Gapminder where a provider mirror is at hand, else the sample.
 */
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startPrivateRedis } from '../../data/runtime/private-redis.ts';
import { chosenParts, runParts } from './parts.ts';
import { machineFacts, markdown, type Report } from './report.ts';
import { Session } from './session.ts';

const OPTIONS = { only: { type: 'string' }, compare: { type: 'string' }, data: { type: 'string' } } as const;
/** Where Redis keeps its files here, so that the gateway is measured and not how fast this disk can fsync. */
const MEMORY_FILES = '/dev/shm';
const REPORTS = join(import.meta.dirname, '../../var/bench');

const { values } = parseArgs({ options: OPTIONS });
const parts = chosenParts(values.only);
const earlier: Report | null = values.compare ? JSON.parse(await readFile(values.compare, 'utf8')) : null;

const cleanup = new AsyncDisposableStack();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await cleanup.disposeAsync();
    process.exit(130);
  });
}

async function ownDirectory(under: string): Promise<string> {
  const dir = await mkdtemp(join(under, 'almanac-bench-'));
  cleanup.defer(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function dataDirectory(given: string | undefined): Promise<string> {
  if (given === undefined) return ownDirectory(tmpdir());
  await mkdir(given, { recursive: true });
  return resolve(given);
}

try {
  const dir = await dataDirectory(values.data);
  await chmod(dir, 0o755); // nginx's worker is another user
  const redis = await startPrivateRedis(
    await ownDirectory(existsSync(MEMORY_FILES) ? MEMORY_FILES : tmpdir()),
  );
  cleanup.defer(() => redis.stop());
  const say = (line: string): void => console.error(`bench: ${line}`);
  const session = cleanup.use(new Session({ dir, redisUrl: redis.url, say }));

  const { rows, costs } = await runParts(session, parts);
  const report: Report = {
    at: new Date().toISOString(),
    machine: machineFacts(),
    rows,
    ...(costs && { costs }),
  };
  await mkdir(REPORTS, { recursive: true });
  const file = join(REPORTS, report.at.replaceAll(':', ''));
  await writeFile(`${file}.json`, `${JSON.stringify(report, null, 2)}\n`);
  const table = markdown(report, earlier);
  await writeFile(`${file}.md`, `${table}\n`);
  console.log(table);
  say(`figures in ${file}.json and .md`);
  if (rows.some((row) => 'skipped' in row && row.failed)) process.exitCode = 1;
} finally {
  await cleanup.disposeAsync();
}
