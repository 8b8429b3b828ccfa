/** A disk so small that a test can fill it to the byte: a tmpfs, where this process may mount one. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILLER = '.filler';

export interface SmallDisk {
  /** Leaves about so many bytes free, whole pages. */
  fill(free_bytes: number): void;
  /** Frees what `fill` took. */
  empty(): void;
  unmount(): void;
}

/** Mounts a disk at a directory, which is made. @returns null where mounting is not permitted. */
export function mountSmallDisk(directory: string, size_bytes: number): SmallDisk | null {
  mkdirSync(directory, { recursive: true });
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${size_bytes}`, 'almanac-test', directory];
    execFileSync('mount', options, { stdio: 'ignore' });
  } catch {
    return null;
  }
  const filler = join(directory, FILLER);
  const empty = (): void => rmSync(filler, { force: true });
  return {
    empty,
    fill(free_bytes) {
      empty();
      const { bavail, bsize } = statfsSync(directory);
      const pages = bavail - Math.ceil(free_bytes / bsize);
      writeFileSync(filler, Buffer.alloc(Math.max(0, pages) * bsize, 1));
    },
    unmount: () => void execFileSync('umount', ['-l', directory], { stdio: 'ignore' }),
  };
}
