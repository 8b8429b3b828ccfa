/**
 * Records what the service answers over fixtures, to compare before and after a change of its inside:
 *
 *   npm run record -- DIRECTORY                 every answer and mail, a file each
 *   npm run record -- --compare BEFORE AFTER    what differs between two such directories
 *   npm run record -- --accept                  into recorded.txt, where answers are meant to change
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { digest } from './recorder.ts';
import { linesOf, RECORDED, recordSection, SECTIONS, UNSTEADY } from './sections.ts';

const SHOWN_LINES = 5;
const CONTEXT = 70;

const { values, positionals } = parseArgs({
  options: { compare: { type: 'boolean' }, accept: { type: 'boolean' } },
  allowPositionals: true,
});
const [first, second] = positionals;
if (values.compare && first !== undefined && second !== undefined) await compare(first, second);
else if (values.accept) await writeFile(RECORDED, (await recordAll(UNSTEADY)).flatMap(linesOf).join(''));
else if (first !== undefined) await writeAll(first);
else throw new Error('name a directory, or --compare and two directories');

async function recordAll(left?: string) {
  const all = [];
  for (const section of SECTIONS.keys()) {
    if (section === left) continue;
    all.push(await recordSection(section));
    process.stderr.write(`${section}: ${all.at(-1)?.size} answers\n`);
  }
  return all;
}

async function writeAll(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  for (const recordings of await recordAll())
    for (const [name, { head, body }] of recordings) {
      const file = `${name.replaceAll(/[^\w.=&,-]+/g, '_').slice(0, 150)}-${digest(name)}`;
      await writeFile(join(directory, file), `${name}\n\n${head}\n\n${body}\n`);
    }
}

async function compare(before: string, after: string): Promise<void> {
  const names = new Set([...(await readdir(before)), ...(await readdir(after))]);
  let differing = 0;
  for (const name of [...names].sort()) {
    const [a, b] = [await readLines(join(before, name)), await readLines(join(after, name))];
    if (a?.join('\n') === b?.join('\n')) continue;
    differing += 1;
    const state = a === null ? ' (new)' : b === null ? ' (gone)' : '';
    console.log([name + state, ...differences(a ?? [], b ?? [])].join('\n'));
  }
  console.log(`${differing} of ${names.size} differ`);
  process.exitCode = differing === 0 ? 0 : 1;
}

/** The first lines that only one has, around the place from which on they differ. */
function differences(before: readonly string[], after: readonly string[]): string[] {
  const removed = before.filter((line) => !after.includes(line)).slice(0, SHOWN_LINES);
  const added = after.filter((line) => !before.includes(line)).slice(0, SHOWN_LINES);
  const shown = (sign: string, line: string, other = ''): string => {
    const start = Math.max(0, firstDifference(line, other) - CONTEXT);
    return `  ${sign} ${line.slice(start, start + 2 * CONTEXT)}`;
  };
  return [
    ...removed.map((line, at) => shown('-', line, added[at])),
    ...added.map((line, at) => shown('+', line, removed[at])),
  ];
}

async function readLines(file: string): Promise<string[] | null> {
  return (await readFile(file, 'utf8').catch(() => null))?.split('\n') ?? null;
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}
