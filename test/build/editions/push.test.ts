/** Pushing published snapshots to a target: what is visible there is whole at every moment, whatever interrupts it. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryTarget, push } from '../../../build/editions/push/push.ts';
import { parseBucketUrl } from '../../../build/editions/push/push-s3.ts';
import { rollback, SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import { NOTHING_WITHHELD, WITHHELD } from '../../../data/runtime/withheld.ts';
import { manifestPath } from '../../../data/schema/snapshot.ts';
import { EditionDirectory, type Files, objectOf } from '../../edition-directory.ts';
import { HttpOrigin } from '../../http-origin.ts';
import { filesOf, followInto, KEEP } from './pushed-files.ts';

const edition = (night: number): Files => ({
  'countries.json': '["the same every night"]',
  'observations/atlas.one.parquet': `figures of night ${night}`,
  'routes/indicators.json': `{"night":${night}}`,
});

let published: EditionDirectory;
let storage: SnapshotStorage;
let directory: string;
let target: RecordingTarget;

class Interrupted extends Error {}

/** A directory that records what is written, and can fail before or after any write. */
class RecordingTarget extends DirectoryTarget {
  readonly written: string[] = [];
  writesLeft = Number.POSITIVE_INFINITY;

  override async write(path: string, content: Buffer): Promise<void> {
    if (this.writesLeft <= 0) throw new Interrupted();
    this.writesLeft -= 1;
    await super.write(path, content);
    this.written.push(path);
  }
}

beforeEach(async () => {
  published = await EditionDirectory.create();
  storage = new SnapshotStorage(published.directory);
  directory = await mkdtemp(join(tmpdir(), 'alm-push-'));
  target = new RecordingTarget(directory);
});
afterEach(async () => {
  await published.remove();
  await rm(directory, { recursive: true, force: true });
});

