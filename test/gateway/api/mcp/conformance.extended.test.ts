/**
 * The official conformance suite, all scenarios of all revisions. Those that ask for tools, resources or prompts of the
 * suite's own, or for extensions, cannot pass on any other server; every other one has to.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installNodePackages } from '../../../node-packages.ts';
import { useService } from '../../service.ts';
import { CONFORMANCE, CONFORMANCE_PROGRAM } from './official-packages.ts';

/** Scenarios that begin so call tools, read resources or get prompts named `test_…`, or need the extension of tasks. */
const NEED_FIXTURES = [
  'tools-call-',
  'elicitation-',
  'json-schema-2020-12',
  'resources-read-',
  'resources-templates-read',
  'resources-subscribe',
  'resources-unsubscribe',
  'prompts-get-',
  'http-custom-header-server-validation',
  'tasks-',
  'input-required-result-',
];
/** Checks of a scenario that passes otherwise: they ask for `test_missing_capability`, `test_streaming_elicitation` or `test_logging_tool`. */
const NEED_TOOLS: Readonly<Record<string, number>> = { 'server-stateless': 4 };

const service = await useService();
const suite = join(await installNodePackages(CONFORMANCE), CONFORMANCE_PROGRAM);

interface Scenario {
  name: string;
  passed: number;
  failed: number;
}

/** The suite fails as a whole as soon as one scenario does. */
const runSuite = (): Promise<string> =>
  new Promise((resolve) => {
    const args = [suite, 'server', '--url', `${service.url}/mcp`, '--suite', 'all'];
    execFile(process.execPath, args, { maxBuffer: 2 ** 26 }, (_error, stdout) => resolve(stdout));
  });

test('every scenario passes that needs no fixture', async () => {
  const output = await runSuite();
  const scenarios = [...output.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed/gm)].map(
    ([, name = '', passed, failed]): Scenario => ({ name, passed: Number(passed), failed: Number(failed) }),
  );
  expect(scenarios.length).toBeGreaterThan(60);
  const failed = scenarios.filter(
    (one) =>
      one.failed > (NEED_TOOLS[one.name] ?? 0) && !NEED_FIXTURES.some((start) => one.name.startsWith(start)),
  );
  expect(failed).toEqual([]);
  const stateless = scenarios.find(({ name }) => name === 'server-stateless');
  expect(stateless?.passed).toBeGreaterThan(20);
});
