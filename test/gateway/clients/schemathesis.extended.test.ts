/**
 * Schemathesis generates requests from the served description, sound and unsound ones, and checks every answer, while the
 * event loop of the service is watched.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../../gateway/api/operations/operations.ts';
import { stopAfterTests, useDirectory } from '../../after-tests.ts';
import { FuzzedService } from '../../attack/fuzzed-service.ts';
import { SEED } from '../../environment.ts';
import { TURN_MAX_MS } from '../../event-loop-watchdog.ts';
import { installPackages, pythonPath } from '../../python-packages.ts';

const PACKAGES = ['schemathesis==4.32.5'];
/** Generated for each operation and phase, besides those that cover its description. */
const EXAMPLES = 200;

await installPackages(PACKAGES);
const folder = await useDirectory();
await cp(join(import.meta.dirname, 'schemathesis'), folder, { recursive: true });
const service = await stopAfterTests(FuzzedService.start());

interface Report {
  exit_code: number;
  operations: { tested: number };
  test_cases: { generated: number; with_failures: number; errored: number };
  failures: object[];
  errors: object[];
}

test('finds nothing', async () => {
  const indicators = await fetch(`${service.url}/v1/indicators`);
  const { data } = (await indicators.json()) as { data: { id: string }[] };
  const child = spawn(
    'env',
    [
      `PYTHONPATH=${pythonPath(PACKAGES)}`,
      `INDICATORS=${data.map(({ id }) => id).join(',')}`,
      ...['python3', '-m', 'schemathesis.cli', '--no-color', '--config-file', 'schemathesis.toml'],
      ...['run', `${service.url}/v1/openapi.json`, '--header', `Authorization: Bearer ${service.access.key}`],
      // Most bodies that fit the description of a feed link name no call that there is; its own tests post whatever they like.
      ...['--exclude-path-regex', '/feeds?(/|$)'],
      ...['--checks', 'all', '--max-examples', String(EXAMPLES), '--seed', String(SEED ?? 2026)],
      ...['--continue-on-failure', '--report', 'json', '--report-json-path', 'report.json'],
    ],
    { cwd: folder },
  );
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect(child.exitCode, output + errors).toBe(0);
  const report: Report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8'));
  expect([report.failures, report.errors]).toEqual([[], []]);
  expect(report.operations.tested).toBeGreaterThanOrEqual(OPERATIONS.length);
  expect(report.test_cases.generated).toBeGreaterThan(EXAMPLES * OPERATIONS.length * 0.5);
  const turn = await service.longestTurn();
  expect(turn?.cpu_ms ?? 0, JSON.stringify(turn)).toBeLessThan(TURN_MAX_MS);
});
