/**
 * Part of the bench: a million rows into pandas by the Python client, beside `pandas.read_parquet` of the same file on disk.
 * A published file has a goal; the answer of `/v1/data` has none, because the gateway writes it anew for each call. Processor
 * times are those of Python.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FRAMES, PACKAGE } from '../clients/python-package.ts';
import { installPackages, pythonPath } from '../python-packages.ts';
import { formatAnswers } from './format-answers.ts';
import { fetchWhole } from './http-client.ts';
import type { Gateway } from './processes.ts';
import { median, type Row, type Skipped } from './report.ts';
import type { Account, Session } from './session.ts';

const AT_LEAST = 0.8;
const ROWS = 1_000_000;

/** Of one round: by the clock, and of the processor in the process of Python. */
type Seconds = [clock: number, processor: number];

/** What `clients.py` prints of a download. */
interface Download {
  name: 'bundle' | 'data';
  rows: number;
  client: Seconds[];
  disk: Seconds[];
}

export async function clientRows(session: Session): Promise<(Row | Skipped)[]> {
  const snapshot = await session.snapshot();
  const customer = await session.customer();
  session.say('clients: Python packages');
  await installPackages(FRAMES);
  await using gateway = await session.gateway();
  const { long } = await formatAnswers(gateway, customer, snapshot);
  const providers = new Set(snapshot.catalogue.indicators.map(({ record }) => record.provider.id));
  const provider = await fittingProvider(gateway, customer, [...providers]);
  session.say('clients: a million rows into pandas');
  const directory = await mkdtemp(join(tmpdir(), 'almanac-bench-'));
  try {
    const url = `http://127.0.0.1:${gateway.port}`;
    const words = [url, customer.key, directory, provider, ...long.series.map(({ id }) => id)];
    const path = [join(PACKAGE, 'src'), pythonPath(FRAMES)].join(':');
    const program = [`PYTHONPATH=${path}`, 'PYTHONDONTWRITEBYTECODE=1', 'python3'];
    const script = new URL('clients.py', import.meta.url).pathname;
    const { stdout } = await promisify(execFile)('env', [...program, script, ...words]);
    return (JSON.parse(stdout) as Download[]).map(rowOf);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Of the provider whose bundle has about a million rows. */
async function fittingProvider(gateway: Gateway, { key }: Account, providers: string[]): Promise<string> {
  const priced: { provider: string; distance: number }[] = [];
  for (const provider of providers) {
    const path = `/v1/bundles/${encodeURIComponent(provider)}.parquet?dry_run=true`;
    const { status, body } = await fetchWhole(gateway.port, {
      path,
      headers: { authorization: `Bearer ${key}` },
    });
    if (status !== 200) continue; // nothing of it may be exported
    priced.push({ provider, distance: Math.abs(JSON.parse(body.toString()).data.rows - ROWS) });
  }
  const [nearest] = priced.toSorted((a, b) => a.distance - b.distance);
  if (nearest === undefined) throw new Error('no provider has a bundle');
  return nearest.provider;
}

function rowOf({ name, rows, client, disk }: Download): Row {
  const perSecond = (rounds: Seconds[]) => ({
    unit: 'rows/s' as const,
    rounds: rounds.map(([clock]) => rows / clock),
    cpu_us: median(rounds.map(([, processor]) => processor * 1_000_000)),
  });
  const what = name === 'bundle' ? 'the file of a provider' : 'an answer of /v1/data';
  return {
    name: `Python client into pandas: ${what}, ${rows.toLocaleString('en')} rows`,
    measured: perSecond(client),
    floor: { name: 'pandas.read_parquet of it on disk', sample: perSecond(disk) },
    ...(name === 'bundle' && { goal: { at: 'least' as const, bound: AT_LEAST } }),
  };
}
