/** Mirror directories: references, containment, limits, change detection. */
import { mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { DirectoryUpstream } from '../../../build/upstream/directory-upstream.ts';
import { directoryOfTest } from '../../after-tests.ts';

let directory: string;
let root: string;
beforeEach(async () => {
  directory = await directoryOfTest();
  root = join(directory, 'mirror');
  await mkdir(join(root, 'some name'), { recursive: true });
  await writeFile(join(root, 'some name', 'é.csv'), 'content');
  await writeFile(join(directory, 'secret'), 'secret');
});

const open = (maxFileBytes = 1000, signal = new AbortController().signal): DirectoryUpstream =>
  new DirectoryUpstream(root, { maxFileBytes, signal });

describe('a mirror directory', () => {
  it('decodes relative URLs and ignores their query', async () => {
    const upstream = open();
    expect(await upstream.text('some%20name/%C3%A9.csv?page=1')).toBe('content');
    const chunks: Uint8Array[] = [];
    for await (const chunk of await upstream.stream('some%20name/%C3%A9.csv')) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('content');
    expect(upstream.bytes).toBe(14);
  });

  it.each([
    '../secret',
    '%2e%2e/secret',
    'a/../../secret',
    '/etc/passwd',
    'file:///etc/passwd',
    '..%5csecret',
    '',
    '%zz',
    'a%00b',
  ])('refuses %j', async (reference) => {
    await expect(open().text(reference)).rejects.toThrow(/does not name a file|is not a relative URL/);
  });

  it('refuses a symbolic link to a file outside', async () => {
    await symlink(join(directory, 'secret'), join(root, 'link'));
    await expect(open().text('link')).rejects.toThrow('is outside the mirror');
  });

  it('reports a missing file as 404, and a file that is too large', async () => {
    await expect(open().text('gone.csv')).rejects.toMatchObject({ status: 404 });
    await expect(open(3).text('some%20name/%C3%A9.csv')).rejects.toThrow('too large');
  });

  it('detects changed size or time, and a missing file that appears', async () => {
    const upstream = open();
    await upstream.text('some%20name/%C3%A9.csv');
    await upstream.text('later.csv').catch(() => {});
    const known = upstream.fetched();
    expect(await open().unchanged(known)).toBe(true);
    await writeFile(join(root, 'later.csv'), 'x');
    expect(await open().unchanged(known)).toBe(false);
    await rm(join(root, 'later.csv'));
    await utimes(join(root, 'some name', 'é.csv'), 1, 1);
    expect(await open().unchanged(known)).toBe(false);
    expect(await open().unchanged([])).toBe(false);
  });

  it('stops when cancelled', async () => {
    await expect(
      open(1000, AbortSignal.abort(new Error('enough'))).text('some%20name/%C3%A9.csv'),
    ).rejects.toThrow('enough');
  });
});
