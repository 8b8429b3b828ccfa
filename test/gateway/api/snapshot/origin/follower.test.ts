/** A follower and an origin that publishes, fails, cuts, lies and vanishes: what is served is always whole and proven. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { generateSigningKey, parseSigningKey } from '../../../../../data/proofs/signing-key.ts';
import { parseKey } from '../../../../../data/proofs/verify-receipt.ts';
import { NOTHING_WITHHELD, readWithheld, WITHHELD } from '../../../../../data/runtime/withheld.ts';
import { type LogEntry, manifestPath, objectPath } from '../../../../../data/schema/snapshot.ts';
import { readManifest } from '../../../../../gateway/api/snapshot/files/manifest.ts';
import type { OriginFollower } from '../../../../../gateway/api/snapshot/origin/follower.ts';
import { EditionDirectory, type Files, objectOf } from '../../../../edition-directory.ts';
import { cutInTheMiddle, type Fault, HttpOrigin, send, sendStatus } from '../../../../http-origin.ts';
import { followOrigin } from './followed.ts';

const QUICK = { idleMs: 200, slowestBytesPerS: 50_000, graceMs: 100 };
const edition = (night: number): Files => ({
  'countries.json': '["the same every night"]',
  'catalogue/atlas.json': `[${night}]`,
  'observations/atlas.one.parquet': `figures of night ${night} `.repeat(1_000),
  'observations/atlas.two.parquet': 'figures that do not change',
  'routes/indicators.json': `{"night":${night}}`,
});

let published: EditionDirectory;
let origin: HttpOrigin;
let mirror: string;
let follower: OriginFollower;
let stop: () => Promise<void>;
let publications: number;
let logged: string[];

function follow(url = origin.url, keys = [published.key.publicKey]): OriginFollower {
  const followed = followOrigin({
    url,
    token: 'secret',
    timeouts: QUICK,
    directory: mirror,
    keys: keys.map((key) => parseKey(key)),
    log: pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line).msg) }),
    onPublish: async () => {
      publications += 1;
    },
  });
  stop = followed.stop;
  return followed.follower;
}

const served = (): Promise<string | null> => readFile(join(mirror, 'current'), 'utf8').catch(() => null);
/** Paths of all files of a directory, with their content. */
async function contentOf(directory: string): Promise<Map<string, string>> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return new Map(files.map((file, index) => [file.slice(directory.length + 1), contents[index] ?? '']));
}

beforeEach(async () => {
  published = await EditionDirectory.create();
  origin = await HttpOrigin.start(published.directory);
  mirror = await mkdtemp(join(tmpdir(), 'alm-mirror-'));
  [publications, logged] = [0, []];
  follower = follow();
});
afterEach(async () => {
  await stop();
  await origin.stop();
  await published.remove();
  await rm(mirror, { recursive: true, force: true });
});

