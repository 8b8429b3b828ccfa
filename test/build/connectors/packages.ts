/** Frictionless packages for tests. */
import { frictionless } from '../../../build/connectors/frictionless.ts';
import { memoryUpstream, readAll } from './read-connector.ts';

export interface PackageOptions {
  fields: (string | object)[];
  more?: object;
  resource?: object;
}

/** A `datapackage.json` with one table. */
export const describePackage = ({ fields, more = {}, resource = {} }: PackageOptions): string =>
  JSON.stringify({
    name: 'pack',
    title: 'The package',
    resources: [
      {
        path: 'data.csv',
        schema: {
          fields: fields.map((field) => (typeof field === 'string' ? { name: field, type: 'any' } : field)),
        },
        ...resource,
      },
    ],
    ...more,
  });

/** Reads packages from files in memory. */
export const readPackages = (files: Record<string, string | Uint8Array>, settings: object = {}) =>
  readAll(frictionless, settings, memoryUpstream(files));
