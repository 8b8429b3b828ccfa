/** Pushing to a real S3-compatible server, and killing the pushing process between any two uploads. */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { push } from '../../../build/editions/push/push.ts';
import { S3Target } from '../../../build/editions/push/push-s3.ts';
import { SnapshotStorage } from '../../../build/editions/snapshot-storage.ts';
import { objectPath } from '../../../data/schema/snapshot.ts';
import { stopAfterTests } from '../../after-tests.ts';
import { EditionDirectory, type Files, objectOf } from '../../edition-directory.ts';
import { type Listening, listen } from '../../listen.ts';
import { SeaweedFs } from '../../seaweedfs.ts';
import { filesOf, followInto, KEEP } from './pushed-files.ts';

const MAIN = join(import.meta.dirname, '../../../build/main.ts');
const CONFIG = { region: 'us-east-1', credentials: { accessKeyId: 'builder', secretAccessKey: 'secret' } };
const edition = (night: number): Files => ({
  'countries.json': '["the same every night"]',
  'observations/atlas.one.parquet': `figures of night ${night} `.repeat(1_000),
  'routes/indicators.json': `{"night":${night}}`,
});

let published: EditionDirectory;
let storage: SnapshotStorage;
let mirror: string;
let url: string;
let prefixes = 0;

const server = await stopAfterTests(SeaweedFs.start());
beforeEach(async () => {
  published = await EditionDirectory.create();
  storage = new SnapshotStorage(published.directory);
  mirror = await mkdtemp(join(tmpdir(), 'alm-mirror-'));
  prefixes += 1;
  url = `${server.url}/prefix ${prefixes}`.replace(' ', '-');
});
afterEach(async () => {
  await published.remove();
  await rm(mirror, { recursive: true });
});

const targetOf = (more = {}): S3Target => new S3Target(url, undefined, { ...CONFIG, ...more });

/** Follows the bucket once, as gateways do. @returns the served id; null while there is none to serve. */
async function followOnce(): Promise<string | null> {
  const { client, follower } = followInto(mirror, url, published.key.publicKey);
  await follower.check();
  const { fault } = follower;
  await client.close();
  if (fault?.startsWith('current: HTTP 404')) return null;
  expect(fault).toBeNull();
  return readFile(join(mirror, 'current'), 'utf8');
}

describe('a bucket', () => {
  it('gets what a directory gets, and a follower mirrors it', async () => {
    const id = await published.publish(edition(1));
    const target = targetOf();
    const first = await push(storage, target, KEEP);
    expect(await followOnce()).toBe(id);
    expect(await filesOf(mirror)).toEqual(await filesOf(published.directory));
    expect((await push(storage, target, KEEP)).uploaded).toEqual({ objects: 0, bytes: 0, manifests: 0 });
    await published.publish(edition(2));
    const second = await push(storage, target, KEEP);
    expect(second.uploaded.objects).toBeLessThan(first.uploaded.objects);
    await published.publish(edition(3));
    const third = await push(storage, target, { ...KEEP, removeOthers: true });
    expect(third.removed).toBe(2);
    expect((await target.list('objects')).has(objectOf('{"night":1}'))).toBe(false);
    target.close();
  });

  it('lists more objects than fit one page', async () => {
    const target = targetOf();
    const texts = Array.from({ length: 1_100 }, (_, index) => `object ${index}`);
    for (let at = 0; at < texts.length; at += 50)
      await Promise.all(
        texts.slice(at, at + 50).map((text) => {
          const sha256 = createHash('sha256').update(text).digest('hex');
          return target.write(objectPath(sha256), Buffer.from(text), sha256);
        }),
      );
    expect((await target.list('objects')).size).toBe(texts.length);
    target.close();
  });

  it('refuses an upload that arrives with other bytes', async () => {
    const target = targetOf();
    const sha256 = createHash('sha256').update('what was meant').digest('hex');
    await expect(target.write('objects/00/x', Buffer.from('what arrives'), sha256)).rejects.toThrow(
      /BadDigest/,
    );
    expect(await target.read('objects/00/x')).toBeNull();
    target.close();
  });

  it('says in a sentence what is wrong with credentials or bucket', async () => {
    await published.publish(edition(1));
    const wrong = targetOf({ credentials: { accessKeyId: 'builder', secretAccessKey: 'wrong' } });
    await expect(push(storage, wrong, KEEP)).rejects.toMatchObject({
      name: 'CommandError',
      message: expect.stringMatching(/prefix-\d+: SignatureDoesNotMatch: /),
    });
    const lost = new S3Target(`http://127.0.0.1:${server.port}/nobody`, undefined, CONFIG);
    await expect(push(storage, lost, KEEP)).rejects.toThrow(/nobody: NoSuchBucket: /);
    for (const target of [wrong, lost]) target.close();
  });
});

describe('a pushing process', () => {
  /** Forwards to the server, and calls before the n-th upload. */
  async function startProxy(onUpload: (nth: number) => void): Promise<Listening> {
    let uploads = 0;
    const proxy = createServer((incoming, response) => {
      if (incoming.method === 'PUT') {
        uploads += 1;
        onUpload(uploads);
      }
      const { method, url: path, headers } = incoming;
      const forwarded = request({ port: server.port, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      forwarded.on('error', () => response.destroy());
      incoming.on('error', () => forwarded.destroy());
      incoming.pipe(forwarded);
    });
    return listen(proxy);
  }
  /** Arguments of `env`. */
  function command(to: string, ...more: string[]): string[] {
    const directories = { VAR_DIR: published.directory, SNAPSHOT_DIR: published.directory };
    const settings = Object.entries({ ...server.environment, ...directories, LOG_LEVEL: 'silent' });
    const words = [process.execPath, MAIN, 'push', '--to', to, ...more];
    return [...settings.map(([name, value]) => `${name}=${value}`), ...words];
  }

  it('that is killed at any upload leaves what is served whole, and goes on when repeated', async () => {
    const first = await published.publish(edition(1));
    const target = targetOf();
    await push(storage, target, KEEP);
    const second = await published.publish(edition(2));
    let kills = 0;
    for (let hasEnded = false; !hasEnded; ) {
      let kill = (): void => {};
      const proxy = await startProxy((nth) => nth === 1 + (kills % 2) && kill());
      const to = url.replace(String(server.port), String(proxy.port));
      const child = spawn('env', command(to), { stdio: 'ignore' });
      kill = () => void child.kill('SIGKILL');
      const [code] = await once(child, 'exit');
      await proxy.stop();
      hasEnded = code === 0;
      const served = await followOnce();
      expect(served).toBe(hasEnded ? second : served === second ? second : first);
      if (!hasEnded) kills += 1;
      expect(kills).toBeLessThan(40);
    }
    expect(kills).toBeGreaterThan(3);
    expect(await followOnce()).toBe(second);
    expect((await target.read('current'))?.toString()).toBe(second);
    target.close();
  });

  it('prints what it did', async () => {
    const id = await published.publish(edition(1));
    const child = execFile('env', command(url, '--json'));
    let printed = '';
    child.stdout?.on('data', (text: string) => {
      printed += text;
    });
    await once(child, 'exit');
    expect(JSON.parse(printed)).toMatchObject({
      edition: id,
      target: url,
      uploaded: { manifests: 1 },
      removed: 0,
    });
  });
});
