/** What a closed edition computes from kept files is what the build prerendered. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Catalogue } from '../../../../gateway/api/snapshot/editions/catalogue.ts';
import { type IndicatorQuery, searchIndicators } from '../../../../gateway/api/snapshot/search/search.ts';
import { type BothWays, expectComputedAsPrerendered, openBothWays } from '../../computed-bodies.ts';
import { FIXTURE_ID, publishFixture } from '../../fixture-snapshot.ts';

let root: string;
let both: BothWays;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'alm-closed-'));
  await publishFixture(root);
  both = await openBothWays(root, FIXTURE_ID);
});
afterAll(async () => {
  both.close();
  await rm(root, { recursive: true });
});

test('every indicator and country', () => expectComputedAsPrerendered(both));

test('the catalogue, in every order, and searches of it', async () => {
  const catalogue = await both.closed.wholeCatalogue();
  const found = (of: Catalogue, query: IndicatorQuery) => searchIndicators(of, query).map(({ json }) => json);
  const tried: IndicatorQuery[] = [
    {},
    { q: 'life' },
    { sort: 'topic' },
    { sort: 'coverage', dir: 'asc' },
    { projections: true },
  ];
  for (const query of tried) expect(found(catalogue, query)).toEqual(found(both.served.catalogue, query));
});
