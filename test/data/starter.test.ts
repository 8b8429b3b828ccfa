/** The files of the starter data: small, listed with source, licence and date, and free of other people's texts. */
import { createReadStream, readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCsv } from '../../build/connectors/csv.ts';
import { loadCurated } from '../../data/curated/curated.ts';
import type { CatalogueEntry } from '../../data/schema/lake.ts';
import { readStarterManifest } from '../starter-manifest.ts';

const ROOT = 'data/starter';
const LARGEST_BYTES = 10_000_000;
/** Longer than every name of an indicator, shorter than a description. */
const LONGEST_NAME = 150;
/** What a file may say besides figures. `license` and the like would be a text of the source. */
const JSON_KEYS =
  /^(name|version|created|resources|path|schema|fields|primaryKey|type|owidDisplaySettings|unit|shortUnit|chart|title|titleShort|columns|lastUpdated)$/;

const curated = await loadCurated('data');
const manifest = readStarterManifest();
const files = (await readdir(ROOT, { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));
const data = files.filter((file) => !/^data\/starter\/(README\.md|manifest\.csv)$/.test(file));
const tables = data.filter((file) => /\.(csv|csv\.gz|zip)$/.test(file));

const settingsOf = (provider: string, slug: string) =>
  curated.overlay(provider, { slug, name: '', tags: [], licence: null } as unknown as CatalogueEntry);
const definitionOf = (provider: string) => {
  const definition = curated.providers.get(provider);
  if (!definition) throw new Error(`no provider ${provider}`);
  return definition;
};

describe('the starter data', () => {
  it('have at most 10 MB', async () => {
    const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(LARGEST_BYTES);
  });

  it('hold at least 150 indicators of at least five providers, each listed with source, licence and date', () => {
    expect(manifest.length).toBeGreaterThanOrEqual(150);
    const providers = new Set(manifest.map(({ provider }) => provider));
    expect(providers.size).toBeGreaterThanOrEqual(5);
    const withStarter = [...curated.providers.values()].filter(({ starter }) => starter);
    expect([...providers].toSorted()).toEqual(withStarter.map(({ id }) => id).toSorted());
    for (const { indicator, source, retrieved } of manifest) {
      expect(source, indicator).toMatch(/\w/);
      expect(retrieved < '2026-12', indicator).toBe(true);
    }
  });

  it('hold only what may be redistributed, under the licence that the curated data state', () => {
    for (const { indicator, provider, slug, licence } of manifest) {
      const [definition, settings] = [definitionOf(provider), settingsOf(provider, slug)];
      expect(definition.redistributable && (settings.redistributable ?? true), indicator).toBe(true);
      expect([definition.access_tier, settings.access_tier ?? 'open'], indicator).toEqual(['open', 'open']);
      expect(settings.licence ?? definition.licence, indicator).toBe(licence);
      expect(licence, indicator).toMatch(/^CC(0 1\.0| BY 4\.0| BY 3\.0 IGO)$/);
    }
  });

  it('are described in our own words', () => {
    for (const { indicator, provider, slug } of manifest) {
      const { description = '' } = settingsOf(provider, slug);
      expect(description, indicator).toMatch(/^.{20,300}\.$/);
    }
  });

  it('have a credit line for each provider in their README', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8').replaceAll(/\s+/g, ' ');
    for (const { provider, slug } of manifest) {
      const [definition, settings] = [definitionOf(provider), settingsOf(provider, slug)];
      expect(readme).toContain(settings.attribution ?? definition.attribution);
    }
  });

  it('lie in the folders of their providers and nowhere else', () => {
    const folders = new Set(data.map((file) => file.split('/')[2]));
    expect([...folders].toSorted()).toEqual(
      [...new Set(manifest.map(({ provider }) => provider))].toSorted(),
    );
  });
});

interface Table {
  file: string;
  header: string[];
  longest: number;
  /** Places of its rows. */
  places: Set<string>;
}

const PLACE_COLUMNS = ['Country Code', 'Code', 'geo', 'country', 'Entity'];
/** Lines above the header of a World Bank download. */
const PREAMBLE = 4;

async function readTable(file: string): Promise<Table> {
  const preamble = file.endsWith('.zip') ? PREAMBLE : 0;
  const { header, batches } = await openCsv(createReadStream(file), { preamble });
  const at = PLACE_COLUMNS.map((name) => header.indexOf(name)).filter((index) => index >= 0);
  const table: Table = { file, header, longest: 0, places: new Set() };
  for await (const batch of batches) {
    for (const cells of batch) {
      for (const cell of cells) table.longest = Math.max(table.longest, cell.length);
      table.places.add(at.map((index) => cells[index]).find((code) => code) ?? '');
    }
  }
  return table;
}

describe('the files of the starter data', async () => {
  const read = await Promise.all(tables.map(readTable));

  it('hold figures, codes and names, but no descriptions', () => {
    for (const { file, header, longest } of read) {
      expect(header.join('\n'), file).not.toMatch(/description|definition|^(notes?|sources?)$/im);
      expect(longest, file).toBeLessThanOrEqual(LONGEST_NAME);
    }
  });

  it('hold names, units and layouts in JSON, but no descriptions', () => {
    for (const file of data.filter((one) => one.endsWith('.json'))) {
      JSON.parse(readFileSync(file, 'utf8'), (key, value) => {
        const isColumn = /^[\d]+$|^Population - |[(%]/.test(key);
        if (key !== '' && !isColumn) expect(key, file).toMatch(JSON_KEYS);
        if (typeof value === 'string') expect(value.length, `${file} ${key}`).toBeLessThan(LONGEST_NAME);
        return value;
      });
    }
  });

  it('hold rows of listed countries only', () => {
    for (const { file, places: codes } of read.filter((one) => !one.file.includes('concepts'))) {
      const { places } = definitionOf(file.split('/')[2] ?? '');
      const others = [...codes].filter((code) => curated.places.resolve(places, code).kind !== 'country');
      expect(others, file).toEqual([]);
    }
  });
});
