/** Starts a host that is made of an official client and given nothing but the address, and lets a test ask it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { installNodePackages } from '../../../node-packages.ts';
import { installPackages, pythonPath } from '../../../python-packages.ts';
import { NODE_CLIENTS, PYTHON_CLIENTS } from './official-packages.ts';

/** A line that a host prints. */
export interface Said {
  /** The revision that was agreed on. */
  connected?: string;
  /** Where a person has to go. */
  open?: string;
  /** What a tool has answered, and by which client. */
  answer?: { outcome: string; credits?: { charged: number; balance: number } };
  client_id?: string;
  tokens?: { access_token: string; refresh_token: string };
  /** Whether the host got other tokens for this call. */
  isRefreshed?: boolean;
  /** Why there is no answer. */
  failed?: string;
}

export class Host implements AsyncDisposable {
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  private constructor(program: string, args: readonly string[]) {
    this.#process = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
  }

  /** @param clientUrl of the document that says who it is; without it the host registers itself */
  static async inTypeScript(version: '1' | '2', url: string, clientUrl = ''): Promise<Host> {
    const program = join(import.meta.dirname, 'connecting-host.mjs');
    const modules = await installNodePackages(NODE_CLIENTS);
    return new Host(process.execPath, [program, modules, version, url, clientUrl]);
  }

  /** @param mode `auto`: by the newest revision; `legacy`: by handshake */
  static async inPython(mode: 'auto' | 'legacy', url: string, clientUrl = ''): Promise<Host> {
    const program = join(import.meta.dirname, 'connecting_host.py');
    await installPackages(PYTHON_CLIENTS);
    const args = [program, url, mode, ...(clientUrl === '' ? [] : [clientUrl])];
    return new Host('env', [`PYTHONPATH=${pythonPath(PYTHON_CLIENTS)}`, 'python3', ...args]);
  }

  /** What it prints next. */
  async next(): Promise<Said> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the host has ended: ${this.#errors}`);
    return JSON.parse(value);
  }

  /** @param isLate its token's lifetime is over by its own clock */
  ask(question: { name: string; args: Record<string, unknown> }, isLate = false): Promise<Said> {
    this.#process.stdin.write(`${JSON.stringify({ ...question, isLate })}\n`);
    return this.next();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill();
  }
}
