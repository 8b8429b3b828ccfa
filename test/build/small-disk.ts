/** A small tmpfs that a test can fill to the byte, where it may be mounted. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILLER = '.filler';

export interface SmallDisk {
  /** Leaves about this many bytes free, in whole pages. */
  fill(free_bytes: number): void;
  /** Frees the space that `fill` took. */
  empty(): void;
  unmount(): void;
}

/** Creates a directory and mounts a disk there. @returns null where mounting is not permitted. */
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