describe('a follower of a sound origin', () => {
  it('mirrors the served edition, its manifest, the log and the pointer, and calls once', async () => {
    origin.token = 'secret';
    const id = await published.publish(edition(1));
    await follower.check();
    expect(follower.fault).toBeNull();
    expect(await served()).toBe(id);
    expect(await contentOf(mirror)).toEqual(await contentOf(published.directory));
    expect(publications).toBe(1);
  });

  it('fetches of a later edition what it lacks, and of earlier ones the manifest only', async () => {
    const first = await published.publish(edition(1));
    const second = await published.publish(edition(2));
    await follower.check();
    const mirrored = await contentOf(mirror);
    expect(await served()).toBe(second);
    expect(mirrored.has(manifestPath(first))).toBe(true);
    expect(mirrored.has(objectOf(edition(1)['catalogue/atlas.json'] ?? ''))).toBe(false);
    origin.requests.length = 0;
    await published.publish(edition(3));
    await follower.check();
    const fetched = origin.requests.filter(({ path }) => path.startsWith('objects/')).map(({ path }) => path);
    expect(fetched).not.toContain(objectOf('figures that do not change'));
    expect(fetched.length).toBe(new Set(fetched).size);
    expect(fetched).toContain(objectOf(edition(3)['routes/indicators.json'] ?? ''));
  });

  it('asks with conditional requests while nothing changes', async () => {
    await published.publish(edition(1));
    await follower.check();
    origin.requests.length = 0;
    await follower.check();
    expect(origin.requests).toEqual([
      { path: 'current', status: 304 },
      { path: 'log.json', status: 304 },
      { path: 'withheld.json', status: 404 },
    ]);
  });

  it('takes an origin that refuses to tell a missing file for one that withholds nothing', async () => {
    origin.fault = (path) => (path === WITHHELD ? sendStatus(403) : undefined);
    const id = await published.publish(edition(1));
    await follower.check();
    expect([follower.fault, await served()]).toEqual([null, id]);
  });

  it('mirrors what is withheld, also while nothing else changes', async () => {
    await published.publish(edition(1));
    await follower.check();
    for (const time of ['2026-11-20T03:00:00+00:00', '2026-11-20T03:00:01+00:00']) {
      const decisions = [{ subject: 'atlas.one', reason: 'an order', withheld_at: time }];
      await published.withhold({ ...NOTHING_WITHHELD, decisions }, time);
      await follower.check();
      expect(follower.fault).toBeNull();
      expect((await readWithheld(mirror)).decisions).toEqual(decisions);
    }
  });

  it('follows a rollback: the pointer names an earlier edition of the log', async () => {
    const first = await published.publish(edition(1));
    await published.publish(edition(2));
    await follower.check();
    await published.serve(first);
    await follower.check();
    expect(await served()).toBe(first);
    expect(await contentOf(mirror)).toEqual(await contentOf(published.directory));
  });

  it('fetches a damaged list of files anew', async () => {
    const id = await published.publish(edition(1));
    await follower.check();
    const { providers } = await readManifest(published.directory, id);
    const list = join(mirror, objectPath(providers.atlas?.sha256 ?? ''));
    const sound = await readFile(list, 'utf8');
    await writeFile(list, sound.replace('{', '['));
    const second = await published.publish({ ...edition(1), 'observations/boreal.one.parquet': 'more' });
    await follower.check();
    expect(follower.fault).toBeNull();
    expect(await served()).toBe(second);
    expect(await readFile(list, 'utf8')).toBe(sound);
  });
});

