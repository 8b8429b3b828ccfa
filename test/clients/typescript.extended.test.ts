/** The packed TypeScript client: its content, its types in a strict project, its README, and a page of another origin. */
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stopAfterTests } from '../after-tests.ts';
import { useBrowser } from '../browser/browser.ts';
import { useService } from '../gateway/service.ts';
import { listen } from '../listen.ts';
import { run } from '../run-program.ts';
import { buildStarter } from '../shared-builds.ts';
import { compile, installPackage, linkNodeTypes, PACKAGE } from './typescript-package.ts';

type Client = typeof import('../../clients/typescript/src/index.ts');

/** What a script of the page has put there. */
interface Loaded {
  almanac: Client;
}

const PAGE = `<!doctype html><title>Another site</title>
<script type="module">import * as almanac from '/dist/clients/typescript/src/index.js'; globalThis.almanac = almanac;</script>`;
const FERTILITY = 'world-bank.SP.DYN.TFRT.IN';
const POPULATION = 'world-bank.SP.POP.TOTL';
/** What the package promises to run on. */
const OLDEST_NODE = 20;

const { snapshots } = await buildStarter();
const service = await useService({ snapshots });
const owner = await service.account({ credits: 10_000_000 });
const project = await installPackage();
await linkNodeTypes(project);

/** Programs of Node.js on this machine, the oldest and the newest that are promised. */
async function interpreters(): Promise<string[]> {
  const paths = (await run('which', ['-a', 'node'])).trim().split('\n');
  const known = await Promise.all(
    paths.map(async (path) => ({
      path,
      major: Number.parseInt(await run(path, ['-p', 'process.versions.node']), 10),
    })),
  );
  const usable = known.filter(({ major }) => major >= OLDEST_NODE).toSorted((a, b) => a.major - b.major);
  return [...new Set([usable.at(0)?.path, usable.at(-1)?.path])].flatMap((path) => path ?? []);
}

describe('the package', () => {
  it('holds the built modules, their types, README and licence, and needs nothing', async () => {
    const listed = (await run('find', ['.', '-type', 'f'], { cwd: project.installed })).trim().split('\n');
    const others = listed.filter((file) => !/^\.\/dist\/[\w/-]+\.(js|d\.ts)$/.test(file));
    expect(others.toSorted()).toEqual(['./CHANGELOG.md', './LICENSE', './README.md', './package.json']);
    const manifest = JSON.parse(await readFile(join(project.installed, 'package.json'), 'utf8'));
    expect([manifest.dependencies, manifest.engines.node]).toEqual([undefined, `>=${OLDEST_NODE}`]);
    const modules = listed.filter((file) => file.endsWith('.js'));
    const imported = await Promise.all(
      modules.map((file) => readFile(join(project.installed, file), 'utf8')),
    );
    for (const text of imported)
      for (const [, from = ''] of text.matchAll(/from '([^']+)'/g)) expect(from).toMatch(/^\.\.?\/.*\.js$/);
  });

  it('has a README of at most 120 lines, whose examples compile strictly and run', async () => {
    const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
    const examples = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, text = '']) => text);
    await writeFile(join(project.directory, 'readme.ts'), examples.join('\n'));
    await compile(project);
    const variables = { ALMANAC_URL: service.url, ALMANAC_KEY: owner.key };
    const programs = await interpreters();
    expect(programs.length).toBeGreaterThan(0);
    for (const program of programs) {
      const printed = await run(program, ['built/readme.js'], { cwd: project.directory, variables });
      const [, ...rest] = printed.split('(CC BY 4.0): Fertility rate, total');
      expect(rest).toHaveLength(1);
      for (const said of [
        'good world-bank.SP.DYN.TFRT.IN',
        'rounded',
        '402 max_credits_exceeded This answer costs',
        '33845617',
        'true The row or its path was altered',
        /^true \d+ [\d.]+$/m.exec(printed)?.[0] ?? 'the derived figure',
      ])
        expect(printed).toContain(said);
      const lock = JSON.parse(await readFile(join(project.directory, 'almanac.lock'), 'utf8'));
      expect(lock.format).toBe('almanac-lock/1');
    }
  });

  it('types rows by what was asked for', async () => {
    const program = `
import type { Almanac } from "almanac-data";
export async function typed(client: Almanac) {
  const long: { indicator: string; iso3: string; value: number | null }[] = [...(await client.data('a.b')).rows];
  const chosen: { name: string | null }[] = [...(await client.data('a.b', { fields: ['name'] })).rows];
  const named: { indicator: string; name: string }[] = [...(await client.data('a.b', { names: true })).rows];
  return [long, chosen, named];
}`;
    await writeFile(join(project.directory, 'typed.ts'), program);
    await compile(project);
    for (const [wrong, message] of [
      ["(await client.data('a.b', { fields: ['name'] })).rows[0]?.value", "Property 'value' does not exist"],
      ["await client.data('a.b', { fields: ['nome'] })", 'not assignable'],
      ["(await client.data('a.b')).rows[0]?.name", "Property 'name' does not exist"],
      ["await client.data('a.b', { years: [2000, null] })", 'not assignable'],
      ["(await client.rank('a.b')).rows[0].name", 'possibly'],
    ]) {
      await writeFile(
        join(project.directory, 'typed.ts'),
        program.replace('return [', `${wrong};\n  return [`),
      );
      await expect(compile(project)).rejects.toThrow(message);
    }
  });
});

