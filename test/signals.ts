/**
 * Sends signals to valid process ids only. Node treats 0 as the sender's process group, and `Number('')` is 0, so an id
 * read from an empty file would kill the test run.
 */

/** @throws {Error} for an invalid process id */
export function sendSignal(pid: number | undefined, signal: NodeJS.Signals): void {
  process.kill(checked(pid), signal);
}

/** Signals the group that the process leads. @throws {Error} for an invalid process id */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  process.kill(-checked(pid), signal);
}

/** Parses a pid file. @throws {Error} for an invalid process id */
export const pidFrom = (text: string): number => checked(Number(text));

function checked(pid: number | undefined): number {
  if (pid === undefined || !Number.isInteger(pid) || pid < 2) throw new Error(`${pid} is no process id`);
  return pid;
}
