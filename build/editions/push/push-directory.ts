/** Pushes to a directory: a mounted disk, or the document root of a web server. */
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { replaceFile } from '../../../data/runtime/durable-files.ts';
import type { PushTarget } from './push.ts';

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

export class DirectoryTarget implements PushTarget {
  readonly name: string;

  constructor(directory: string) {
    this.name = directory;
  }

  async list(folder: string): Promise<Map<string, number>> {
    const root = join(this.name, folder);
    const entries = await readdir(root, { withFileTypes: true, recursive: true }).catch((error: unknown) => {
      if (isAbsent(error)) return [];
      throw error;
    });
    const sizes = new Map<string, number>();
    for (const entry of entries) {
      if (!entry.isFile() || entry.name.endsWith('.tmp')) continue;
      const file = join(entry.parentPath, entry.name);
      sizes.set(relative(this.name, file).replaceAll(sep, '/'), (await stat(file)).size);
    }
    return sizes;
  }

  read(path: string): Promise<Buffer | null> {
    return readFile(join(this.name, path)).catch((error: unknown) => {
      if (isAbsent(error)) return null;
      throw error;
    });
  }

  async write(path: string, content: Buffer): Promise<void> {
    const file = join(this.name, path);
    await mkdir(dirname(file), { recursive: true });
    await replaceFile(file, content);
  }

  async remove(path: string): Promise<void> {
    await rm(join(this.name, path), { force: true });
  }

  close(): void {}
}
