/**
 * Reads the JSON reports of Vitest in `var/test` for `.ci/run` and `.ci/nightly`.
 *
 * `failed SUITE` prints the test files of a suite that failed, to be run once more, each alone. `total SUITE…` prints
 * what passed only then as `flaky: FILE`, how many files were repeated, then `tests: N passed, N failed`, and exits 1
 * when a test failed or too many files were repeated. A file that fails without a failed test counts as one failure, and
 * so does a suite without a report.
 */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const REPORTS = 'var/test';
/** So many failed files are no noise: none of them runs again. */
const MOST_AGAIN = 20;
/** More repeated files than these fail the run, even if all pass alone. */
const MOST_REPEATED = 2;

const [command, ...suites] = process.argv.slice(2);

/** @returns the test files of a report, or null where there is none. */
function filesOf(name) {
  const report = `${REPORTS}/${name}.json`;
  if (!existsSync(report)) return null;
  return JSON.parse(readFileSync(report, 'utf8')).testResults.map(({ name, status, assertionResults }) => {
    const count = (wanted) => assertionResults.filter((test) => test.status === wanted).length;
    const failed = count('failed');
    const isFailed = status === 'failed';
    return {
      path: relative('', name),
      isFailed,
      passed: count('passed'),
      failed: isFailed ? failed || 1 : 0,
    };
  });
}

/** @returns the outcome of the second run where the file failed and ran again. */
function withSecondRun(file) {
  const again = file.isFailed ? filesOf(`again/${file.path}`)?.[0] : undefined;
  return again ? { ...again, isRepeated: true } : file;
}

if (command === 'failed') {
  const failed = suites.flatMap((suite) => filesOf(suite) ?? []).filter(({ isFailed }) => isFailed);
  if (failed.length <= MOST_AGAIN) for (const { path } of failed) console.log(path);
} else {
  const files = suites.flatMap((suite) => filesOf(suite) ?? [{ path: suite, passed: 0, failed: 1 }]);
  const outcomes = files.map(withSecondRun);
  const repeated = outcomes.filter(({ isRepeated }) => isRepeated);
  for (const { path } of repeated.filter(({ isFailed }) => !isFailed)) console.log(`flaky: ${path}`);
  const isTooMany = repeated.length > MOST_REPEATED;
  console.log(`repeated: ${repeated.length} files${isTooMany ? `, at most ${MOST_REPEATED} may be` : ''}`);
  const sum = (key) => outcomes.reduce((total, file) => total + file[key], 0);
  console.log(`tests: ${sum('passed')} passed, ${sum('failed')} failed`);
  process.exitCode = sum('failed') > 0 || isTooMany ? 1 : 0;
}
