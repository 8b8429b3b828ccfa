/** Dependencies are listed, permissively licensed, checksummed, and run no unapproved install script. */
import { describe, expect, it } from 'vitest';
import { read } from './repository.ts';
import { installed, thirdParty } from './third-party.ts';

/** Licences that require attribution only. */
const PERMISSIVE = new Set([
  'MIT',
  'MIT-0',
  'CC0-1.0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'MIT OR Apache-2.0',
  'Apache-2.0 AND MIT',
  '(MIT OR Apache-2.0)',
]);
/** Fonts that pictures are set in: free to be used and passed on, not to be sold by themselves. */
const FONTS = /^@expo-google-fonts\//;
const FONT_LICENCE = 'MIT AND OFL-1.1';
/** Weak copyleft by file, used unchanged: what links to it keeps its own licence. */
const UNCHANGED_MPL = /^@resvg\/resvg-js(?:-|$)/;
/** For development tools that are not shipped. */
const FOR_TOOLS = new Set([...PERMISSIVE, 'MPL-2.0', 'Unlicense']);

describe('third-party software', () => {
  it('is listed in THIRD-PARTY.md as in the lock file', () => {
    expect(read('THIRD-PARTY.md')).toBe(thirdParty());
  });

  it('has a permissive licence; development tools and the renderer of pictures may have a weak copyleft one, fonts their own', () => {
    const odd = installed().filter(
      ({ name, licence, inProduction }) =>
        !(FONTS.test(name) && licence === FONT_LICENCE) &&
        !(inProduction && !UNCHANGED_MPL.test(name) ? PERMISSIVE : FOR_TOOLS).has(licence),
    );
    expect(odd).toEqual([]);
  });

  it('is pinned by checksum', () => {
    expect(installed().filter(({ integrity }) => !integrity.startsWith('sha512-'))).toEqual([]);
  });

  it('runs install scripts only where package.json allows them', () => {
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
