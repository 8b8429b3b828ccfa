/**
 * Problems in curated data, as `file:line: reason`. Readers collect them and go on, so that an editor sees all of them
 * at once.
 */
import { relative, sep } from 'node:path';

/** A position in a curated file. Lines count from 1. */
export interface Position {
  file: string;
  line: number;
}

/** Invalid curated data. The message lists every problem on its own line. */
export class CuratedError extends Error {
  override name = 'CuratedError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const noun = problems.length === 1 ? 'problem' : 'problems';
    super(`${problems.length} ${noun} in the curated data\n  ${problems.join('\n  ')}`);
    this.problems = problems;
  }
}

/** Collects problems while files are read and checked against each other. */
export class Problems {
  readonly #found: Array<Position & { reason: string }> = [];

  add(position: Position, reason: string): void {
    this.#found.push({ ...position, reason });
  }

  /** @throws {CuratedError} naming every problem, by file and then by line, when there is any. */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const ordered = this.#found.toSorted(
      (a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line,
    );
    throw new CuratedError(ordered.map(({ file, line, reason }) => `${shown(file)}:${line}: ${reason}`));
  }
}

/** A relative path below the working directory, otherwise the absolute one. */
function shown(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith(`..${sep}`) || path === '..' ? file : path;
}
