/** Two runs compared: their messages, recomputed another way, and the page of real runs. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareLogs } from '../../admin/routes/run-comparison.ts';
import { stopAfterTests } from '../after-tests.ts';
import { cells, type Series } from '../build/world.ts';
import { wordsOf } from './harness.ts';
import { startLiveArea } from './live-area.ts';

it('a comparison names the messages that one run logged more often, whatever their order', () => {
  const messages = fc.array(fc.constantFrom('read', 'written', 'slow', 'retried'), { maxLength: 12 });
  const lines = (all: readonly string[]) => all.map((msg) => ({ time: 't', level: 30, msg }));
  const count = (all: readonly string[], word: string) => all.filter((one) => one === word).length;
  fc.assert(
    fc.property(messages, messages, (before, after) => {
      const found = compareLogs(lines(before), lines(after));
      for (const word of ['read', 'written', 'slow', 'retried']) {
        const [old, recent] = [count(before, word), count(after, word)];
        const line = found.find(({ message }) => message === word);
        expect(line).toEqual(old === recent ? undefined : { message: word, before: old, after: recent });
      }
    }),
  );
});

const one: Series = { name: 'One', cells: cells(20) };
const withUnknown: Series = { ...one, cells: [...one.cells, ['Atlantis', 2000, 1]] };
const short = (value: number): Series => ({ name: 'Short', cells: [['FRA', 2000, value]] });
const area = await stopAfterTests(
  startLiveArea({ atlas: {} }, { atlas: { one, gone: short(1), revised: short(1) } }),
);
area.world.tomorrow();
await area.world.publish('atlas', { one: withUnknown, fresh: short(1), revised: short(2) });
await area.world.ingest('atlas');
area.world.tomorrow();
await area.world.ingest('atlas');
for (const record of area.world.records) area.reporter.onRun(record);
await area.reporter.flush();

const runIds = (): string[] => [...new Set(area.world.records.map(({ run_id }) => run_id))].sort();
const compare = (query: Record<string, string>) =>
  area.operator.get(`/admin/runs/compare?${new URLSearchParams({ subject: 'atlas', ...query })}`);

it('shows figures, series and rejected rows of two runs, the earlier first', async () => {
  const [first = '', second = ''] = runIds();
  for (const [before, after] of [
    [first, second],
    [second, first],
  ]) {
    const page = wordsOf(await compare({ before: before ?? '', after: after ?? '' }));
    expect(page).toContain(`Figure Earlier: ${first} Later: ${second} Difference Run ${first} ${second} –`);
    expect(page).toMatch(/Started (\S+ \S+) UTC (?!\1)\S+ \S+ UTC 24 h/);
    expect(page).toContain('Added: 1 series fresh : 0 → 1 row');
    expect(page).toContain('Removed: 1 series gone : 1 → 0 rows');
    expect(page).toContain('Changed: 1 series revised : 1 → 1 row');
    expect(page).toContain('Unchanged: 1 series');
    expect(page).toContain('unknown_place: 0 → 1 row');
    expect(page).toContain('Only in the later samples: Atlantis');
  }
});

it('each run that can be chosen is named by its id, its time and its state', async () => {
  const { html } = await compare({});
  const labels = [...html.matchAll(/<option value="([^"]+)"[^>]*>([^<]*)</g)];
  expect(labels).toHaveLength(2 * runIds().length);
  for (const [, id, label] of labels)
    expect(label).toMatch(
      new RegExp(`^${id}: \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d, (succeeded|unchanged)$`),
    );
});

it('takes for a run that found upstream unchanged the series of the run before it', async () => {
  const [, second = '', third = ''] = runIds();
  const page = wordsOf(await compare({ before: second, after: third }));
  expect(page).toContain('Status succeeded unchanged changed');
  expect(page).toContain('Added: none');
  expect(page).toContain('Unchanged: 3 series');
});

it('says so where the lake does not have the series', async () => {
  const [first = ''] = runIds();
  await rm(join(area.world.settings.LAKE_DIR, 'atlas', first, 'series.json'));
  expect(wordsOf(await compare({ before: first }))).toContain(
    'The lake does not have the series of both runs',
  );
});

it.each([
  [{ subject: 'nobody' }, 404],
  [{ subject: 'snapshot' }, 404],
  [{ before: 'none' }, 404],
  [{ before: '../../x', after: '..' }, 404],
])('refuses %j', async (query, status) => {
  expect((await compare(query)).status).toBe(status);
});

it('refuses to compare a run with itself', async () => {
  const [first = ''] = runIds();
  expect((await compare({ before: first, after: first })).status).toBe(422);
});
