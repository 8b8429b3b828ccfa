/**
 * The upstream files that the lake names for each series, on whole providers: they are the bytes of the mirror, and figures
 * changed in some files change the series that name them, and no other.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findConnector } from '../../../build/connectors/registry.ts';
import { openZip } from '../../../build/connectors/zip.ts';
import { ingestProvider } from '../../../build/ingest/ingest-provider.ts';
import { ProviderLake } from '../../../build/lake/provider-lake.ts';
import { readSources } from '../../../build/lake/sources.ts';
import { resolveSource } from '../../../build/upstream/open-upstream.ts';
import { type Curated, loadCurated } from '../../../data/curated/curated.ts';
import type { SourceFile } from '../../../data/schema/lake.ts';
import { describeWithMirror } from '../../mirror.ts';
import { silentLog } from '../../redis.ts';
import { BUILD_WITHIN_MS, buildMirror, type SharedBuild } from '../../shared-builds.ts';
import { zipOf } from '../fakes/zip.ts';

const PROVIDERS = ['gapminder', 'imf', 'owid', 'owid-datasets', 'undp', 'unicef', 'who-gho', 'world-bank'];
/** Columns with a place, a time, a part of the population or a name. */
const KEYS =
  /^(geo|country|time|year|concept|entity|code|day|(country|indicator|series) (name|code)|gho|publishstate|region|worldbankincomegroup|sex|datasource|comments)$/i;
/** In tables with further columns, the one with the figures. */
const FIGURES = ['OBS_VALUE', 'Numeric', 'estimates_start_after'];

type Digests = Record<string, string>;

