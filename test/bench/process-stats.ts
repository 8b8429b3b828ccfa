/** Memory, CPU time and handles of a process and its children from /proc; null without it. */
import { readdir, readFile } from 'node:fs/promises';

/** Linux counts CPU time in 100 ticks per second. */
const TICK_MS = 10;

/** A value of /proc/PID/status, in MB. */
export async function memoryLine(pid: number | undefined, name: 'VmRSS' | 'VmHWM'): Promise<number | null> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) / 1024;
  } catch {
    return null;
  }
}

/** Process ids of a process and all its descendants. */
export async function familyOf(pid: number | undefined): Promise<number[]> {
  if (pid === undefined) return [];
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const children = text.split(' ').map(Number).filter(Boolean);
  return [pid, ...(await Promise.all(children.map(familyOf))).flat()];
}

/** CPU time of a process and its living descendants, in ms, with a resolution of 10 ms. */
export async function cpuTime(pid: number | undefined): Promise<number | null> {
  try {
    const family = await familyOf(pid);
    const times = await Promise.all(
      family.map(async (each) => cpuOfStat(await readFile(`/proc/${each}/stat`, 'utf8'))),
    );
    return times.reduce((sum, each) => sum + each, 0);
  } catch {
    return null;
  }
}

/** Open file handles, sockets included, of a process and its living descendants. */
export async function openHandles(pid: number | undefined): Promise<number | null> {
  try {
    const family = await familyOf(pid);
    const each = await Promise.all(family.map((member) => readdir(`/proc/${member}/fd`)));
    return each.reduce((sum, handles) => sum + handles.length, 0);
  } catch {
    return null;
  }
}

/** User and system time of a `stat` line, in ms. The program name may contain spaces and brackets. */
function cpuOfStat(line: string): number {
  const [, , , , , , , , , , , user, system] = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return (Number(user) + Number(system)) * TICK_MS;
}
