/**
 * Writes the chosen series of a provider in the shape of its upstream, one function per connector. Only figures, codes,
 * names, units and URLs are written: the descriptions of sources stay behind.
 */
import { z } from 'zod';
import { readCsvRecords } from '../connectors/csv.ts';
import { dataPackage, fieldProperty } from '../connectors/frictionless-package.ts';
import { toSlug } from '../connectors/plain-text.ts';
import { encodePath } from '../upstream/upstream.ts';
import { copyTable, csvText, gzipped, jsonText, requireAll, type StarterWriter } from './selection.ts';

const ddfPackage = z.looseObject({
  name: z.string(),
  version: z.string(),
  created: z.string(),
  resources: z.array(
    z.looseObject({
      path: z.string(),
      schema: z.object({
        fields: z.array(z.object({ name: z.string() })),
        primaryKey: z.union([z.string(), z.array(z.string())]).transform((key) => [key].flat()),
      }),
    }),
  ),
});
const ddfSource = z.looseObject({ geo: z.string(), time: z.string() });
const CONCEPT_COLUMNS = ['concept', 'name', 'concept_type', 'format', 'source_url'] as const;

/** DDFcsv: the package, its concepts, and a file of datapoints for each series. */
export const writeDdf: StarterWriter = async (selection) => {
  const { definition, series, mirror, write } = selection;
  const { geo, time } = ddfSource.parse(definition.source);
  const upstream = ddfPackage.parse(JSON.parse(await mirror.text('datapackage.json')));
  const { name, version, created } = upstream;
  const resources: object[] = [];
  const found = new Set<string>();
  for (const { path, schema } of upstream.resources) {
    const slug = schema.fields.map((field) => field.name).find((field) => series.has(field));
    if (slug === undefined || schema.primaryKey.toSorted().join() !== [geo, time].toSorted().join()) continue;
    const columns = (column: string): boolean => [geo, time, slug].includes(column);
    const table = await copyTable(selection, encodePath(path), { place: [geo], columns });
    const file = `${path}.gz`;
    await write(file, gzipped(table));
    resources.push({ path: file, schema });
    found.add(slug);
  }
  requireAll(selection, found);
  const concepts: string[][] = [];
  for await (const record of readCsvRecords(await mirror.stream('ddf--concepts.csv'))) {
    const { concept = '' } = record;
    if (series.has(concept) || concept === geo || concept === time)
      concepts.push(CONCEPT_COLUMNS.map((column) => record[column] ?? ''));
  }
  await write('ddf--concepts.csv', csvText([[...CONCEPT_COLUMNS], ...concepts]));
  const schema = { fields: CONCEPT_COLUMNS.map((column) => ({ name: column })), primaryKey: ['concept'] };
  resources.unshift({ path: 'ddf--concepts.csv', schema });
  await write('datapackage.json', jsonText({ name, version, created, resources }));
};

const grapherCharts = z.looseObject({
  charts: z.array(z.union([z.string(), z.looseObject({ chart: z.string(), slug: z.string() })])),
});
const grapherMetadata = z.looseObject({
  chart: z.looseObject({ title: z.string() }),
  columns: z.record(
    z.string(),
    z.looseObject({
      titleShort: z.string(),
      unit: z.string(),
      shortUnit: z.string().optional(),
      lastUpdated: z.string(),
    }),
  ),
});
const GRAPHER_KEYS = ['Entity', 'Code', 'Year'];
const PROJECTED = / \(Projected\)$/;

/** Our World in Data's charts: the columns of the chosen series and their projections, with the names and units. */
export const writeGrapher: StarterWriter = async (selection) => {
  const { definition, series, mirror, write } = selection;
  const found = new Set<string>();
  for (const one of grapherCharts.parse(definition.starter?.source).charts) {
    const { chart, slug } = typeof one === 'string' ? { chart: one, slug: one } : one;
    const slugOf = (column: string): string =>
      series.has(slug) ? slug : `${slug}-${toSlug(column.replace(PROJECTED, ''))}`;
    const isChosen = (column: string): boolean => series.has(slugOf(column));
    const columns = (column: string): boolean => GRAPHER_KEYS.includes(column) || isChosen(column);
    const table = await copyTable(selection, `${chart}.csv`, { place: ['Code', 'Entity'], columns });
    await write(`${chart}.csv.gz`, gzipped(table));
    const [header = ''] = table.split('\n', 1);
    const kept = header.split(',').filter((column) => !GRAPHER_KEYS.includes(column));
    for (const column of kept) found.add(slugOf(column));
    const metadata = grapherMetadata.parse(JSON.parse(await mirror.text(`${chart}.metadata.json`)));
    const described = Object.entries(metadata.columns).map(
      ([key, { titleShort, unit, shortUnit, lastUpdated }]) => [
        key,
        { titleShort, unit, shortUnit, lastUpdated },
      ],
    );
    const names = { chart: { title: metadata.chart.title }, columns: Object.fromEntries(described) };
    await write(`${chart}.metadata.json`, jsonText(names));
  }
  requireAll(selection, found);
};

const frictionlessPackages = z.looseObject({
  place: z.array(z.string()),
  packages: z.array(z.looseObject({ path: z.string() })),
});

/** Frictionless packages: each whole, with the names and units of its fields. */
export const writeFrictionless: StarterWriter = async (selection) => {
  const { definition, mirror, write } = selection;
  const source = { ...definition.source, ...definition.starter?.source };
  const { place, packages } = frictionlessPackages.parse(source);
  for (const { path: folder } of packages) {
    const upstream = dataPackage.parse(
      JSON.parse(await mirror.text(encodePath(`${folder}/datapackage.json`))),
    );
    const path = [upstream.resources[0]?.path ?? []].flat()[0] ?? '';
    const table = await copyTable(selection, encodePath(`${folder}/${path}`), { place, columns: () => true });
    await write(`${folder}/${path}.gz`, gzipped(table));
    const fields = (upstream.resources[0]?.schema?.fields ?? []).map((field) => {
      const own = (property: string): string | undefined =>
        fieldProperty(field, `owidDisplaySettings.${property}`) ?? undefined;
      return {
        name: field.name,
        type: field.type,
        owidDisplaySettings: { unit: own('unit'), name: own('name') },
      };
    });
    const resources = [{ path: `${path}.gz`, schema: { fields } }];
    await write(`${folder}/datapackage.json`, jsonText({ name: upstream.name, resources }));
  }
};
