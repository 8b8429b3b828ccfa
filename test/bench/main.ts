/**
 * `npm run bench [-- --compare FILE]`: what the gateway and the build cost beside their floors, measured on this machine in
 * one run of a few minutes. The table goes to standard output as Markdown, the figures to var/bench/<time>.json.
 *
 * Everything runs on loopback, with data, Redis and settings of its own in a temporary directory; the real `var/` only
 * receives the report. The snapshot is all of Gapminder where a provider mirror is at hand, else the sample.
 */
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startPrivateRedis } from '../../data/runtime/private-redis.ts';
import { machineFacts, markdown, type Report } from './report.ts';
import { measure } from './session.ts';

const { values } = parseArgs({ options: { compare: { type: 'string' } } });
const earlier: Report | null = values.compare ? JSON.parse(await readFile(values.compare, 'utf8')) : null;
/** Where Redis keeps its files here, so that the gateway is measured and not how fast this disk can fsync. */
const MEMORY_FILES = '/dev/shm';
const REPORTS = join(import.meta.dirname, '../../var/bench');

const cleanup = new AsyncDisposableStack();
process.once('SIGINT', async () => {
  await cleanup.disposeAsync();
  process.exit(130);
});

try {
  const dir = await mkdtemp(join(tmpdir(), 'almanac-bench-'));
  cleanup.defer(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755); // nginx's worker is another user
  const redisDir = await mkdtemp(join(existsSync(MEMORY_FILES) ? MEMORY_FILES : tmpdir(), 'almanac-bench-'));
  cleanup.defer(() => rm(redisDir, { recursive: true, force: true }));
  const redis = await startPrivateRedis(redisDir);
  cleanup.defer(() => redis.stop());

  const rows = await measure(dir, redis.url, cleanup, (line) => console.error(`bench: ${line}`));
  const report: Report = { at: new Date().toISOString(), machine: machineFacts(), rows };
  await mkdir(REPORTS, { recursive: true });
  const file = join(REPORTS, `${report.at.replaceAll(':', '')}.json`);
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
  console.log(markdown(report, earlier));
  console.error(`bench: figures in ${file}`);
} finally {
  await cleanup.disposeAsync();
}
