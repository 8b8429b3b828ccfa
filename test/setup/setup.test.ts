/** The set-up script is silent when nothing is missing, and prints the command to run when it may not install. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useDirectory } from '../after-tests.ts';
import { pidFrom } from '../signals.ts';

const SETUP = join(import.meta.dirname, '../../build/setup.mjs');

const dir = await useDirectory();
/** A PATH with Node only. */
const bare = join(dir, 'bin');
await mkdir(bare);
await symlink(process.execPath, join(bare, 'node'));

describe('build/setup.mjs', () => {
  async function program(folder: string, name: string, script = ''): Promise<void> {
    await mkdir(join(dir, folder), { recursive: true });
    await writeFile(join(dir, folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  function setUp(task: string, path: string[], environment: Record<string, string> = {}, npm = process.pid) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [SETUP, task, String(npm)], {
      env: { PATH: path.join(delimiter), ...environment },
      encoding: 'utf8',
    });
    return { status, said: stdout + stderr };
  }

  it('names what is missing and exits with 1 without a package manager', () => {
    expect(setUp('test', [bare])).toEqual({
      status: 1,
      said: 'setup: missing: redis-server chromium python3-pip. Install with your package manager, then try again\n',
    });
  });

  it('asks for LibreOffice and R with its packages in the extended tests alone', async () => {
    const names = ['curl', 'jsonlite', 'openssl', 'testthat', 'knitr', 'rmarkdown'];
    const missing = ['libreoffice-calc pandoc r-base-core', ...names.map((name) => `r-cran-${name}`)].join(
      ' ',
    );
    for (const name of ['redis-server', 'chromium', 'pip3']) await program('tested', name);
    const tested = [bare, join(dir, 'tested')];
    expect(setUp('test', tested)).toEqual({ status: 0, said: '' });
    expect(setUp('extended', tested)).toEqual({
      status: 1,
      said: `setup: missing: ${missing}. Install with your package manager, then try again\n`,
    });
    for (const name of ['soffice', 'pandoc']) await program('readers', name);
    await program('readers', 'Rscript', `echo '${names.slice(1).join(' ')} utils'`);
    expect(setUp('extended', [...tested, join(dir, 'readers')]).said).toContain(
      'missing: r-cran-curl. Install',
    );
    await program('readers', 'Rscript', `echo '${names.join(' ')} utils'`);
    expect(setUp('extended', [...tested, join(dir, 'readers')])).toEqual({ status: 0, said: '' });
  });

  it('is silent when REDIS_URL is set and nothing else is needed', () => {
    expect(setUp('bench', [bare], { REDIS_URL: 'redis://127.0.0.1:1' })).toEqual({ status: 0, said: '' });
  });

  it.each(['redis-server', 'valkey-server'])('accepts %s', async (server) => {
    await program(server, server);
    expect(setUp('bench', [bare, join(dir, server)])).toEqual({ status: 0, said: '' });
  });

  it('publishes no starter data when a snapshot is published', async () => {
    const snapshots = join(dir, 'snapshots');
    await mkdir(snapshots);
    await writeFile(join(snapshots, 'current'), '20261120T020000Z-00000001\n');
    const environment = { REDIS_URL: 'redis://127.0.0.1:1', SNAPSHOT_DIR: snapshots };
    expect(setUp('start', [bare], environment)).toEqual({ status: 0, said: '' });
  });

  it('publishes no starter data where an origin is followed', () => {
    const environment = {
      REDIS_URL: 'redis://127.0.0.1:1',
      VAR_DIR: dir,
      SNAPSHOT_ORIGIN: 'https://a.example',
    };
    expect(setUp('start', [bare], environment)).toEqual({ status: 0, said: '' });
  });

  it('announces what Homebrew will install, and reports a failure', async () => {
    await program('brew', 'brew', 'exit 3');
    expect(setUp('bench', [bare, join(dir, 'brew')])).toEqual({
      status: 1,
      said: 'setup: installing with Homebrew: redis\nsetup: failed: brew install redis\n',
    });
  });

  it('lets nothing start after npm has ended', () => {
    const { pid } = spawnSync('/bin/true');
    const environment = { REDIS_URL: 'redis://127.0.0.1:1' };
    expect(setUp('bench', [bare], environment, pid)).toEqual({ status: 130, said: '' });
  });

  it('ends its running command with the shell that started it', async () => {
    await program('slow', 'brew', 'echo $$; exec /bin/sleep 600');
    const shell = spawn('/bin/sh', ['-c', `"${process.execPath}" "${SETUP}" bench && true`], {
      env: { PATH: [bare, join(dir, 'slow')].join(delimiter) },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = await once(shell.stdout, 'data');
    const brew = pidFrom(String(line).trim());
    shell.kill('SIGTERM');
    await expect.poll(() => readFile(`/proc/${brew}/cmdline`, 'utf8').catch(() => '')).toBe('');
  });
});
