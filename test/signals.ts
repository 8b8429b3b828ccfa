/**
 * Signals to processes by their number. To Node, 0 is the whole group of the sender, and `Number('')` is 0: a number that
 * was read a moment too early would end the tests themselves, and all that runs them.
 */

/** @throws {Error} when it is no number of a process. */
export function sendSignal(pid: number | undefined, signal: NodeJS.Signals): void {
  process.kill(checked(pid), signal);
}

/** To the group that this process leads. @throws {Error} when it is no number of a process. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  process.kill(-checked(pid), signal);
}

/** @returns the number that a file holds. @throws {Error} when it is no number of a process. */
export const pidFrom = (text: string): number => checked(Number(text));

function checked(pid: number | undefined): number {
  if (pid === undefined || !Number.isInteger(pid) || pid < 2) throw new Error(`${pid} is no process`);
  return pid;
}
