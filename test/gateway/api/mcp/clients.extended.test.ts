/** The official clients, of both languages and both versions, list and call every tool, in old revisions and in the newest. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { TOOLS } from '../../../../gateway/api/mcp/tools/registry.ts';
import { installNodePackages } from '../../../node-packages.ts';
import { installPackages, pythonPath } from '../../../python-packages.ts';
import { useService } from '../../service.ts';
import { CALLS, RESEARCH_CALLS } from './calls.ts';
import { NODE_CLIENTS, PYTHON_CLIENTS } from './official-packages.ts';

const ALL_CALLS = { ...CALLS, ...RESEARCH_CALLS };

interface Told {
  revision: string;
  tools: string[];
  resources: number;
  prompts: number;
  answers: Record<string, { structured: { outcome: string }; text: string }>;
}

const service = await useService();
const key = await service.account({ credits: 100_000 });
const modules = await installNodePackages(NODE_CLIENTS);
await installPackages(PYTHON_CLIENTS);

async function told(program: string, args: readonly string[], more: string[] = []): Promise<Told> {
  const { stdout } = await promisify(execFile)('env', [...more, program, ...args], { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout);
}

const inTypeScript = (version: '1' | '2', mode: string): Promise<Told> => {
  const program = join(import.meta.dirname, 'use-tools.mjs');
  const args = [modules, version, `${service.url}/mcp`, key.key, mode, JSON.stringify(ALL_CALLS)];
  return told(process.execPath, [program, ...args]);
};
const inPython = (mode: string): Promise<Told> => {
  const program = join(import.meta.dirname, 'use_tools.py');
  const args = [`${service.url}/mcp`, key.key, mode, JSON.stringify(ALL_CALLS)];
  return told('python3', [program, ...args], [`PYTHONPATH=${pythonPath(PYTHON_CLIENTS)}`]);
};

test.each([
  ['TypeScript, version 2, newest revision', '2026-07-28', () => inTypeScript('2', '2026-07-28')],
  ['TypeScript, version 2, by handshake', '2025-11-25', () => inTypeScript('2', '')],
  ['TypeScript, version 1', '2025-11-25', () => inTypeScript('1', '')],
  ['Python, newest revision', '2026-07-28', () => inPython('auto')],
  ['Python, by handshake', '2025-11-25', () => inPython('legacy')],
])('%s', async (_name, revision, ask) => {
  const { answers, ...lists } = await ask();
  expect(lists).toEqual({ revision, tools: TOOLS.map(({ name }) => name), resources: 14, prompts: 3 });
  expect(Object.keys(answers)).toEqual(Object.keys(ALL_CALLS));
  for (const [name, { structured, text }] of Object.entries(answers)) {
    if (name in RESEARCH_CALLS) expect(JSON.parse(text)).toEqual(structured);
    else expect([structured.outcome, text]).toEqual(['answer', expect.stringContaining('outcome: answer')]);
  }
});