/** A table with another last digit in each figure of the country that has most of them; null when no country has any. */
function withOtherFigures(csv: string, places: ReadonlySet<string>): string | null {
  const rows: string[][] = parse(csv, { bom: true, relax_column_count: true, skip_empty_lines: true });
  const headerAt = Math.max(
    0,
    rows.findIndex(([first]) => first === 'Country Name'),
  );
  const header = rows[headerAt] ?? [];
  const named = FIGURES.find((name) => header.includes(name));
  const isFigure = (cell: string, at: number): boolean =>
    /^-?[\d.]*\d(e[+-]?\d+)?$/i.test(cell) && (named ? header[at] === named : !KEYS.test(header[at] ?? ''));
  const placeOf = (row: string[]): string | undefined => row.find((cell) => places.has(cell.toLowerCase()));
  const counts = new Map<string, number>();
  for (const row of rows.slice(headerAt + 1)) {
    const place = placeOf(row);
    if (place !== undefined) counts.set(place, (counts.get(place) ?? 0) + row.filter(isFigure).length);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  if (!most || most[1] === 0) return null;
  const changed = rows.map((row, at) =>
    at > headerAt && placeOf(row) === most[0]
      ? row.map((cell, index) => (isFigure(cell, index) ? nextDigit(cell) : cell))
      : row,
  );
  return changed.map((row) => `${row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`).join('');
}

const nextDigit = (figure: string): string =>
  figure.replace(/\d(?=(e[+-]?\d+)?$)/i, (digit) => String((Number(digit) + 1) % 10));

/** The same for a file, zipped or not. */
async function otherFile(path: string, places: ReadonlySet<string>): Promise<string | Uint8Array | null> {
  if (path.endsWith('.csv')) return withOtherFigures(await readFile(path, 'utf8'), places);
  if (!path.endsWith('.zip')) return null;
  const zip = await openZip(
    (async function* () {
      yield await readFile(path);
    })(),
  );
  try {
    const [name = ''] = zip.names.filter((one) => /^(?!Metadata_).*\.csv$/.test(one));
    const body = withOtherFigures(await text(zip.stream(name)), places);
    return body === null ? null : zipOf([{ name, body }]);
  } finally {
    await zip.close();
  }
}

describeWithMirror('the upstream files of each series', (mirror) => {
  let root: string;
  let built: SharedBuild;
  let curated: Curated;
  let places: Set<string>;
  const copy = (): string => join(root, 'mirror');

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'almanac-files-'));
    curated = await loadCurated('data');
    places = new Set(curated.countries.flatMap(({ iso3, name }) => [iso3.toLowerCase(), name.toLowerCase()]));
    built = await buildMirror(mirror);
    await cp(mirror, copy(), { recursive: true, mode: constants.COPYFILE_FICLONE });
  }, BUILD_WITHIN_MS);
  afterAll(() => rm(root, { recursive: true, force: true }));

  const definitionOf = (id: string) => {
    const definition = curated.providers.get(id);
    if (!definition) throw new Error(`no provider ${id}`);
    return definition;
  };
  const pathOf = (id: string, { reference }: SourceFile, below: string): string => {
    const { base } = resolveSource(definitionOf(id), { PROVIDER_MIRROR: below });
    return join(
      base.kind === 'directory' ? base.path : '',
      decodeURIComponent(reference.replace(/\?.*$/, '')),
    );
  };

  /** The list of the current run in a lake, and its series. */
  async function readRun(
    lakeDir: string,
    id: string,
  ): Promise<{ files: SourceFile[]; digests: Digests; rows: Map<string, number> }> {
    const lake = new ProviderLake(lakeDir, id);
    const run = await lake.current();
    if (!run) throw new Error(`${id} has no run`);
    const [files = []] = await readSources([run], join(root, 'scratch'));
    const series = Object.entries(await lake.series(run));
    return {
      files,
      digests: Object.fromEntries(series.map(([slug, { digest }]) => [slug, digest])),
      rows: new Map(series.map(([slug, { rows }]) => [slug, rows])),
    };
  }

  it.each(PROVIDERS)('%s: every series names files of the mirror by their hashes', async (id) => {
    const { files, rows } = await readRun(built.lake, id);
    const fed = new Set(files.flatMap(({ series }) => series ?? []));
    expect([...rows.keys()].filter((slug) => !fed.has(slug) && rows.get(slug) !== 0)).toEqual([]);
    for (const file of files) {
      const bytes = await readFile(pathOf(id, file, mirror));
      expect([file.carried, file.bytes, file.sha256], file.reference).toEqual([
        false,
        bytes.length,
        createHash('sha256').update(bytes).digest('hex'),
      ]);
    }
  });

  /** Reads a provider from the copy of the mirror into a lake of its own. */
  async function digestsOfCopy(id: string, round: number): Promise<Digests> {
    const lakeDir = join(root, `lake-${round}`);
    const settings = { LAKE_DIR: lakeDir, LAKE_KEEP: 1, CURATED_DIR: 'data', PROVIDER_MIRROR: copy() };
    const record = await ingestProvider(
      { settings, curated, findConnector, now: Date.now, log: silentLog },
      id,
    );
    expect(record.status, record.reason ?? '').toBe('succeeded');
    return (await readRun(lakeDir, id)).digests;
  }

  it.each(PROVIDERS)(
    '%s: other figures in every second file change the series that name one of these, and no other',
    async (id) => {
      const { files, digests, rows } = await readRun(built.lake, id);
      const feeding = files.filter(({ series }) => (series ?? []).some((slug) => rows.get(slug) !== 0));
      const changedFiles = new Set<SourceFile>();
      for (const round of [0, 1]) {
        const chosen = feeding.filter((_, index) => index % 2 === round);
        const other: SourceFile[] = [];
        for (const file of chosen) {
          const content = await otherFile(pathOf(id, file, mirror), places);
          if (content === null) continue;
          await writeFile(pathOf(id, file, copy()), content);
          other.push(file);
          changedFiles.add(file);
        }
        const after = await digestsOfCopy(id, round);
        const changed = new Set(Object.keys(digests).filter((slug) => after[slug] !== digests[slug]));
        const named = new Set(other.flatMap(({ series }) => series ?? []));
        expect([...changed].filter((slug) => !named.has(slug))).toEqual([]);
        for (const { reference, series } of other) {
          const found = (series ?? []).filter((slug) => changed.has(slug));
          expect(found.length, `${reference} changed none of ${series}`).toBeGreaterThan(0);
        }
        for (const file of other) await copyFile(pathOf(id, file, mirror), pathOf(id, file, copy()));
      }
      const tables = feeding.filter(({ reference }) => !reference.endsWith('.json'));
      expect(changedFiles.size).toBeGreaterThan(0.9 * tables.length);
    },
    BUILD_WITHIN_MS,
  );
});
