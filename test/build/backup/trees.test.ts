/** A directory that changes during a copy is copied as it was at one moment. */
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { backupTrees, Copier, copyConsistently, listTree, type Tree } from '../../../build/backup/trees.ts';
import { directoryOfTest } from '../../after-tests.ts';
import { contents, settingsIn, writeFiles } from './backup-fixture.ts';

/** Does something after the first file that it copies. */
class Interrupted extends Copier {
  #interrupt: (() => Promise<void>) | null;

  constructor(interrupt: () => Promise<void>) {
    super();
    this.#interrupt = interrupt;
  }

  override async copy(from: string, to: string): Promise<boolean> {
    const copied = await super.copy(from, to);
    const interrupt = this.#interrupt;
    this.#interrupt = null;
    await interrupt?.();
    return copied;
  }
}

it('copies a tree consistently while files are published, replaced and removed', async () => {
  const dir = await directoryOfTest();
  const [home, copy] = [settingsIn(join(dir, 'home')), settingsIn(join(dir, 'copy'))];
  await writeFiles(home.VAR_DIR, {
    'snapshots/one/manifest.json': '1',
    'snapshots/one/data': 'old',
    'snapshots/current': 'one',
  });
  const tree = backupTrees(home).find(({ name }) => name === 'snapshots') as Tree;
  const copier = new Interrupted(async () => {
    await writeFiles(home.VAR_DIR, {
      'snapshots/.building/manifest.json': '2',
      'snapshots/.building/data': 'new',
      'snapshots/current.tmp': 'two',
    });
    await rename(join(tree.directory, '.building'), join(tree.directory, 'two'));
    await rename(join(tree.directory, 'current.tmp'), join(tree.directory, 'current'));
    await rm(join(tree.directory, 'one'), { recursive: true });
  });
  const paths = await copyConsistently(tree, copy.SNAPSHOT_DIR, copier);
  expect(paths.sort()).toEqual(['current', 'two/data', 'two/manifest.json']);
  expect(await contents(copy)).toEqual(await contents(home));
  const copied = { ...tree, directory: copy.SNAPSHOT_DIR };
  expect([...(await listTree(copied)).keys()].sort()).toEqual(paths);
  expect((await stat(join(copy.SNAPSHOT_DIR, 'current'))).size).toBe(3);
});
