/**
 * `npm run faults [-- --only PART,PART]` injects faults into the service, one part after the other, and prints a Markdown
 * table of promises and whether they were kept. Exits with 1 when a promise was broken or the run was interrupted.
 *
 * Findings are saved to var/faults/<time>.json as they are made, and whatever happens to a part, the findings before stay
 * and the next part runs. Everything runs on loopback, in temporary directories and processes that are removed
 * afterwards. Each part has a time limit; the whole run takes at most their sum.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { machineFacts } from '../bench/report.ts';
import { runPart } from './part-process.ts';
import { PARTS, type Part } from './parts.ts';
import { type FaultsReport, type Finding, markdown } from './table.ts';

const REPORTS = join(import.meta.dirname, '../../var/faults');

const say = (line: string): void => console.error(`faults: ${line}`);

/** The parts that `--only` names, or all. */
function chosen(only: string | undefined): readonly Part[] {
  const all = PARTS.map(({ name }) => name);
  const names = only?.split(',').map((name) => name.trim()) ?? all;
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length === 0) return PARTS.filter(({ name }) => names.includes(name));
  say(`there is no part ${unknown.join(', ')}; there are ${all.join(', ')}`);
  process.exit(1);
}

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const parts = chosen(values.only);
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupt.abort());
const { signal } = interrupt;
const started = performance.now();
const findings: Finding[] = [];
const report: FaultsReport = {
  at: new Date().toISOString(),
  machine: machineFacts(),
  duration_s: 0,
  findings,
};
mkdirSync(REPORTS, { recursive: true });
const file = join(REPORTS, `${report.at.replaceAll(':', '')}.json`);
const found = (finding: Finding): void => {
  findings.push(finding);
  report.duration_s = (performance.now() - started) / 1000;
  writeFileSync(`${file}.tmp`, `${JSON.stringify(report, null, 2)}\n`);
  renameSync(`${file}.tmp`, file);
  say(`${finding.kept ? 'kept' : 'BROKEN'}: ${finding.promise} (${finding.figure})`);
};
for (const part of parts) {
  if (signal.aborted) break;
  const { name, fault } = part;
  say(`${name}: ${fault}`);
  await runPart(part, { found, signal }).catch((error: unknown) =>
    found({ part: name, fault, promise: 'can be run', figure: String(error), kept: false }),
  );
}
console.log(markdown(report));
say(`findings in ${file}`);
process.exitCode = findings.length > 0 && findings.every(({ kept }) => kept) && !signal.aborted ? 0 : 1;
