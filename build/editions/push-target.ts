/** A place that snapshots are pushed to. */
export interface PushTarget {
  /** For messages. */
  readonly name: string;
  /** Sizes of all files below a folder, by path. */
  list(folder: string): Promise<Map<string, number>>;
  /** Null when there is no such file. */
  read(path: string): Promise<Buffer | null>;
  /**
   * Stores a file: a reader sees what was there before or the whole content.
   * @param sha256 of the content in hex, which the target checks where it can.
   */
  write(path: string, content: Buffer, sha256: string): Promise<void>;
  remove(path: string): Promise<void>;
  close(): void;
}
