/** A scripted HTTP server for each test, and an upstream that reads from it without delays. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { HttpUpstream } from '../../../build/upstream/http-upstream.ts';
import { type Listening, listen } from '../../listen.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

let server: Listening;
let base: string;

/** The behaviour of the current test's server, and what it recorded. */
export const scripted = {
  /** A temporary directory; cached copies are in its `copies`. */
  directory: '',
  handler: (() => {}) as Handler,
  requests: [] as IncomingMessage[],
  port: 0,
  /** Requested delays in milliseconds; none is waited for. */
  waits: [] as number[],
};

/** Starts a server before each test of a file and stops it after. Test files share modules, so each calls this itself. */
export function useScriptedServer(): void {
  beforeEach(async () => {
    scripted.directory = await mkdtemp(join(tmpdir(), 'almanac-upstream-'));
    scripted.requests = [];
    scripted.waits = [];
    server = await listen(
      createServer((request, response) => {
        scripted.requests.push(request);
        scripted.handler(request, response, scripted.requests.length);
      }),
    );
    scripted.port = server.port;
    base = `${server.url}/data/`;
  });
  afterEach(async () => {
    await server.stop();
    await rm(scripted.directory, { recursive: true });
  });
}

export function open(signal = new AbortController().signal): HttpUpstream {
  return new HttpUpstream({
    base,
    cache: join(scripted.directory, 'copies'),
    maxFileBytes: 1_000_000,
    signal,
    random: () => 0.5,
    sleep: async (ms) => {
      scripted.waits.push(ms);
    },
  });
}

/** Reads one file with a new upstream. */
export async function read(reference: string, signal?: AbortSignal): Promise<string> {
  const upstream = open(signal);
  try {
    return await upstream.text(reference);
  } finally {
    await upstream.close(true);
  }
}
