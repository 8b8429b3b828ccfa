/** What `SnapshotFiles` reads from, for tests without a store. */
import { ParsedObjects } from '../../gateway/api/snapshot/files/memory.ts';
import type { ObjectSource } from '../../gateway/api/snapshot/files/snapshot-files.ts';
import { Objects } from '../../gateway/api/snapshot/files/snapshot-files.ts';

export const objectSource = (directory: string): ObjectSource => ({
  directory,
  objects: new Objects(directory),
  parsed: new ParsedObjects(),
  onUnreadable: () => {},
});
