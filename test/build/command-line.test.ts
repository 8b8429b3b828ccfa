/** The command line of the build. Most tests call `run` in process; one starts real processes. */
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { run } from '../../build/cli.ts';
import { parseSigningKey } from '../../data/proofs/signing-key.ts';
import { makeSeries, type Series, World } from './world.ts';

const MAIN = fileURLToPath(new URL('../../build/main.ts', import.meta.url));
const execute = promisify(execFile);
const one: Series = makeSeries(['FRA', 2000, 1], ['DEU', 2000, 2]);

describe('the command line', async () => {
  const world = await World.use({ atlas: {}, globe: { starter: {} } });
  await world.publish('atlas', { one });
  await world.publish('globe', { one });
  await world.publishStarter('globe', { one });

  const environment = () => {
    const { VAR_DIR, CURATED_DIR, PROVIDER_MIRROR = '' } = world.settings;
    return { VAR_DIR, CURATED_DIR, PROVIDER_MIRROR, LOG_LEVEL: 'silent' };
  };
  const call = (...args: string[]) => callWith(environment(), ...args);
  async function callWith(env: Record<string, string>, ...args: string[]) {
    const output = { stdout: '', stderr: '' };
    const writer = (name: keyof typeof output) => ({ write: (text: string) => (output[name] += text) });
    const { signal } = new AbortController();
    const io = { env, stdout: writer('stdout'), stderr: writer('stderr'), signal };
    const code = await run(args, io);
    return { code, ...output };
  }
  const json = async (...args: string[]) => JSON.parse((await call(...args, '--json')).stdout);

  it.each([
    [['--help'], 0, 'usage:', ''],
    [['dance'], 2, '', 'there is no step "dance"'],
  ])('as a process prints and exits as `run` does: %j', async (args, code, stdout, stderr) => {
    const main = [MAIN, ...args];
    const ended = await execute(process.execPath, main, { env: environment() }).then(
      (output) => ({ code: 0, ...output }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
    expect(ended.code).toBe(code);
    expect(ended.stdout).toContain(stdout);
    expect(ended.stderr).toContain(stderr);
    expect(await call(...args)).toMatchObject({ code, stdout: ended.stdout, stderr: ended.stderr });
  });

  it('exits 3 when a run lost countries, and names them', async () => {
    await using lossy = await World.create();
    await lossy.publish('atlas', {
      one: makeSeries(['FRA', 2000, 1], ['Germany', 2000, 2]),
    });
    const { VAR_DIR, CURATED_DIR, PROVIDER_MIRROR = '' } = lossy.settings;
    const env = { VAR_DIR, CURATED_DIR, PROVIDER_MIRROR, LOG_LEVEL: 'silent' };
    for (const step of [
      ['ingest', '--provider', 'atlas'],
      ['nightly', '--all'],
    ]) {
      const { code, stdout } = await callWith(env, ...step);
      expect([step[0], code]).toEqual([step[0], 3]);
      expect(stdout).toContain('"Germany" (Germany?)');
    }
  });

  it('says which series nobody may publish, and exits 4 when series failed, also while upstream is unchanged', async () => {
    await using troubled = await World.create();
    const who = { ...one, source: 'World Health Organization' };
    const failing = makeSeries(['FRA', 2000, 1], ['fra', 2000, 2]);
    await troubled.publish('atlas', { one, who, failing });
    const { VAR_DIR, CURATED_DIR, PROVIDER_MIRROR = '' } = troubled.settings;
    const env = { VAR_DIR, CURATED_DIR, PROVIDER_MIRROR, LOG_LEVEL: 'silent' };
    const terms = 'World Health Organization: CC BY-NC-SA 3.0 IGO (1)';
    for (const status of ['succeeded', 'unchanged']) {
      const { code, stdout } = await callWith(env, 'ingest');
      expect(code).toBe(4);
      expect(stdout).toContain(`atlas: ${status}`);
      expect(stdout).toContain(
        'failed: failing: FRA 2000 has two different values: 1 of "FRA" and 2 of "fra"',
      );
      expect(stdout).toContain(`atlas: 1 of 2 series are not published: ${terms}`);
      expect(stdout).toContain('  withheld: who\n');
      expect(stdout).toContain('data/collectors.csv');
    }
    for (const step of ['materialise', 'nightly'])
      expect((await callWith(env, step)).stdout).toContain(
        `atlas: 1 of 2 series are not published: ${terms}`,
      );
    const { withheld } = JSON.parse((await callWith(env, 'materialise', '--json')).stdout);
    expect(withheld).toEqual([
      { provider: 'atlas', series: 2, by: { 'World Health Organization: CC BY-NC-SA 3.0 IGO': ['who'] } },
    ]);
  });

  it('inspects an unknown directory', async () => {
    await world.write('mirror/novel/a.csv', 'country,year,births\nFrance,2000,1\n');
    const { code, stdout } = await call('inspect', `${world.directory}/mirror/novel`);
    expect([code, stdout]).toEqual([0, expect.stringContaining('providers/novel.yaml')]);
    expect(await call('inspect')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('inspect needs'),
    });
    await rm(`${world.settings.CURATED_DIR}/providers/novel.yaml`);
  });

  it('asks twice before the history of a provider goes with its definition', async () => {
    await using other = await World.create({ atlas: {}, globe: {} });
    const { VAR_DIR, CURATED_DIR, PROVIDER_MIRROR = '' } = other.settings;
    const env = { VAR_DIR, CURATED_DIR, PROVIDER_MIRROR, LOG_LEVEL: 'silent' };
    const materialise = (...options: string[]) => callWith(env, 'materialise', ...options);
    for (const id of ['atlas', 'globe']) await other.ingestSeries({ one: { cells: [['FRA', 2000, 1]] } }, id);
    const { snapshot } = await other.build();
    const refusal = (words: string) => ({ code: 1, stderr: expect.stringContaining(words) });
    expect(await materialise('--without', 'atlas')).toMatchObject(refusal('has a definition'));
    await rm(`${CURATED_DIR}/providers/atlas.yaml`);
    expect(await materialise()).toMatchObject(refusal('materialise --without atlas'));
    const asked = await materialise('--without', 'atlas');
    expect(asked).toMatchObject(refusal('1 indicators of atlas and their history in 1 editions'));
    expect(await other.snapshots.currentId()).toBe(snapshot);
    expect(await materialise('--without', 'atlas', '--yes')).toMatchObject({ code: 0 });
    expect(Object.keys((await other.snapshots.current())?.manifest.providers ?? {})).toEqual(['globe']);
  });

  it('makes a new key that signs the next edition', async () => {
    const { code, stdout } = await call('rotate-key');
    const [id] = /[0-9a-f]{8}(?=\n)/.exec(stdout) ?? [];
    const text = await readFile(`${world.settings.SIGNING_DIR}/key`, 'utf8');
    expect([code, id]).toEqual([0, parseSigningKey(text).id]);
  });

  it.each([
    [[], 'which step?'],
    [['dance'], 'there is no step "dance"'],
    [['ingest', 'more'], '"more" was not expected'],
    [['ingest', '--nonsense'], "Unknown option '--nonsense'"],
    [['ingest', '--provider', 'nobody'], 'there is no provider "nobody"; there are: atlas, globe'],
    [['accept'], 'accept needs --provider and --run'],
    [['push'], 'push needs --to with a directory or the URL of a bucket'],
  ])('exits 2 with its usage for a wrong command line: %j', async (args, message) => {
    const { code, stdout, stderr } = await call(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr).toContain('usage:');
  });

  it('exits 1 with a message when there is nothing to publish, verify or roll back to', async () => {
    for (const step of ['materialise', 'verify', 'rollback', 'push']) {
      const { code, stderr } = await call(step, ...(step === 'push' ? ['--to', world.directory] : []));
      expect(code, step).toBe(1);
      expect(stderr.split('\n')[0]).toMatch(
        /^(no provider has data that may be published|nothing is published yet|no snapshot is published|there is no earlier snapshot)/,
      );
    }
  });

  it('exits 1 with a message for a run that cannot be accepted', async () => {
    const { code, stderr } = await call('accept', '--provider', 'atlas', '--run', 'none');
    expect([code, stderr]).toEqual([1, 'atlas has no run none\n']);
  });

  it('publishes the starter data, runs a night, verifies, rolls back and lists', async () => {
    const starter = await json('starter');
    expect(starter).toMatchObject({ providers: [{ provider: 'globe', outcome: 'succeeded' }] });
    const night = await json('nightly');
    expect(night).toMatchObject({
      providers: [
        { provider: 'atlas', outcome: 'succeeded' },
        { provider: 'globe', outcome: 'succeeded' },
      ],
      build_error: null,
    });
    expect((await call('verify')).stdout).toContain(`${night.build.snapshot} is sound`);
    expect((await call('ingest', '--provider', 'atlas')).stdout).toMatch(
      /^atlas: unchanged, 2 rows of 1 indicators and 2 countries\n {2}record: \S+\/atlas\/\S+\/run\.json\n$/,
    );
    if (starter.build.snapshot < night.build.snapshot) {
      expect(await json('rollback')).toEqual({ snapshot: starter.build.snapshot });
      expect(await json('rollback', '--to', night.build.snapshot)).toEqual({
        snapshot: night.build.snapshot,
      });
    }
    const { current, snapshots, providers } = await json('list');
    expect(current).toBe(night.build.snapshot);
    expect(snapshots).toContain(starter.build.snapshot);
    expect(providers.map(({ provider }: { provider: string }) => provider)).toEqual(['atlas', 'globe']);
    expect((await call('list')).stdout).toContain(`* ${current}`);
  });

  it('exits 3 for a nightly run in which a provider failed, and says that nothing changed', async () => {
    await world.write('mirror/atlas/datapackage.json', 'broken');
    const { code, stdout } = await call('nightly', '--all');
    expect(code).toBe(3);
    expect(stdout).toMatch(/atlas: failed, .*datapackage\.json[\s\S]*nothing changed: \S+ stays/);
  });
});