const site = await stopAfterTests(
  listen(
    createServer(async (request, response) => {
      const path = request.url ?? '/';
      const isModule = path.endsWith('.js');
      response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html');
      response.end(isModule ? await readFile(join(project.installed, relative('/', path))) : PAGE);
    }),
  ),
);
const browser = await useBrowser();
const page = await browser.context.newPage();
await page.goto(`http://localhost:${site.port}`);
await page.waitForFunction(() => 'almanac' in globalThis);

describe('in a page of another origin', () => {
  const given = () => ({
    options: { key: owner.key, baseUrl: service.url, retries: 0 },
    fertility: FERTILITY,
    population: POPULATION,
  });

  it('gives figures with price, licence and edition, and streams a file', async () => {
    const before = await service.balance(owner);
    const found = await page.evaluate(async ({ options, fertility, population }) => {
      const { Almanac } = (globalThis as unknown as Loaded).almanac;
      const client = new Almanac(options);
      const table = await client.data([fertility, population], {
        countries: ['PER', '@g7'],
        latest: 2,
        layout: 'wide',
      });
      const file = await client.file(fertility);
      let bytes = 0;
      const reader = file.stream().getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) bytes += part.value.length;
      const { sha256 } = file;
      const whole = await (await client.file(fertility)).bytes();
      return {
        attrs: table.attrs,
        rows: table.length,
        price: table.price,
        paid: file.price,
        bytes,
        sha256,
        whole: whole.length,
      };
    }, given());
    expect(found.attrs.licence).toBe('CC BY 4.0');
    expect(found.attrs.edition).toMatch(/^\d{8}T\d{6}Z-/);
    expect([found.bytes, found.sha256.length]).toEqual([found.whole, 64]);
    expect(found.rows).toBeGreaterThan(8);
    expect(before - (await service.balance(owner))).toBe((found.price ?? 0) + (found.paid ?? 0));
  });

  it('reads errors with code, status and request', async () => {
    const found = await page.evaluate(async ({ options, fertility }) => {
      const { Almanac, ApiError, ConnectionFailed } = (globalThis as unknown as Loaded).almanac;
      const errorOf = async (call: Promise<unknown>) => {
        const error = await call.catch((one: unknown) => one);
        return error instanceof ApiError
          ? [error.status, error.code, error.requestId !== null]
          : String(error);
      };
      const client = new Almanac(options);
      const away = new Almanac({ ...options, baseUrl: 'http://localhost:1' });
      return {
        dear: await errorOf(client.data(fertility, { maxCredits: 1 })),
        unknown: await errorOf(client.data('none.such')),
        stranger: await errorOf(new Almanac({ ...options, key: 'alm_live_wrong' }).rank(fertility)),
        away: (await away.editions().catch((one: unknown) => one)) instanceof ConnectionFailed,
      };
    }, given());
    expect(found).toEqual({
      dear: [402, 'max_credits_exceeded', true],
      unknown: [404, 'indicator_not_found', true],
      stranger: [401, 'invalid_key', true],
      away: true,
    });
  });

  it('verifies receipts and a lock', async () => {
    const found = await page.evaluate(async ({ options, population }) => {
      const { almanac } = globalThis as unknown as Loaded;
      const { Almanac, formatLock, parseLock, Refused, verifyReceipt } = almanac;
      const client = new Almanac(options);
      const lock = parseLock(formatLock(await client.lock()));
      const locked = new Almanac({ ...options, lock });
      const receipt = await locked.receipt(population, 'PER', 2023);
      const { row, root } = await verifyReceipt(receipt, await locked.keys());
      const forged = new TextDecoder().decode(receipt).replace('33845617', '33845618');
      const error = await verifyReceipt(forged, await locked.keys()).catch((one: unknown) => one);
      const figures = await locked.data(population, { countries: 'PER', years: 2023 });
      return {
        value: row.value,
        figure: figures.rows[0]?.value,
        isPinned: root === lock.root,
        refused: error instanceof Refused,
      };
    }, given());
    expect(found).toEqual({ value: 33845617, figure: 33845617, isPinned: true, refused: true });
  });
});
