/**
 * Writes the starter data from a mirror: `PROVIDER_MIRROR=… node build/starter/write-starter.ts`. The mirror is a
 * directory. Copies the series of `data/starter/manifest.csv` and nothing else: rows of countries; figures, codes, names
 * and units.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Curated, loadCurated } from '../../data/curated/curated.ts';
import { createLog } from '../../data/runtime/log.ts';
import { readSettings } from '../../data/runtime/settings.ts';
import type { ProviderDefinition } from '../../data/schema/curated.ts';
import { CommandError } from '../runtime/command-error.ts';
import { openUpstream, resolveSource } from '../upstream/open-upstream.ts';
import { readManifest, type StarterSeries, starterDirectory } from './manifest.ts';
import { type Selection, type StarterWriter, writeInto } from './selection.ts';
import { writeDdf, writeFrictionless, writeGrapher } from './shapes.ts';
import { writeWorldBank } from './world-bank.ts';

/** By the connector that reads the starter data. */
const WRITERS: Readonly<Record<string, StarterWriter>> = {
  ddf: writeDdf,
  'owid-grapher': writeGrapher,
  frictionless: writeFrictionless,
  'world-bank-csv': writeWorldBank,
};

interface Job {
  curated: Curated;
  mirror: string;
  directory: string;
  signal: AbortSignal;
}

async function writeProvider(
  { curated, mirror, directory, signal }: Job,
  definition: ProviderDefinition,
  series: StarterSeries[],
): Promise<void> {
  const { id, connector, starter, places } = definition;
  if (!starter) throw new CommandError(`data/providers/${id}.yaml has no "starter"`);
  const write = WRITERS[starter.connector ?? connector];
  if (!write) throw new CommandError(`no writer for the connector of ${id}`);
  const source = resolveSource(definition, { PROVIDER_MIRROR: mirror });
  const folder = join(directory, starter.path ?? id);
  await rm(folder, { recursive: true, force: true });
  const names = new Map(curated.countries.map(({ iso3, name }) => [iso3, name]));
  const upstream = openUpstream(source, folder, signal);
  const selection: Selection = {
    definition,
    source,
    series: new Map(series.map((one) => [one.slug, one])),
    mirror: upstream,
    isCountry: (place) => curated.places.resolve(places, place).kind === 'country',
    countryName: (place) => names.get(place) ?? place,
    write: writeInto(folder),
    log: createLog({ LOG_LEVEL: 'error' }),
    signal,
  };
  await write(selection);
  await upstream.close();
}

/**
 * Writes the folders of all providers that the manifest of `curatedDir` names.
 * @throws {CommandError} for a provider without starter data; {Error} when the mirror lacks a series.
 */
export async function writeStarter(curatedDir: string, mirror: string, directory: string): Promise<void> {
  const curated = await loadCurated(curatedDir);
  const manifest = await readManifest(curatedDir);
  const job = { curated, mirror, directory, signal: new AbortController().signal };
  for (const [provider, series] of Map.groupBy(manifest, (one) => one.provider)) {
    const definition = curated.providers.get(provider);
    if (!definition) throw new CommandError(`manifest.csv: there is no provider "${provider}"`);
    await writeProvider(job, definition, series);
  }
}

if (import.meta.main) {
  const { PROVIDER_MIRROR: mirror, CURATED_DIR } = readSettings();
  if (mirror === undefined) throw new CommandError('set PROVIDER_MIRROR to a directory with upstream files');
  await writeStarter(CURATED_DIR, mirror, starterDirectory(CURATED_DIR));
}
