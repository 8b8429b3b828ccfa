/** One run of the bench: build, starts, throughput against the floors, cold queries. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CATALOGUE, type CatalogueIndex, CURRENT_POINTER } from '../../data/schema/snapshot.ts';
import { type ColdSlice, coldRows } from './cold.ts';
import { cachedContests, keyedCalls, keyedContests } from './contests.ts';
import { buildRows, startRows } from './lifecycle.ts';
import { nightRows } from './night.ts';
import { type Environment, type Gateway, runNode, startGateway, startHelper } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import { throughput } from './throughput.ts';

const COLD_INDICATORS = 400;
const COUNTRIES = ['BRA', 'IND', 'SWE'];
const YEARS = 20;
const CREDITS = 1_000_000_000_000;
/** Rate limits that no round can reach. */
const UNLIMITED: Environment = Object.fromEntries(
  ['ANONYMOUS', 'FREE', 'PAID'].flatMap((tier) => [
    [`${tier}_PER_MINUTE`, '1000000000'],
    [`${tier}_PER_DAY`, '1000000000'],
  ]),
);

interface Account {
  account_id: string;
  key: string;
  key_id: string;
}

async function openAccount(settings: Environment): Promise<Account> {
  const account = async (...words: string[]) =>
    JSON.parse((await runNode('gateway/account/main.ts', [...words, '--json'], settings)).stdout);
  const email = ['--email', 'bench@example.org'];
  const { account_id } = await account('create', ...email, '--verified', '--credits', String(CREDITS));
  const { key, key_id } = await account('key', ...email);
  return { account_id, key, key_id };
}

async function currentSnapshot(dir: string): Promise<{ dir: string; catalogue: CatalogueIndex }> {
  const id = (await readFile(join(dir, CURRENT_POINTER), 'utf8')).trim();
  return { dir: join(dir, id), catalogue: JSON.parse(await readFile(join(dir, id, CATALOGUE), 'utf8')) };
}

/** Widely covered indicators first: their slices are the largest. */
function slices(catalogue: CatalogueIndex): ColdSlice[] {
  return catalogue.indicators
    .flatMap(({ record }) => (record.access_tier === 'open' && record.coverage ? [record] : []))
    .toSorted((a, b) => (b.coverage?.n_countries ?? 0) - (a.coverage?.n_countries ?? 0))
    .slice(0, COLD_INDICATORS)
    .map(({ id, coverage }) => {
      const to = coverage?.latest_year ?? 0;
      return { indicator: id, countries: COUNTRIES, from: to - YEARS + 1, to };
    });
}

/**
 * Measures everything with data under `dir` and the Redis at `redisUrl`, a `unix://` address. What it starts for the
 * whole run is left on `stack` to be ended by the caller.
 */
export async function measure(
  dir: string,
  redisUrl: string,
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<(Row | Skipped)[]> {
  const settings: Environment = {
    ...UNLIMITED,
    VAR_DIR: dir,
    SNAPSHOT_DIR: join(dir, 'snapshots'),
    REDIS_URL: redisUrl,
    LOG_LEVEL: 'fatal',
  };
  const rows = await buildRows(settings, say);
  rows.push(...(await nightRows(join(dir, 'night'), settings, say)));
  say('starting the gateway');
  rows.push(...(await startRows(settings)));

  const account = await openAccount(settings);
  const snapshot = await currentSnapshot(join(dir, 'snapshots'));
  const wide = slices(snapshot.catalogue);
  const [hot] = wide;
  if (!hot) throw new Error('the snapshot has no open indicator');

  const load = stack.use(startHelper('load.ts'));
  const floor = stack.use(startHelper('floors.ts'));
  const gateway = stack.use(await startGateway(settings));
  const { contests, nginxMissing } = await cachedContests(gateway, dir, stack);
  const socket = decodeURIComponent(new URL(redisUrl).pathname);
  contests.push(
    ...(await keyedContests(
      gateway,
      keyedCalls(snapshot.catalogue, account.key, hot),
      account,
      socket,
      floor,
    )),
  );
  for (const contest of contests) {
    say(contest.name);
    rows.push(...(await throughput(load, contest)));
  }
  if (nginxMissing)
    rows.push({ name: 'cached against nginx gzip_static', skipped: 'nginx is not installed' });
  rows.push({
    name: 'gateway: resident memory after this load',
    measured: { unit: 'MB', rounds: [(await gateway.memory()) ?? Number.NaN] },
  });

  say('cold /v1/data');
  const start = (): Promise<Gateway> => startGateway({ ...settings, HOT_CACHE_MB: '1' });
  rows.push(...(await coldRows({ start, key: account.key, load, floor, snapshotDir: snapshot.dir }, wide)));
  return rows;
}