describe('a push', () => {
  it('writes objects, then manifests, the log and the pointer last', async () => {
    await published.publish(edition(1));
    const id = await published.publish(edition(2));
    const summary = await push(storage, target, KEEP);
    expect(await filesOf(directory)).toEqual(await filesOf(published.directory));
    const kinds = target.written.map((path) => path.split('/')[0]);
    const [objects, manifests] = [summary.uploaded.objects, 2];
    expect(kinds).toEqual([
      ...Array(objects).fill('objects'),
      ...Array(manifests).fill('editions'),
      ...['log.json', 'current'],
    ]);
    expect(summary).toMatchObject({ edition: id, present: 0, removed: 0, uploaded: { manifests: 2 } });
  });

  it('writes what is withheld before the log, and never an earlier one over a later one', async () => {
    await published.publish(edition(1));
    await published.withhold(NOTHING_WITHHELD, '2026-11-20T03:00:01+00:00');
    await push(storage, target, KEEP);
    expect(target.written.slice(-3)).toEqual([WITHHELD, 'log.json', 'current']);
    const before = await filesOf(directory);
    await published.withhold(NOTHING_WITHHELD, '2026-11-20T03:00:00+00:00');
    const earlier = /holds a withheld.json of 2026-11-20T03:00:01\+00:00, which is newer than the one here/;
    await expect(push(storage, target, KEEP)).rejects.toThrow(earlier);
    await rm(join(published.directory, WITHHELD));
    await expect(push(storage, target, KEEP)).rejects.toThrow(earlier);
    expect(await filesOf(directory)).toEqual(before);
  });

  it('leaves out what is withheld while it is not signed', async () => {
    await published.publish(edition(1));
    await published.write(WITHHELD, JSON.stringify(NOTHING_WITHHELD));
    await push(storage, target, KEEP);
    expect(target.written).not.toContain(WITHHELD);
    expect(target.written).toContain('current');
  });

  it('uploads only what the target lacks, and nothing the second time', async () => {
    await published.publish(edition(1));
    await push(storage, target, KEEP);
    await published.publish(edition(2));
    target.written.length = 0;
    await push(storage, target, KEEP);
    expect(target.written).not.toContain(objectOf('["the same every night"]'));
    expect(target.written).toContain(objectOf('figures of night 2'));
    target.written.length = 0;
    const { uploaded } = await push(storage, target, KEEP);
    expect(uploaded).toEqual({ objects: 0, bytes: 0, manifests: 0 });
    expect(target.written).toEqual([]);
  });

  it('leaves out prerendered files of old editions, and keeps all of their kept files', async () => {
    for (const night of [1, 2, 3]) await published.publish(edition(night));
    await push(storage, target, KEEP);
    const files = await filesOf(directory);
    expect(files.has(objectOf('{"night":1}'))).toBe(false);
    expect(files.has(objectOf('{"night":2}'))).toBe(true);
    for (const night of [1, 2, 3]) expect(files.has(objectOf(`figures of night ${night}`))).toBe(true);
  });

  it('pushes the prerendered files of a served edition that is old', async () => {
    const first = await published.publish(edition(1));
    for (const night of [2, 3]) await published.publish(edition(night));
    await published.serve(first);
    await push(storage, target, KEEP);
    expect((await filesOf(directory)).get('current')).toBe(first);
    expect((await filesOf(directory)).has(objectOf('{"night":1}'))).toBe(true);
  });

  it('removes what the target no longer needs only when told to', async () => {
    for (const night of [1, 2]) await published.publish(edition(night));
    await push(storage, target, KEEP);
    await published.publish(edition(3));
    await push(storage, target, KEEP);
    expect((await filesOf(directory)).has(objectOf('{"night":1}'))).toBe(true);
    const { removed } = await push(storage, target, { ...KEEP, removeOthers: true });
    // The prerendered file of the first night, and the list that names it.
    expect(removed).toBe(2);
    const files = await filesOf(directory);
    expect(files.has(objectOf('{"night":1}'))).toBe(false);
    expect(files.has(objectOf('figures of night 1'))).toBe(true);
    expect((await push(storage, target, { ...KEEP, removeOthers: true })).uploaded.objects).toBe(0);
  });

  it('replaces a log whose first edition has a backfilled base now', async () => {
    const first = await published.publish(edition(1));
    await push(storage, target, KEEP);
    await published.publish(edition(2));
    const { editions } = await published.log();
    const linked = editions.map((entry) =>
      entry.edition === first ? { ...entry, base: editions[1]?.edition ?? null } : entry,
    );
    await published.sign(linked);
    await push(storage, target, KEEP);
    expect(await filesOf(directory)).toEqual(await filesOf(published.directory));
  });

  it('uploads an object again that has another length at the target', async () => {
    await published.publish(edition(1));
    await push(storage, target, KEEP);
    await writeFile(join(directory, objectOf('figures of night 1')), 'cut');
    await push(storage, target, KEEP);
    expect(await filesOf(directory)).toEqual(await filesOf(published.directory));
  });
});