describe('a follower of an origin that fails', () => {
  let before: Map<string, string>;
  let second: string;
  const changed = objectOf(edition(2)['observations/atlas.one.parquet'] ?? '');

  beforeEach(async () => {
    await published.publish(edition(1));
    await follower.check();
    before = await contentOf(mirror);
    second = await published.publish(edition(2));
  });

  /** What a gateway reads stays as it was; objects and manifests that nothing names may have come. */
  async function expectNothingServedChanged(fault: RegExp): Promise<void> {
    await follower.check();
    expect(follower.fault).toMatch(fault);
    const now = await contentOf(mirror);
    for (const [path, content] of before) expect(now.get(path)).toBe(content);
    for (const path of now.keys()) expect(path).toMatch(/^(objects\/|editions\/|current$|log\.json$)/);
    expect(publications).toBe(1);
    expect(logged.filter((line) => line === 'the origin is not followed')).toHaveLength(1);
  }

  async function expectRecovery(): Promise<void> {
    origin.fault = () => undefined;
    await follower.check();
    expect(follower.fault).toBeNull();
    expect(await served()).toBe(second);
    expect(logged.at(-1)).toBe('the origin is followed again');
  }

  const hang: Fault = (response) => void response.writeHead(200, { 'content-length': 10 }).write('1');
  const trickle: Fault = (response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'), 20);
    response.once('close', () => clearInterval(timer));
  };
  const objectFaults: [string, Fault, RegExp][] = [
    ['cuts the connection', cutInTheMiddle, /objects\//],
    ['sends the bytes of another object', send('figures that do not change'), /objects\/.+ instead of/],
    [
      'sends other bytes of the same length',
      (response, content) => send(Buffer.alloc(content?.length ?? 0, 1))(response, content),
      /another content than its name/,
    ],
    [
      'sends more than it should',
      (response, content) => send(Buffer.concat([content ?? Buffer.of(), Buffer.of(1)]))(response, content),
      /longer than/,
    ],
    ['hangs', hang, /timeout/i],
    ['sends without end', trickle, /too slow/],
    ['has lost the object', sendStatus(404), /HTTP 404/],
    ['answers with an error', sendStatus(500), /HTTP 500/],
    ['redirects', sendStatus(302, { location: 'http://127.0.0.1:1/' }), /HTTP 302/],
    [
      'compresses',
      (response, content) => send(content ?? '', { 'content-encoding': 'gzip' })(response, content),
      /encoded as gzip/,
    ],
  ];
  it.each(objectFaults)('changes nothing when it %s', async (_, fault, message) => {
    origin.fault = (path) => (path === changed ? fault : undefined);
    await expectNothingServedChanged(message);
    await expectRecovery();
  });

  it.each([
    ['the pointer', 'current'],
    ['the log', 'log.json'],
  ])('changes nothing when %s is cut, missing or endless', async (_, path) => {
    for (const fault of [cutInTheMiddle, sendStatus(404), trickle]) {
      origin.fault = (asked) => (asked === path ? fault : undefined);
      await follower.check();
      expect(follower.fault).toMatch(path);
      expect(await contentOf(mirror)).toEqual(before);
    }
    await expectRecovery();
  });

  it('changes nothing when the origin vanishes in any way, says so once, and goes on when it is back', async () => {
    const { port } = origin;
    for (const fault of [cutInTheMiddle, sendStatus(503), hang, sendStatus(502)]) {
      origin.fault = () => fault;
      await expectNothingServedChanged(/^current: /);
    }
    await origin.stop();
    await follower.check();
    await expectNothingServedChanged(/ECONNREFUSED/);
    origin = await HttpOrigin.start(published.directory, port);
    await expectRecovery();
  });

  it.each([
    ['a manifest that is not that of the log', () => manifestPath(second), '{}', /not the manifest of the/],
    ['a pointer to no edition of the log', () => 'current', '20261120T030000Z-00000000', /is not in/],
  ])('refuses %s', async (_, path, content, message) => {
    origin.fault = (asked) => (asked === path() ? send(content) : undefined);
    await expectNothingServedChanged(message);
    await expectRecovery();
  });
});

describe('a follower of an origin that lies', () => {
  beforeEach(async () => {
    await published.publish(edition(1));
    await published.publish(edition(2));
    await follower.check();
  });

  /** A manifest that the log proves may have come. */
  async function expectRefused(fault: RegExp): Promise<void> {
    const before = await contentOf(mirror);
    await follower.check();
    expect(follower.fault).toMatch(fault);
    const now = await contentOf(mirror);
    for (const path of now.keys()) if (!before.has(path) && path.startsWith('editions/')) now.delete(path);
    expect(now).toEqual(before);
  }
  const reopen = async (keys?: string[]): Promise<void> => {
    await stop();
    follower = follow(origin.url, keys);
  };

  it('refuses an older log, which is signed, too', async () => {
    const { editions } = await published.log();
    await published.serve(editions[0]?.edition ?? '');
    await published.sign(editions.slice(0, 1));
    await expectRefused(/does not extend the log of 2 editions/);
    await reopen();
    await expectRefused(/does not extend the log of 2 editions/);
  });

  it('refuses a signed log that took another way', async () => {
    const [first, second] = (await published.log()).editions;
    if (!first || !second) throw new Error('two editions were published');
    await published.sign([first, { ...second, root: first.root }, second]);
    await expectRefused(/does not extend/);
  });

  it.each<[string, Partial<LogEntry>]>([
    ['base', { base: null }],
    ['changes', { changes: { bytes: 2, sha256: 'a'.repeat(64) } }],
    [
      'number of changes',
      { changed: { atlas: { added: 1, withdrawn: 0, renamed: 0, revised: 0, redefined: 0 } } },
    ],
    ['mark', { backfilled: true }],
    ['counts', { counts: { providers: 9, indicators: 9, countries: 9, observations: 9 } }],
  ])('refuses an entry with another %s than its manifest, at first sight, too', async (_, lie) => {
    const { editions } = await published.log();
    const second = editions[1]?.edition ?? '';
    const message = new RegExp(`its entry of ${second} contradicts the manifest`);
    await published.sign(editions.map((entry, index) => (index === 1 ? { ...entry, ...lie } : entry)));
    await expectRefused(message);
    await rm(mirror, { recursive: true });
    mirror = await mkdtemp(join(tmpdir(), 'alm-mirror-'));
    await reopen();
    await follower.check();
    expect(follower.fault).toMatch(message);
    expect(await served()).toBeNull();
    await published.sign(editions);
    await follower.check();
    expect([follower.fault, await served()]).toEqual([null, second]);
  });

  it('follows a log whose first edition was found afterwards to follow from a backfilled one', async () => {
    const [first] = (await published.log()).editions;
    if (!first) throw new Error('two editions were published');
    const changes = await published.putObject(
      '{"added":[],"withdrawn":[],"renamed":[],"revised":{},"redefined":[]}',
    );
    const changed = { atlas: { added: 0, withdrawn: 0, renamed: 0, revised: 1, redefined: 0 } };
    const lineage = { base: null, changes: null, changed: {}, backfilled: true as const };
    const successor = { edition: first.edition, changes, changed };
    const served = await published.current();
    const id = await published.publish(edition(9), (manifest) => ({ ...manifest, lineage, successor }));
    await published.serve(served ?? '');
    const backfilled = (await published.log()).editions.map((entry) => {
      if (entry.edition === first.edition) return { ...entry, base: id, changes, changed };
      return entry.edition === id ? { ...entry, ...lineage } : entry;
    });
    await published.sign(backfilled.map((entry) => (entry.edition === first.edition ? first : entry)));
    await expectRefused(new RegExp(`its entry of ${first.edition} contradicts`));
    await published.sign(backfilled);
    await follower.check();
    expect(follower.fault).toBeNull();
    expect(JSON.parse((await contentOf(mirror)).get('log.json') ?? '').editions).toEqual(backfilled);
  });

  it('refuses a log that its checkpoint does not cover', async () => {
    const { editions, checkpoint } = await published.log();
    const id = await published.publish(edition(3));
    const longer = (await published.log()).editions;
    await published.write('log.json', JSON.stringify({ editions: longer, checkpoint }));
    await expectRefused(/3 editions, but its checkpoint is of 2/);
    const forged = editions.map((entry, index) => (index === 1 ? { ...entry, edition: id } : entry));
    await published.write('log.json', JSON.stringify({ editions: forged, checkpoint }));
    await expectRefused(/not those of its checkpoint/);
  });

  it('refuses a key that is not pinned, and a log without signature', async () => {
    const other = parseSigningKey(generateSigningKey('almanac.test'));
    await published.publish(edition(3));
    const { editions } = await published.log();
    await published.sign(editions, other);
    await expectRefused(/No known key has signed/);
    await reopen([other.publicKey]);
    await follower.check();
    expect(follower.fault).toBeNull();
    await published.write(
      'log.json',
      JSON.stringify({ editions: [...editions, editions[2]], checkpoint: '' }),
    );
    await expectRefused(/checkpoint/);
  });

  it('takes back nothing that is withheld, whatever the origin sends', async () => {
    const [early, time, late] = ['2026-11-20T03', '2026-11-20T04', '2026-11-20T05'].map(
      (hour) => `${hour}:00:00+00:00`,
    );
    if (!early || !time || !late) throw new Error('three times are needed');
    const decisions = [{ subject: 'atlas.one', reason: 'an order', withheld_at: time }];
    const record = { ...NOTHING_WITHHELD, decisions };
    const stranger = parseSigningKey(generateSigningKey('almanac.test'));
    await published.withhold(record, time, stranger);
    await expectRefused(/withheld.json: No known key in use has signed the note/);
    await published.withhold(record, time);
    await follower.check();
    expect(follower.fault).toBeNull();
    const lies: [RegExp, () => Promise<void>][] = [
      [/signed at .+, before the one that was seen/, () => published.withhold(NOTHING_WITHHELD, early)],
      [/another than the one that was seen/, () => published.withhold(NOTHING_WITHHELD, time)],
      [/No known key/, () => published.withhold(NOTHING_WITHHELD, late, stranger)],
      [/it is not signed/, () => published.write(WITHHELD, JSON.stringify(NOTHING_WITHHELD))],
      [/it cannot be read/, () => published.write(WITHHELD, '{')],
      [/HTTP 404/, () => rm(join(published.directory, WITHHELD))],
    ];
    for (const [message, lie] of lies) {
      await lie();
      await expectRefused(message);
      await reopen();
      await expectRefused(message);
    }
    await published.withhold(record, time);
    const { note } = await readWithheld(published.directory);
    await published.write(WITHHELD, JSON.stringify({ ...NOTHING_WITHHELD, note }));
    await expectRefused(/another content than was signed/);
    const next = parseSigningKey(generateSigningKey('almanac.test'));
    await published.withhold(record, time, next);
    await reopen([published.key.publicKey, next.publicKey]);
    await follower.check();
    expect(follower.fault).toBeNull();
    expect((await readWithheld(mirror)).decisions).toEqual(decisions);
  });

  it('accepts a rotated key when both are pinned', async () => {
    const next = parseSigningKey(generateSigningKey('almanac.test'));
    await reopen([published.key.publicKey, next.publicKey]);
    const id = await published.publish(edition(3));
    await published.sign((await published.log()).editions, next);
    await follower.check();
    expect(await served()).toBe(id);
  });

  it('sends the token only to the origin that asks, and reports a wrong one', async () => {
    origin.token = 'another';
    await expectRefused(/current: HTTP 403/);
  });
});
