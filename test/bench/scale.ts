/**
 * `npm run bench:scale [-- options]` measures the build and the start of the gateway on multiples of Gapminder.
 *
 *   --copies LIST   sizes, in times Gapminder; default 1,2,10,30
 *   --data DIR      for temporary lakes and snapshots; default the system's temporary directory
 *   --write         replaces the table in docs/bench-results.md
 *
 * 30 × is 112 million observations of 14,340 indicators and needs 5 GB of disk. The table is printed as Markdown and saved
 * to var/bench/scale-<time>.json and .md. See scale/replica.ts for how copies are made.
 */
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { mirrorDirectory } from '../mirror.ts';
import { runNode } from './processes.ts';
import { machineFacts } from './report.ts';
import { measureSize, type Size } from './scale/measure.ts';
import { Replicator } from './scale/replica.ts';
import { markdown, type ScaleReport } from './scale/table.ts';
import { Scratch, writeReport, writeResults } from './scratch.ts';

const OPTIONS = {
  copies: { type: 'string', default: '1,2,10,30' },
  data: { type: 'string', default: tmpdir() },
  write: { type: 'boolean', default: false },
} as const;
/** Disk space per copy for lake, single copies and snapshot, with a reserve. */
const DISK_MB_PER_COPY = 200;

function sizesOf(list: string): number[] {
  const sizes = list.split(',').map(Number);
  if (sizes.some((size) => !Number.isInteger(size) || size < 1 || size > 99))
    throw new Error(`--copies ${list}: whole numbers from 1 to 99, separated by commas, are expected`);
  return sizes.sort((a, b) => a - b);
}

const { values } = parseArgs({ options: OPTIONS });
const sizes = sizesOf(values.copies);
const say = (line: string): void => console.error(`bench: ${line}`);
async function measureAll(scratch: Scratch, mirror: string): Promise<Size[]> {
  const dir = await scratch.directory(resolve(values.data));
  const { bavail, bsize } = await statfs(dir);
  const needed_mb = DISK_MB_PER_COPY * (sizes.at(-1) ?? 0);
  if ((bavail * bsize) / 2 ** 20 < needed_mb) throw new Error(`${dir} has less than ${needed_mb} MB free`);
  const redis = await scratch.redis();
  say('reading Gapminder');
  const original = join(dir, 'original');
  await runNode('build/main.ts', ['ingest', '--provider', 'gapminder'], {
    VAR_DIR: original,
    PROVIDER_MIRROR: mirror,
    LOG_LEVEL: 'fatal',
  });
  const replicator = await Replicator.open(join(original, 'lake'), join(dir, 'copies'));
  scratch.use({ [Symbol.asyncDispose]: async () => replicator.close() });
  const measured: Size[] = [];
  for (const copies of sizes)
    measured.push(await measureSize(replicator, { dir, redisUrl: redis.url, say }, copies));
  return measured;
}

const mirror = mirrorDirectory();
if (mirror === null) throw new Error('there is no provider mirror here; set PROVIDER_MIRROR');
await using scratch = new Scratch();
const report: ScaleReport = {
  at: new Date().toISOString(),
  machine: machineFacts(),
  sizes: await measureAll(scratch, mirror),
};
const table = markdown(report);
const file = await writeReport(`scale-${report.at}`, report, table);
console.log(table);
say(`figures in ${file}.json and .md`);
if (values.write) await writeResults('scale', 'npm run bench:scale', table);
