/** What `SnapshotFiles` reads from, for tests without a store. */
import { Objects } from '../../gateway/snapshot/objects.ts';
import { ParsedObjects } from '../../gateway/snapshot/parsed-objects.ts';
import type { ObjectSource } from '../../gateway/snapshot/snapshot-files.ts';

export const objectSource = (directory: string): ObjectSource => ({
  directory,
  objects: new Objects(directory),
  parsed: new ParsedObjects(),
  onUnreadable: () => {},
});
