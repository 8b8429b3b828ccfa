/** Installed packages by the lock file, and the text of THIRD-PARTY.md. */
import { read } from './repository.ts';

export interface Installed {
  name: string;
  version: string;
  licence: string;
  /** Whether the running service needs it. */
  inProduction: boolean;
  hasInstallScript: boolean;
  integrity: string;
}

interface LockedPackage {
  version: string;
  license?: string;
  dev?: boolean;
  hasInstallScript?: boolean;
  integrity?: string;
}

/** All packages of the lock file, ordered by name and version. */
export function installed(): Installed[] {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  const all = Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(
      ([path, locked]): Installed => ({
        name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
        version: locked.version,
        licence: locked.license ?? 'unknown',
        inProduction: locked.dev !== true,
        hasInstallScript: locked.hasInstallScript === true,
        integrity: locked.integrity ?? '',
      }),
    );
  const byName = new Intl.Collator('en').compare;
  return all.toSorted((a, b) => byName(a.name, b.name) || byName(a.version, b.version));
}

/** The whole text of `THIRD-PARTY.md`. */
export function thirdParty(): string {
  const all = installed();
  const rows = all
    .filter(({ inProduction }) => inProduction)
    .map(({ name, version, licence }) => `| \`${name}\` | ${version} | ${licence} |`);
  const rest = all.filter(({ inProduction }) => !inProduction);
  const counts = [...Map.groupBy(rest, ({ licence }) => licence)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([licence, packages]) => `${licence} (${packages.length})`);
  return `# Third-party software

Packages that a running service may load, those of other platforms included, with their licences as the lock file has them.
Written by \`node test/style/write-third-party.ts\`; a test holds it against the lock file.

| package | version | licence |
| --- | --- | --- |
${[...new Set(rows)].join('\n')}

Only for building and testing: ${counts.join(', ')}.
`;
}
