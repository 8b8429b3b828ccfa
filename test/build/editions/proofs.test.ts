/** The trees of published editions, computed again from what another Parquet reader finds in the published files. */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { proveEdition } from '../../../build/editions/proofs.ts';
import { DuckSession } from '../../../build/runtime/duckdb.ts';
import { descriptorOf, MerkleTree } from '../../../data/proofs/merkle-tree.ts';
import { canonicalJson, parseKeys, readCheckpoint } from '../../../data/proofs/verify-receipt.ts';
import { proofsFile, providerProofs } from '../../../data/schema/proofs.ts';
import { observationsFile } from '../../../data/schema/snapshot.ts';
import { readKept } from '../../shown-snapshot.ts';
import { query, readObservations } from '../parquet-readers.ts';
import { cells, makeSeries, World } from '../world.ts';

let world: World;
beforeEach(async () => {
  world = await World.ofTest({ globe: {} });
});

const night = async (factor: number): Promise<void> => {
  const unit = factor === 1 ? 'kg' : 't';
  await world.define('atlas', { future_years: 'projected', indicators: { same: { unit }, many: { unit } } });
  await world.publish('atlas', {
    many: { cells: cells(9, (place, year) => place / 3 + year) },
    one: { cells: [['FRA', 2001, -0.25 * factor]] },
    same: { cells: [...cells(7), ['USA', 2050, 1e21]] },
  });
  await world.publish('globe', {
    other: makeSeries(['DEU', 2000, 3], ['DEU', 2001, '']),
  });
  for (const id of ['atlas', 'globe']) {
    const run = await world.ingest(id);
    expect(['succeeded', 'unchanged']).toContain(run.status);
  }
  await world.build();
};

/** Roots of the served edition's indicators, from its observations. */
async function rootsAnew(): Promise<{ indicator: string; rows: number; root: string }[]> {
  const { directory, kept } = await world.served();
  const leaves = [];
  const observed = Object.keys(kept).filter((name) => name.startsWith('observations/'));
  for (const name of observed.sort()) {
    const indicator = name.slice('observations/'.length, -'.parquet'.length);
    const provider = indicator.slice(0, indicator.indexOf('.'));
    const proofs = providerProofs.parse(await readKept({ directory }, proofsFile(provider)));
    const descriptor = descriptorOf(provider, proofs, indicator);
    if (!descriptor) throw new Error(`no proof of ${indicator}`);
    const rows = await readObservations(join(directory, observationsFile(indicator)));
    const texts = rows.map(({ iso3, year, value, ci_lo, ci_hi, status, projected }) =>
      JSON.stringify({ ci_hi, ci_lo, iso3, projected, status, value, year }),
    );
    const { root } = MerkleTree.of([canonicalJson(JSON.parse(JSON.stringify(descriptor))), ...texts]);
    expect(proofs.indicators[indicator]).toMatchObject({ rows: rows.length, root: root.toString('hex') });
    leaves.push({ indicator, rows: rows.length, root: root.toString('hex') });
  }
  return leaves;
}

describe('the trees of an edition', () => {
  it('are those of its rows, also where their files are reused, and the log is signed', async () => {
    // Second night: other figures in one series, another unit in two others. Third: as the first.
    for (const [count, factor] of [1, 2, 1].entries()) {
      await night(factor);
      const { editions, checkpoint } = await world.snapshots.log();
      expect(editions).toHaveLength(count + 1);
      const leaves = await rootsAnew();
      expect(leaves).toHaveLength(4);
      const root = MerkleTree.of(leaves.map((leaf) => canonicalJson(leaf))).root.toString('hex');
      expect(editions.at(-1)).toMatchObject({ root, indicators: 4 });
      const log = MerkleTree.of(
        editions.map(({ edition, published_at, indicators, root: own, manifest }) =>
          canonicalJson({ edition, published_at, indicators, root: own, manifest }),
        ),
      );
      const keys = parseKeys(await readFile(join(world.settings.SNAPSHOT_DIR, 'keys.json'), 'utf8'));
      expect(readCheckpoint(checkpoint, keys)).toMatchObject({ size: count + 1, root: log.root });
      world.tomorrow();
    }
  });

  it.each(["('DEU', 2000), ('DEU', 2000)", "('DEU', 2001), ('DEU', 2000)", "('FRA', 2000), ('DEU', 2001)"])(
    'are not made of two rows of a country and year, nor of rows in another order: %s',
    async (rows) => {
      const directory = join(world.settings.VAR_DIR, 'twice');
      const indicator = { id: 'atlas.twice', providerId: 'atlas', record: { unit: 'kg' }, files: [] };
      const file = join(directory, observationsFile(indicator.id));
      await mkdir(dirname(file), { recursive: true });
      await query(
        `COPY (SELECT *, 1.5 AS value, NULL::DOUBLE AS ci_lo, NULL::DOUBLE AS ci_hi, NULL::VARCHAR AS status, false AS projected
        FROM (VALUES ${rows}) AS cells(iso3, year)) TO '${file}' (FORMAT parquet)`,
      );
      const duck = await DuckSession.open({ scratch: join(directory, 'scratch') });
      const proving = proveEdition(duck, directory, [indicator], () => {});
      await expect(proving).rejects.toThrow('atlas.twice has two rows of');
      await duck.close();
    },
  );

  it('publish nothing new where nothing changed', async () => {
    await night(1);
    world.tomorrow();
    await night(1);
    expect((await world.snapshots.log()).editions).toHaveLength(1);
  });
});
