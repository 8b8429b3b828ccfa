/** Code rules that a test can check. Forbidden words are split here, so that this file does not match itself. */
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { code, files, importsOf, occurrences, packageOf, product, read } from './repository.ts';

/** A module is split when it has two reasons to change; a longer one nearly always has. */
const MOST_LINES = 500;
const typescript = code.filter((path) => /\.(ts|mjs)$/.test(path));
const manifest: { dependencies: object; devDependencies: object } = JSON.parse(read('package.json'));

describe('files', () => {
  it(`has no code file of more than ${MOST_LINES} lines`, () => {
    const long = code
      .map((path) => ({ path, lines: read(path).trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > MOST_LINES);
    expect(long).toEqual([]);
  });

  it('has no file with a catch-all name', () => {
    expect(files.filter((path) => /^(utils?|helpers?|common|misc|shared)\./.test(basename(path)))).toEqual(
      [],
    );
  });

  it('opens every module of the product with a doc comment', () => {
    const silent = product.filter(
      (path) =>
        /\.(ts|mjs)$/.test(path) &&
        !read(path)
          .replace(/^#!.*\n/, '')
          .startsWith('/**'),
    );
    expect(silent).toEqual([]);
  });

  it('commits neither run output nor provider data, except the starter data', () => {
    const output = files.filter((path) => /^(var|node_modules)\/|\.(parquet|zip|zst|gz|rdb|aof)$/.test(path));
    expect(output.filter((path) => !path.startsWith('data/starter/'))).toEqual([]);
  });
});

describe('marks', () => {
  const forbidden: [string, RegExp][] = [
    ['unfinished work', new RegExp(`\\b(${'TO'}DO|${'FIX'}ME|${'HA'}CK)\\b`)],
    ['tests left out', new RegExp(`\\b(it|test|describe)\\.(${'ski'}p|${'onl'}y|${'tod'}o)\\(`)],
    ['silenced type checks', new RegExp(`@ts-${'(ignore|nocheck|expect-error)'}`)],
    ['machine paths', new RegExp(`['"\`(\\s]/(${'wo'}rk|home|root)/`)],
    ['literals spread into an object to save lines', /^\s*\.\.\.\{/],
    ['registry hosts', new RegExp(`registry\\.${'npm'}js|${'pypi'}\\.org`)],
  ];
  it.each(forbidden)('has no %s', (_name, pattern) => {
    expect(occurrences(typescript, pattern)).toEqual([]);
  });

  it('gives a reason with every lint exception', () => {
    expect(occurrences(typescript, new RegExp(`biome-${'ignore'}(?!.*: \\w.{10})`))).toEqual([]);
  });
});

describe('boundaries', () => {
  it('reads the environment only in the settings module, the set-up script and two modules of tests', () => {
    const readers = typescript.filter((path) =>
      /\bprocess\.env\b/.test(read(path).replace(/\/\*[\s\S]*?\*\//g, '')),
    );
    const allowed = [
      'build/setup.mjs',
      'data/runtime/settings.ts',
      'test/environment.ts',
      'test/shared-redis.ts',
    ];
    expect(readers.filter((path) => !path.startsWith('test/style/'))).toEqual(allowed);
  });

  it('decides nothing by a process id, which means nothing in another container', () => {
    // The set-up watches whether its own shell still runs, which is in the same container.
    const programs = typescript.filter((path) => product.includes(path) && path !== 'build/setup.mjs');
    expect(occurrences(programs, /(?<!\.)\bprocess\.(pid|ppid|kill)\b/)).toEqual([]);
  });

  const apart: [string, string[]][] = [
    ['gateway', ['build', 'test']],
    ['build', ['gateway', 'admin', 'test']],
    ['data', ['gateway', 'build', 'admin', 'test']],
  ];
  it.each(apart)('%s imports nothing from %j', (folder, others) => {
    const crossing = product
      .filter((path) => path.startsWith(`${folder}/`))
      .flatMap((path) =>
        importsOf(path)
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => ({ path, target: normalize(join(dirname(path), specifier)) })),
      )
      .filter(({ target }) => others.some((other) => target.startsWith(`${other}/`)));
    expect(crossing).toEqual([]);
  });

  it('keeps SQL and Lua in files of their own', () => {
    const modules = product.filter((path) => path.endsWith('.ts'));
    expect(occurrences(modules, /\bSELECT\b.+\bFROM\b|\bredis\.call\b/)).toEqual([]);
  });
});

describe('packages', () => {
  it('lets the product import production dependencies only', () => {
    const strangers = product.flatMap((path) =>
      importsOf(path).flatMap((specifier) => {
        const name = packageOf(specifier);
        return name === null || name in manifest.dependencies ? [] : [`${path}: ${name}`];
      }),
    );
    expect(strangers).toEqual([]);
  });

  it('declares every package that tests import', () => {
    const declared = { ...manifest.dependencies, ...manifest.devDependencies };
    // A user's program: its test installs what it needs.
    const tests = typescript.filter((path) => !path.startsWith('test/gateway/clients/typescript/'));
    const missing = tests.flatMap((path) =>
      importsOf(path).flatMap((specifier) => {
        const name = packageOf(specifier);
        return name === null || name in declared ? [] : [`${path}: ${name}`];
      }),
    );
    expect(missing).toEqual([]);
  });

  it('locks every optional package of every platform, without which npm ci refuses', () => {
    type Locked = Record<string, { optionalDependencies?: Record<string, string> }>;
    const locked: Locked = JSON.parse(read('package-lock.json')).packages;
    const missing = Object.entries(locked).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`${path}/node_modules/${name}` in locked) && !(`node_modules/${name}` in locked),
      ),
    );
    expect(missing).toEqual([]);
  });
});
