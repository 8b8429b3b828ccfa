/** A start on many editions, and what it reads. */
import { readFile, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { SnapshotStorage } from '../../build/editions/snapshot-storage.ts';
import { copyEditions } from './edition-copies.ts';
import type { Built } from './edition-nights.ts';
import { type Environment, startGateway } from './processes.ts';
import type { Row } from './report.ts';
import type { Session } from './session.ts';

const STARTS = 7;
const EDITIONS = 100;
/** Longer ago than any file is made, so that the file system notes the next reading. */
const NEVER_READ = new Date(0);

interface Starts {
  ready_s: number[];
  cpu_s: number[];
}

/** A start on a hundred editions beside one on a few, and what it reads. */
export async function startRows(session: Session, { storage, settings, editions }: Built): Promise<Row[]> {
  session.say('editions: starts');
  const read = await filesReadByStart(storage, settings);
  const few: Starts = { ready_s: [], cpu_s: [] };
  const many: Starts = { ready_s: [], cpu_s: [] };
  const copies = join(storage.directory, '..', 'many');
  await copyEditions(storage, copies, EDITIONS);
  for (let start = 0; start < STARTS; start += 1) {
    const both = [
      [few, storage.directory],
      [many, copies],
    ] as const;
    for (const [times, directory] of start % 2 === 0 ? both : both.toReversed()) {
      await using gateway = await startGateway({ ...settings, SNAPSHOT_DIR: directory });
      times.ready_s.push(gateway.ready_ms / 1000);
      times.cpu_s.push(((await gateway.cpu()) ?? Number.NaN) / 1000);
    }
  }
  const startsRow = (name: string, what: keyof Starts): Row => ({
    name: `${name} on ${EDITIONS} editions`,
    measured: { unit: 's', rounds: many[what] },
    floor: { name: `on ${editions.length}`, sample: { unit: 's', rounds: few[what] } },
    goal: { at: 'most', bound: 1.1 },
  });
  return [
    startsRow('start to ready', 'ready_s'),
    startsRow('CPU time of a start', 'cpu_s'),
    {
      name: 'files of single indicators and countries that a start reads',
      measured: { unit: 'files', rounds: [read] },
      goal: { at: 'most', bound: 0 },
    },
  ];
}

/** How many observation files and bodies of single indicators and countries have been read when the gateway is ready. */
async function filesReadByStart(storage: SnapshotStorage, settings: Environment): Promise<number> {
  const published = await storage.current();
  if (published === null) throw new Error('nothing is published');
  const files = { ...published.kept, ...(await storage.prerendered(published)) };
  const single = /^(observations|routes\/indicators|routes\/countries)\//;
  const objects = new Set(
    Object.entries(files).flatMap(([name, ref]) => (single.test(name) ? [storage.pathOf(ref)] : [])),
  );
  const forget = async (): Promise<void> => {
    for (const object of objects) await utimes(object, NEVER_READ, (await stat(object)).mtime);
  };
  const countRead = async (): Promise<number> => {
    const times = await Promise.all([...objects].map(async (object) => (await stat(object)).atime));
    return times.filter((atime) => atime > NEVER_READ).length;
  };
  await forget();
  for (const object of [...objects].slice(0, 1)) await readFile(object);
  if ((await countRead()) !== 1) throw new Error('the file system does not note when files are read');
  await forget();
  await using _gateway = await startGateway(settings);
  return countRead();
}
