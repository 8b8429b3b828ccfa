/**
 * Every answer and mail outside the operator area is as recorded. A change that is meant is accepted by `npm run record -- --accept`; what changed in
 * which answer is told by `npm run record` into a directory before and after, and `--compare`.
 */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { linesOf, RECORDED, recordSection, SECTIONS, UNSTEADY } from './sections.ts';

test('every answer and mail outside the operator area is as recorded', async () => {
  const recorded = (await readFile(RECORDED, 'utf8')).split(/(?<=\n)/);
  const lines: string[] = [];
  for (const section of SECTIONS.keys())
    if (section !== UNSTEADY) lines.push(...linesOf(await recordSection(section)));
  const [was, is] = [new Set(recorded), new Set(lines)];
  expect({
    gone: recorded.filter((line) => !is.has(line)),
    new: lines.filter((line) => !was.has(line)),
  }).toEqual({ gone: [], new: [] });
});
