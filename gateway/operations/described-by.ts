/** The documents about a subject, beside its own address. */
import { BIBTEX_TYPE, CSL_TYPE } from '../encoders/citations.ts';
import { DATAPACKAGE_TYPE } from '../encoders/datapackage.ts';
import type { Description } from './operation.ts';

const FILES = [
  { file: 'citation.bib', mediaType: BIBTEX_TYPE },
  { file: 'citation.json', mediaType: CSL_TYPE },
  { file: 'datapackage.json', mediaType: DATAPACKAGE_TYPE },
] as const;

/** @param resource path under the version prefix. @param asOf as sent. */
export const describedBy = (resource: string, asOf: string | undefined): Description[] =>
  FILES.map(({ file, mediaType }) => ({
    path: `/v1${resource}/${file}${asOf === undefined ? '' : `?as_of=${encodeURIComponent(asOf)}`}`,
    mediaType,
  }));
