/**
 * Set-up for `npm start` and `npm test`: Node packages, a Redis server, a browser and pip (test), LibreOffice and R
 * (extended), a first snapshot (start).
 *
 * Plain JavaScript without dependencies: it runs before anything is installed, under any Node. Each step does nothing
 * when nothing is missing, and announces what it installs. Without permission to install, it exits 1 with the command.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = 20;
const RUNTIME_NODE = 24; // runs TypeScript directly; the dev dependency `node` provides it
/** What the R package and the tests of it need, by their names in R. */
const R_PACKAGES = ['curl', 'jsonlite', 'openssl', 'testthat', 'knitr', 'rmarkdown'];
const POLICY = '/usr/sbin/policy-rc.d'; // Debian starts an installed service only if this script allows it

// Not read through data/runtime/settings.ts, whose packages may be missing.
const { REDIS_URL, VAR_DIR, SNAPSHOT_DIR, SNAPSHOT_ORIGIN } = process.env;
const snapshots = SNAPSHOT_DIR || join(VAR_DIR || 'var', 'snapshots');
const task = process.argv[2];
/** The process id of npm, which a signal may end before it has learnt to pass signals on. */
const npm = Number(process.argv[3]);

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
process.env.PATH = resolve('node_modules/.bin') + delimiter + process.env.PATH;

/** The running command. */
let child = null;
let isStopping = false;
const shell = process.ppid;

/** Ends the running command; the set-up exits after it. */
function stop() {
  if (isStopping) return;
  isStopping = true;
  if (!child) process.exit(130);
  child.kill();
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
// A shell that is told to end does not tell its children, and neither does an npm that has only just begun.
const isAbandoned = () => process.ppid !== shell || (npm > 1 && hasEnded(npm));
setInterval(() => isAbandoned() && stop(), 100).unref();

function hasEnded(pid) {
  try {
    process.kill(pid, 0);
    return false;
  } catch ({ code }) {
    return code === 'ESRCH';
  }
}

const say = (line) => console.error(`setup: ${line}`);

function fail(line) {
  if (isStopping) process.exit(130);
  say(line);
  process.exit(1);
}

/** Exit code of a command; null when it cannot be run, or is ended. */
async function statusOf(...command) {
  // On standard output npm only counts what it has added.
  const stdout = command[0] === 'npm' ? 'ignore' : 'inherit';
  child = spawn(command[0], command.slice(1), { stdio: ['inherit', stdout, 'inherit'] });
  const [status] = await once(child, 'exit').catch(() => [null]);
  child = null;
  return isStopping ? null : status;
}

async function run(...command) {
  if ((await statusOf(...command)) !== 0) fail(`failed: ${command.join(' ')}`);
}

function onPath(program) {
  const directories = isAbsolute(program) ? [''] : process.env.PATH.split(delimiter);
  return directories.some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Whether node_modules matches package-lock.json. Compares versions, because a checkout changes modification times. */
function packagesInstalled() {
  const packages = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
  try {
    const present = packages('node_modules/.package-lock.json');
    const wanted = Object.entries(packages('package-lock.json'));
    return wanted.every(
      ([path, { version, optional }]) => path === '' || optional || present[path]?.version === version,
    );
  } catch {
    return false;
  }
}

/** The packages of R that are missing, as system packages. Homebrew has none. */
function missingInR() {
  const installed = spawnSync('Rscript', ['-e', 'cat(rownames(installed.packages()))'], { encoding: 'utf8' });
  const found = (installed.stdout ?? '').split(/\s+/);
  return R_PACKAGES.filter((name) => !found.includes(name)).map((name) => ({
    debian: `r-cran-${name}`,
    brew: '',
  }));
}

/** Installs system packages (`{ debian, brew }`), or prints the command to run. */
async function install(missing) {
  const debian = missing.map((program) => program.debian).join(' ');
  if (!onPath('apt-get')) {
    const brew = missing
      .map((program) => program.brew)
      .filter(Boolean)
      .join(' ');
    if (!onPath('brew') || !brew)
      fail(`missing: ${debian}. Install with your package manager, then try again`);
    say(`installing with Homebrew: ${brew}`);
    return await run('brew', 'install', ...brew.split(' '));
  }
  const command = `apt-get install -y --no-install-recommends ${debian}`;
  if (process.getuid() !== 0) fail(`missing: ${debian}. Run: sudo ${command}`);
  say(`installing with apt-get: ${debian}`);
  process.env.DEBIAN_FRONTEND = 'noninteractive';
  // Keeps Debian from starting Redis on port 6379. The private Redis uses a socket under var/.
  const forbidServices = !existsSync(POLICY);
  if (forbidServices) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  let status = await statusOf('apt-get', 'update', '-qq');
  if (status === 0) status = await statusOf('sh', '-c', command);
  if (forbidServices) rmSync(POLICY);
  if (status !== 0) fail(`failed: ${command}`);
}

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
  fail(`Node ${OLDEST_NODE} or newer is needed, found ${process.version}`);

if (!packagesInstalled()) {
  say('installing Node packages (npm ci)');
  await run('npm', 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error');
}
const found = spawnSync('node', ['--version'], { encoding: 'utf8' }).stdout.trim();
if (Number.parseInt(found.slice(1), 10) < RUNTIME_NODE)
  fail(`Node ${RUNTIME_NODE} is needed, found ${found}. Run: npm ci --include=dev --foreground-scripts`);

const isExtended = task === 'extended';
const isTest = task === 'test' || isExtended;
const browsers = isTest ? JSON.parse(readFileSync('test/browser/browsers.json', 'utf8')) : [];
const missing = [
  { isNeeded: !REDIS_URL, oneOf: ['redis-server', 'valkey-server'], debian: 'redis-server', brew: 'redis' },
  { isNeeded: isTest, oneOf: browsers, debian: 'chromium', brew: 'chromium' },
  { isNeeded: isTest || task === 'release', oneOf: ['pip3', 'pip'], debian: 'python3-pip', brew: 'python' },
  { isNeeded: isExtended, oneOf: ['soffice'], debian: 'libreoffice-calc', brew: 'libreoffice' },
  { isNeeded: isExtended, oneOf: ['pandoc'], debian: 'pandoc', brew: 'pandoc' },
  { isNeeded: isExtended, oneOf: ['Rscript'], debian: 'r-base-core', brew: 'r' },
].filter(({ isNeeded, oneOf }) => isNeeded && !oneOf.some(onPath));
if (isExtended) missing.push(...missingInR());
if (missing.length > 0) await install(missing);

if (task === 'start' && !SNAPSHOT_ORIGIN && !existsSync(join(snapshots, 'current'))) {
  say('publishing the starter data');
  process.env.LOG_LEVEL ||= 'warn';
  await run('node', 'build/main.ts', 'starter');
}
// Lets a signal in that came meanwhile: the shell would go on.
await setImmediate();
if (isAbandoned()) stop();
