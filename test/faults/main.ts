/**
 * `npm run faults [-- --only PART,PART]` injects faults into the service and prints a Markdown table of promises and
 * whether they were kept. Findings are saved to var/faults/<time>.json as they are made. Exits with 1 when a promise was
 * broken.
 *
 * Everything runs on loopback, in temporary directories and processes that are removed afterwards. Each part has a time
 * limit; the whole run takes at most their sum.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PARTS, type Part } from './parts.ts';
import { runFaults } from './run-faults.ts';

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
await runFaults(chosen(values.only), REPORTS);
