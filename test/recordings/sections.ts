/**
 * What is recorded, and the short form that is kept: a line for each answer with its status and digests of
 * headers and body.
 */
import { join } from 'node:path';
import { recordAccounts, recordMails } from './accounts.ts';
import { recordOperators } from './operators.ts';
import { recordEditions, recordPublic, recordRefusals } from './public.ts';
import { digest, Recorder, type Recordings } from './recorder.ts';

export const RECORDED = join(import.meta.dirname, 'recorded.txt');

export const SECTIONS: ReadonlyMap<string, (recorder: Recorder) => Promise<void>> = new Map([
  ['public', recordPublic],
  ['editions', recordEditions],
  ['refusals', recordRefusals],
  ['accounts', recordAccounts],
  ['mails', recordMails],
  ['operators', recordOperators],
]);

/** Not kept: their dashboard shows a comparison of accounts that runs in the background. */
export const UNSTEADY = 'operators';

export async function recordSection(section: string): Promise<Recordings> {
  using recorder = new Recorder();
  await SECTIONS.get(section)?.(recorder);
  return recorder.recordings;
}

const NAME_MAX = 160;

export const linesOf = (recordings: Recordings): string[] =>
  [...recordings].map(([name, { head, body }]) => {
    const short = name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}… ${digest(name)}` : name;
    return `${short} ${head.slice(0, 3)} ${digest(head).slice(0, 8)} ${digest(body).slice(0, 8)}\n`;
  });
