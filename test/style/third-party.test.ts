/** What is installed is known, licensed for this use, checksummed, and runs nothing while it is installed. */
import { describe, expect, it } from 'vitest';
import { read } from './repository.ts';
import { installed, thirdParty } from './third-party.ts';

/** Licences that ask for no more than to be named. */
const PERMISSIVE = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'MIT OR Apache-2.0',
  'Apache-2.0 AND MIT',
]);
/** Of tools that change nothing of what is shipped. */
const FOR_TOOLS = new Set([...PERMISSIVE, 'MPL-2.0']);

describe('third-party software', () => {
  it('is listed in THIRD-PARTY.md as the lock file has it', () => {
    expect(read('THIRD-PARTY.md')).toBe(thirdParty());
  });

  it('is licensed permissively, and tools at least file by file', () => {
    const odd = installed().filter(
      ({ licence, inProduction }) => !(inProduction ? PERMISSIVE : FOR_TOOLS).has(licence),
    );
    expect(odd).toEqual([]);
  });

  it('is pinned by checksum', () => {
    expect(installed().filter(({ integrity }) => !integrity.startsWith('sha512-'))).toEqual([]);
  });

  it('runs a script at installation only where that was decided', () => {
    const { allowScripts } = JSON.parse(read('package.json')) as { allowScripts: Record<string, boolean> };
    const scripted = installed().filter(({ hasInstallScript }) => hasInstallScript);
    const undecided = scripted.filter(({ name }) => !(name in allowScripts)).map(({ name }) => name);
    // fsevents is for one platform only, and optional.
    expect([...new Set(undecided)].filter((name) => name !== 'fsevents')).toEqual([]);
    // None of those a running service needs may run anything.
    const trusted = scripted.filter(({ name, inProduction }) => inProduction && allowScripts[name] === true);
    expect(trusted).toEqual([]);
  });
});
