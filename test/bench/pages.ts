/**
 * Pages of the site. The first request of each page renders it: its CPU time, compression included, as a mean over many
 * pages of its kind that nobody asked for before. A page that was asked for twice comes out of the response cache: beside bare node:http with the same bytes. And how
 * many bytes a visitor's browser loads for it.
 */
import { compareWithBare } from './comparisons.ts';
import { fetchWhole } from './http-client.ts';
import type { Gateway } from './processes.ts';
import type { Row, Skipped } from './report.ts';
import type { OpenSnapshot, Session } from './session.ts';

const FIRST_AT_MOST_MS = 8;
const CACHED_AT_LEAST = 0.6;
const BYTES_AT_MOST_KB = 60;
const ROUNDS = 3;
/** Pages of a kind in a round. */
const PAGES = 60;
/** Pages of a kind that are asked for before the measure. */
const FIRST_USES = 5;
const BROTLI = { 'accept-encoding': 'br' };

interface Kind {
  name: string;
  paths: readonly string[];
}

function kindsOf({ catalogue: { indicators, countries, topics } }: OpenSnapshot): Kind[] {
  const spread = <Item>(items: readonly Item[], path: (item: Item) => string): string[] => {
    const step = Math.max(1, Math.floor(items.length / (PAGES * ROUNDS)));
    return items.filter((_, at) => at % step === 0).map(path);
  };
  const codes = countries.map(({ iso3 }) => iso3);
  return [
    { name: 'indicator', paths: spread(indicators, ({ record }) => `/indicators/${record.id}`) },
    { name: 'country', paths: spread(codes, (code) => `/countries/${code}`) },
    {
      name: 'country and topic',
      paths: spread(
        codes,
        (code) => `/countries/${code}/${topics[code.charCodeAt(0) % topics.length]?.slug ?? ''}`,
      ),
    },
    {
      name: 'search',
      paths: spread(
        indicators,
        ({ record }) => `/indicators?q=${encodeURIComponent(record.name.slice(0, 12))}`,
      ),
    },
  ];
}

/** Mean CPU time of one first request, by round. */
async function firstRequests(session: Session, { name, paths }: Kind): Promise<Row> {
  const rounds: number[] = [];
  await using gateway = await session.gateway();
  // Templates are compiled at their first use.
  for (const path of paths.slice(0, FIRST_USES)) await fetchWhole(gateway.port, { path, headers: BROTLI });
  for (let round = 0; round < ROUNDS; round++) {
    const asked = paths.slice(FIRST_USES).filter((_, at) => at % ROUNDS === round);
    const before = (await gateway.cpu()) ?? Number.NaN;
    for (const path of asked) {
      const { status } = await fetchWhole(gateway.port, { path, headers: BROTLI });
      if (status !== 200) throw new Error(`${path} answered ${status}`);
    }
    rounds.push((((await gateway.cpu()) ?? Number.NaN) - before) / asked.length);
  }
  return {
    name: `first request of a page: ${name}, CPU time`,
    measured: { unit: 'ms', rounds },
    goal: { at: 'most', bound: FIRST_AT_MOST_MS },
  };
}

const LOADED = /(?:src|<link rel="(?:icon|stylesheet)" href|<use href)="(\/[^"#]+)/g;

/** The page and everything that it names, compressed. */
async function bytesOf({ port }: Gateway, path: string): Promise<number> {
  const plain = (
    await fetchWhole(port, { path, headers: { 'accept-encoding': 'identity' } })
  ).body.toString();
  const files = new Set([...plain.matchAll(LOADED)].map(([, file]) => String(file)));
  const sizes = await Promise.all(
    [path, ...files].map(
      async (each) => (await fetchWhole(port, { path: each, headers: BROTLI })).body.length,
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0) / 1000;
}

export async function pageRows(session: Session): Promise<(Row | Skipped)[]> {
  const kinds = kindsOf(await session.snapshot());
  session.say('pages: first requests');
  const rows: (Row | Skipped)[] = [];
  for (const kind of kinds) rows.push(await firstRequests(session, kind));
  await using gateway = await session.gateway();
  const known = [{ name: 'home', paths: ['/'] }, ...kinds];
  for (const { name, paths } of known) {
    const [path = '/'] = paths;
    const measured = {
      name: `cached page: ${name}, br`,
      call: { path, headers: BROTLI },
      atLeast: CACHED_AT_LEAST,
    };
    rows.push(...(await compareWithBare(session, gateway, measured)));
  }
  for (const { name, paths } of known) {
    const sizes = [];
    for (const path of paths.slice(0, PAGES)) sizes.push(await bytesOf(gateway, path));
    rows.push({
      name: `bytes of a page with everything on it: ${name}, the largest of ${sizes.length}`,
      measured: { unit: 'kB', rounds: [Math.max(...sizes)] },
      goal: { at: 'most', bound: BYTES_AT_MOST_KB },
    });
  }
  return rows;
}
