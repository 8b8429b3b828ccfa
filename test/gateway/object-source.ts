/** What `SnapshotFiles` reads from, for tests without a store. */
import { Objects } from '../../gateway/api/snapshot/files/objects.ts';
import { ParsedObjects } from '../../gateway/api/snapshot/files/parsed-objects.ts';
import type { ObjectSource } from '../../gateway/api/snapshot/files/snapshot-files.ts';

export const objectSource = (directory: string): ObjectSource => ({
  directory,
  objects: new Objects(directory),
  parsed: new ParsedObjects(),
  onUnreadable: () => {},
});
