/**
 * GET /{indicators|providers|editions}/{id}/datapackage.json and croissant.json: what it holds, for software that loads it.
 */
import { z } from 'zod';
import { CROISSANT_TYPE, croissant } from '../../encoders/documents/croissant.ts';
import type { DataSet } from '../../encoders/documents/data-set.ts';
import { DATAPACKAGE_TYPE, dataPackage } from '../../encoders/documents/datapackage.ts';
import type { Operation } from '../operation.ts';
import { SUBJECTS } from './cited-subjects.ts';
import { describeDataSet } from './data-sets.ts';
import { documentOf, type SubjectDocument } from './subject-documents.ts';

type Form = Omit<SubjectDocument, 'write'> & { write(set: DataSet): string };

const FORMS: readonly Form[] = [
  {
    file: 'datapackage.json',
    name: 'Datapackage',
    summary: ['Data package of', 'for Frictionless software'],
    description:
      'A Data Package (version 2) of the downloads, with columns, units, licences and sources. The records of the indicators are in ' +
      'the package itself; of a display-only indicator there is nothing else.',
    mediaType: DATAPACKAGE_TYPE,
    answer: z.looseObject({
      $schema: z.string(),
      name: z.string(),
      title: z.string(),
      version: z.string().describe('Id of the snapshot'),
      resources: z.array(z.looseObject({ name: z.string(), title: z.string() })),
    }),
    write: dataPackage,
  },
  {
    file: 'croissant.json',
    name: 'Croissant',
    summary: ['Description of', 'for machine learning'],
    description:
      'Croissant 1.1 over schema.org/Dataset, in JSON-LD: licence, authors, how to cite it, and the Parquet files with their hashes ' +
      'and columns. A display-only indicator has no files.',
    mediaType: CROISSANT_TYPE,
    answer: z.looseObject({
      '@context': z.looseObject({}),
      '@type': z.string(),
      name: z.string(),
      version: z.string().describe('Id of the snapshot'),
      distribution: z.array(z.looseObject({ contentUrl: z.string(), sha256: z.string() })).optional(),
      recordSet: z.array(z.looseObject({ name: z.string() })).optional(),
    }),
    write: croissant,
  },
];

const documents = FORMS.map(
  ({ write, ...form }): SubjectDocument => ({
    ...form,
    async write(subject, input, id) {
      const set = await describeDataSet(subject, input, id);
      return 'kind' in set ? set : write(set);
    },
  }),
);

export const descriptions: readonly Operation[] = SUBJECTS.flatMap((subject) =>
  documents.map((document) => documentOf(subject, document)),
);
