/**
 * `npm run faults [-- --only PART,PART]` injects faults into the service and prints a Markdown table of promises and
 * whether they were kept. Findings are saved to var/faults/<time>.json. Exits with 1 when a promise was broken.
 *
 * Everything runs on loopback, in temporary directories and processes that are removed afterwards. Each part and the
 * whole run have time limits.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { machineFacts } from '../bench/report.ts';
import { runPart } from './part-process.ts';
import { PARTS, type Part } from './parts.ts';
import { type FaultsReport, type Finding, markdown } from './table.ts';

const LIMIT_MS = 40 * 60_000;
const REPORTS = join(import.meta.dirname, '../../var/faults');

/** The parts that `--only` names, or all. */
function chosen(only: string | undefined): Part[] {
  const names = only?.split(',').map((name) => name.trim()) ?? PARTS.map(({ name }) => name);
  const unknown = names.filter((name) => !PARTS.some((part) => part.name === name));
  if (unknown.length === 0) return PARTS.filter(({ name }) => names.includes(name));
  const all = PARTS.map(({ name }) => name).join(', ');
  console.error(`faults: there is no part ${unknown.join(', ')}; there are ${all}`);
  process.exit(1);
}

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const parts = chosen(values.only);
const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
process.once('SIGTERM', () => interrupt.abort());

const started = performance.now();
const findings: Finding[] = [];
for (const part of parts) {
  if (interrupt.signal.aborted) break;
  const left_ms = LIMIT_MS - (performance.now() - started);
  console.error(`faults: ${part.name}: ${part.fault}`);
  findings.push(
    ...(await runPart(part, Math.max(1, Math.min(part.limit_s * 1000, left_ms)), interrupt.signal)),
  );
}
const report: FaultsReport = {
  at: new Date().toISOString(),
  machine: machineFacts(),
  duration_s: (performance.now() - started) / 1000,
  findings,
};
await mkdir(REPORTS, { recursive: true });
const file = join(REPORTS, `${report.at.replaceAll(':', '')}.json`);
await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
console.log(markdown(report));
console.error(`faults: findings in ${file}`);
const isGood = findings.length > 0 && findings.every(({ kept }) => kept) && !interrupt.signal.aborted;
process.exitCode = isGood ? 0 : 1;