describe('a push that cannot be carried out', () => {
  it('refuses a target whose log is not the beginning of this one', async () => {
    await published.publish(edition(1));
    await push(storage, target, KEEP);
    const other = await EditionDirectory.create();
    await other.publish(edition(5));
    const before = await filesOf(directory);
    const pushing = push(new SnapshotStorage(other.directory), target, KEEP);
    await expect(pushing).rejects.toThrow(/holds another log/);
    expect(await filesOf(directory)).toEqual(before);
    await other.remove();
  });

  it('refuses a restored directory that lacks editions of the target', async () => {
    await published.publish(edition(1));
    const restored = await mkdtemp(join(tmpdir(), 'alm-restored-'));
    await cp(published.directory, restored, { recursive: true });
    await published.publish(edition(2));
    await push(storage, target, KEEP);
    await expect(push(new SnapshotStorage(restored), target, KEEP)).rejects.toThrow(/holds another log/);
    await rm(restored, { recursive: true });
  });

  it('names a damaged or missing object and a damaged manifest, and changes nothing that is visible', async () => {
    await published.publish(edition(1));
    await push(storage, target, KEEP);
    const before = await filesOf(directory);
    const second = await published.publish(edition(2));
    const object = join(published.directory, objectOf('figures of night 2'));
    await writeFile(object, 'figures of night 9');
    await expect(push(storage, target, KEEP)).rejects.toThrow(
      /observations\/atlas\.one\.parquet of \S+ is damaged/,
    );
    await rm(object);
    await expect(push(storage, target, KEEP)).rejects.toThrow(
      /observations\/atlas\.one\.parquet of \S+ is missing/,
    );
    await writeFile(object, 'figures of night 2');
    const manifest = await readFile(join(published.directory, manifestPath(second)), 'utf8');
    await published.write(manifestPath(second), manifest.replace('"runs":{}', '"runs":{"a":"b"}'));
    await expect(push(storage, target, KEEP)).rejects.toThrow(/manifest of .+ is damaged/);
    const now = await filesOf(directory);
    expect(now.get('current')).toBe(before.get('current'));
    expect(now.get('log.json')).toBe(before.get('log.json'));
  });

  it('says so when nothing is published', async () => {
    await expect(push(storage, target, KEEP)).rejects.toThrow('nothing is published yet');
  });
});

it('a push that is interrupted before any of its writes leaves a target that a follower serves, and goes on when repeated', async () => {
  await published.publish(edition(1));
  await push(storage, target, KEEP);
  const second = await published.publish(edition(2));
  const origin = await HttpOrigin.start(directory);
  const mirror = await mkdtemp(join(tmpdir(), 'alm-mirror-'));
  const { client, follower } = followInto(mirror, origin.url, published.key.publicKey);
  const whole = await mkdtemp(join(tmpdir(), 'alm-whole-'));
  const writes = (await push(storage, new DirectoryTarget(whole), KEEP)).uploaded.objects;
  let interrupted = 0;
  for (;;) {
    target.writesLeft = 1;
    const ended = await push(storage, target, KEEP).catch((error: unknown) => error);
    await follower.check();
    expect(follower.fault).toBeNull();
    if (!(ended instanceof Error)) break;
    expect(ended).toBeInstanceOf(Interrupted);
    interrupted += 1;
  }
  expect(interrupted).toBeGreaterThan(4);
  expect(interrupted).toBeLessThan(writes + 4);
  expect(await readFile(join(mirror, 'current'), 'utf8')).toBe(second);
  expect(await filesOf(directory)).toEqual(await filesOf(published.directory));
  await follower.close();
  await client.close();
  await origin.stop();
  for (const one of [mirror, whole]) await rm(one, { recursive: true });
});

it('a mirror is neither built nor rolled back in', async () => {
  const first = await published.publish(edition(1));
  await published.publish(edition(2));
  await published.write('.origin', 'https://storage.example\n');
  await expect(storage.clean()).rejects.toThrow(/follows https:\/\/storage.example: build and publish where/);
  await expect(rollback(storage, { to: first, reason: null, now_ms: 0 })).rejects.toThrow(/follows https:/);
});

describe('the URL of a bucket', () => {
  it('names server, bucket and prefix', () => {
    expect(parseBucketUrl('s3://almanac')).toEqual({ endpoint: null, bucket: 'almanac', prefix: '' });
    expect(parseBucketUrl('s3://almanac/a/b/')).toEqual({
      endpoint: null,
      bucket: 'almanac',
      prefix: 'a/b/',
    });
    expect(parseBucketUrl('http://127.0.0.1:9000/almanac/a')).toEqual({
      endpoint: 'http://127.0.0.1:9000',
      bucket: 'almanac',
      prefix: 'a/',
    });
  });

  it.each(['s3://', 'https://server/', 'https://user:secret@server/bucket', 's3://bucket?x=1'])(
    'refuses %s',
    (to) => {
      expect(() => parseBucketUrl(to)).toThrow('names no bucket');
    },
  );
});
