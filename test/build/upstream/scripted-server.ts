/** A scripted HTTP server for each test, and an upstream that reads from it without delays. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { beforeEach, onTestFinished } from 'vitest';
import { HttpUpstream } from '../../../build/upstream/http-upstream.ts';
import { directoryOfTest } from '../../after-tests.ts';
import { listen } from '../../listen.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

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
    scripted.directory = await directoryOfTest();
    scripted.requests = [];
    scripted.waits = [];
    const { port, stop } = await listen(
      createServer((request, response) => {
        scripted.requests.push(request);
        scripted.handler(request, response, scripted.requests.length);
      }),
    );
    onTestFinished(stop);
    scripted.port = port;
  });
}

export function open(signal = new AbortController().signal): HttpUpstream {
  return new HttpUpstream({
    base: `http://127.0.0.1:${scripted.port}/data/`,
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
