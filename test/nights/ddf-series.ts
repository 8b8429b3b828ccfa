/** Adds, withdraws and renames series of a DDFcsv data set. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { FigureTable } from './figure-table.ts';

const resource = z.looseObject({
  path: z.string(),
  schema: z.looseObject({ fields: z.array(z.looseObject({ name: z.string() })) }),
});
const dataPackage = z.looseObject({ resources: z.array(resource) });
type Resource = z.infer<typeof resource>;

const CONCEPTS = 'ddf--concepts.csv';

export class DdfSeries {
  readonly #directory: string;
  readonly #left = new Map<string, Resource[]>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Withdraws a series: the package no longer lists its files. */
  async withdraw(slug: string): Promise<void> {
    await this.#edit((resources) => {
      const [left, kept] = [resources.filter(holds(slug)), resources.filter((one) => !holds(slug)(one))];
      if (left.length === 0) throw new RangeError(`there is no series ${slug}`);
      this.#left.set(slug, left);
      return kept;
    });
  }

  /** Adds a series that was withdrawn. */
  async add(slug: string): Promise<void> {
    const left = this.#left.get(slug) ?? [];
    await this.#edit((resources) => [...resources, ...left]);
  }

  /** Lists a series under a new slug; its figures and its name stay. */
  async rename(from: string, to: string, time_ms: number): Promise<void> {
    const concepts = await FigureTable.read(join(this.#directory, CONCEPTS));
    const known = concepts.rows.find(([concept]) => concept === from);
    if (known) concepts.rows.push([to, ...known.slice(1)]);
    await concepts.write(time_ms);
    const renamed = (name: string): string => (name === from ? to : name);
    const resources = await this.#resources();
    for (const one of resources.filter(holds(from))) {
      const table = await FigureTable.read(join(this.#directory, one.path));
      const header = table.head.at(-1) ?? [];
      header.splice(0, header.length, ...header.map(renamed));
      await table.write(time_ms);
    }
    await this.#edit((all) =>
      all.map((one) =>
        holds(from)(one)
          ? {
              ...one,
              schema: {
                ...one.schema,
                fields: one.schema.fields.map(({ name }) => ({ name: renamed(name) })),
              },
            }
          : one,
      ),
    );
  }

  async #resources(): Promise<Resource[]> {
    const text = await readFile(join(this.#directory, 'datapackage.json'), 'utf8');
    return dataPackage.parse(JSON.parse(text)).resources;
  }

  async #edit(change: (resources: Resource[]) => Resource[]): Promise<void> {
    const file = join(this.#directory, 'datapackage.json');
    const { resources, ...rest } = dataPackage.parse(JSON.parse(await readFile(file, 'utf8')));
    await writeFile(file, JSON.stringify({ ...rest, resources: change(resources) }));
  }
}

const holds =
  (slug: string) =>
  ({ schema }: Resource): boolean =>
    schema.fields.some(({ name }) => name === slug);
