/**
 * Runs parts one after the other. The report on disk holds every finding from the moment it was made, and whatever
 * happens to a part, the findings before stay and the next part runs. An interrupt ends the run with the table so far.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { machineFacts } from '../bench/report.ts';
import { runPart } from './part-process.ts';
import type { Part } from './parts.ts';
import { type FaultsReport, type Finding, markdown } from './table.ts';

const say = (line: string): void => console.error(`faults: ${line}`);

/**
 * Prints the table, and sets the exit code 1 when a promise was broken or the run was interrupted.
 * @param reports a directory
 */
export async function runFaults(parts: readonly Omit<Part, 'load'>[], reports: string): Promise<void> {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  process.once('SIGTERM', () => interrupt.abort());
  const { signal } = interrupt;
  const started = performance.now();
  const report: FaultsReport = {
    ...{ at: new Date().toISOString(), machine: machineFacts(), duration_s: 0, findings: [] },
  };
  mkdirSync(reports, { recursive: true });
  const file = join(reports, `${report.at.replaceAll(':', '')}.json`);
  const found = (finding: Finding): void => {
    report.findings.push(finding);
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
  const { findings } = report;
  process.exitCode = findings.length > 0 && findings.every(({ kept }) => kept) && !signal.aborted ? 0 : 1;
}
