/** Derived rows against the same rows as they were published, and a group of one's own of 200 countries. */
import type { CatalogueIndex } from '../shown-snapshot.ts';
import { dataPath, slices } from './data-queries.ts';
import type { Row } from './report.ts';
import type { Session } from './session.ts';

const ROUNDS = 8;
const AT_LEAST = 0.7;
const MEMBERS = 200;
const GROUP_AT_MOST_MS = 30;
const SECOND_MS = 1000;

/** Filtered slices of series whose measure is decided. */
function decided(catalogue: CatalogueIndex): string[] {
  const known = new Map(
    catalogue.indicators.map(({ record, traits }) => [record.id, traits?.measured.measure]),
  );
  return slices(catalogue)
    .filter(({ indicator }) => (known.get(indicator) ?? 'other') !== 'other')
    .map(dataPath);
}

function groupPath({ indicators, countries }: CatalogueIndex): string {
  const [widest] = indicators
    .filter(({ record, traits }) => record.access_tier === 'open' && traits?.measured.aggregate === 'sum')
    .toSorted((a, b) => (b.record.coverage?.n_countries ?? 0) - (a.record.coverage?.n_countries ?? 0));
  const members = countries.slice(0, MEMBERS).map(({ iso3 }) => iso3);
  return `/v1/data?indicator=${widest?.record.id}&group=${members.join()}&latest=20`;
}

export async function derivedRows(session: Session): Promise<Row[]> {
  const { catalogue } = await session.snapshot();
  await using gateway = await session.gateway();
  const onePass = async (paths: string[]): Promise<number> =>
    (await session.ask(gateway, paths)).latency_p50_ms;
  session.say('derived rows');
  const plain = decided(catalogue);
  const derived = plain.map((path) => `${path}&transform=change`);
  const group = Array.from({ length: ROUNDS * 2 }, () => groupPath(catalogue));
  await onePass([...plain, ...derived, ...group]);
  const rounds = { plain: [] as number[], derived: [] as number[], group: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.plain.push(SECOND_MS / (await onePass(plain)));
    rounds.derived.push(SECOND_MS / (await onePass(derived)));
    rounds.group.push(await onePass(group));
  }
  return [
    {
      name: `derived /v1/data, 3 countries × 20 years of ${plain.length} indicators in turn`,
      measured: { unit: 'req/s', rounds: rounds.derived },
      floor: { name: 'the rows as published', sample: { unit: 'req/s', rounds: rounds.plain } },
      goal: { at: 'least', bound: AT_LEAST },
    },
    {
      name: `a group of one's own of ${MEMBERS} countries`,
      measured: { unit: 'ms', rounds: rounds.group },
      goal: { at: 'most', bound: GROUP_AT_MOST_MS },
    },
  ];
}
