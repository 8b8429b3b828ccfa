/**
 * A real browser for tests: the system's own Chromium, driven by playwright-core, which downloads nothing. Each opening
 * has a fresh profile that is deleted at the end, and speaks to nobody but the page under test: background services,
 * updates and sync are off.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { stopAfterTests } from '../after-tests.ts';
import { listen } from '../listen.ts';

const ARGUMENTS = [
  '--headless',
  '--no-sandbox', // the tests run as root on a fresh machine
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** Only ends what hangs: a busy machine may take long for a page. */
const STEP_TIMEOUT_MS = 120_000;
const NAMES = join(import.meta.dirname, 'browsers.json');
const SCREENSHOTS = join(import.meta.dirname, '../../var/screenshots');

export interface Browser extends AsyncDisposable {
  context: BrowserContext;
}

/** Where a screenshot is kept for people to look at after the run. */
export const screenshotPath = (name: string): string => join(SCREENSHOTS, `${name}.png`);

async function browserPath(): Promise<string> {
  const names: string[] = JSON.parse(await readFile(NAMES, 'utf8'));
  for (const name of names) {
    const { status, stdout } = spawnSync('sh', ['-c', 'command -v "$1"', 'sh', name], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  throw new Error(`no browser found: ${names.join(', ')}; npm test installs one`);
}

/** Opens a browser with an empty profile; `await using` closes it and deletes the profile. */
export async function openBrowser(viewport = { width: 1280, height: 900 }): Promise<Browser> {
  const executablePath = await browserPath();
  const profile = await mkdtemp(join(tmpdir(), 'almanac-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: ARGUMENTS,
    viewport,
    timeout: STEP_TIMEOUT_MS,
  });
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  return {
    context,
    async [Symbol.asyncDispose]() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** A site of somebody else. */
export interface OtherSite extends AsyncDisposable {
  /** By address. */
  url: string;
  /** By name, which is another site for browsers. */
  localUrl: string;
}

/** Starts it with one page. */
export async function startSite(body = ''): Promise<OtherSite> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<!doctype html><title>Another site</title>${body}`);
  });
  const { url, port, stop } = await listen(server);
  return { url: `${url}/`, localUrl: `http://localhost:${port}/`, [Symbol.asyncDispose]: stop };
}

/** Closed after the tests of the file or suite. */
export const useBrowser = (viewport?: Parameters<typeof openBrowser>[0]): Promise<Browser> =>
  stopAfterTests(openBrowser(viewport));
