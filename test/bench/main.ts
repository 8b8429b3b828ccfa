/**
 * `npm run bench [-- options]` measures the gateway and the build against their floors, in several minutes. The tables are
 * printed as Markdown and saved to var/bench/<time>.json and .md.
 *
 *   --only NAMES     comma-separated parts; an unknown name lists them
 *   --compare FILE   adds the change against the JSON of an earlier run
 *   --data DIR       keeps the snapshot there for later runs; default a temporary directory
 *   --write          replaces the block of these parts in docs/bench-results.md
 *
 * Everything runs on loopback with data, Redis and settings in a temporary directory. The snapshot is all of Gapminder
 * with a provider mirror, else the sample.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { chosenParts, runParts } from './parts.ts';
import { machineFacts, markdown, type Report } from './report.ts';
import { Scratch, writeReport, writeResults } from './scratch.ts';
import { Session } from './session.ts';

const OPTIONS = {
  only: { type: 'string' },
  compare: { type: 'string' },
  data: { type: 'string' },
  write: { type: 'boolean', default: false },
} as const;

const { values } = parseArgs({ options: OPTIONS });
const parts = chosenParts(values.only);
const earlier: Report | null = values.compare ? JSON.parse(await readFile(values.compare, 'utf8')) : null;
const say = (line: string): void => console.error(`bench: ${line}`);

async function dataDirectory(scratch: Scratch, given: string | undefined): Promise<string> {
  if (given === undefined) return scratch.directory();
  await mkdir(given, { recursive: true });
  return resolve(given);
}

await using scratch = new Scratch();
const dir = await dataDirectory(scratch, values.data);
const redis = await scratch.redis();
const session = scratch.use(new Session({ dir, redisUrl: redis.url, say }));

const rows = await runParts(session, parts);
const report: Report = { at: new Date().toISOString(), machine: machineFacts(), rows };
const table = markdown(report, earlier);
const file = await writeReport(report.at, report, table);
console.log(table);
say(`figures in ${file}.json and .md`);
if (values.write) {
  const command = values.only ? `npm run bench -- --only ${values.only}` : 'npm run bench';
  await writeResults(values.only ?? 'all', command, markdown(report, null));
}
if (rows.some((row) => 'skipped' in row && row.failed)) process.exitCode = 1;
