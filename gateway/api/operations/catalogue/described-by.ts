/** The documents about a subject, beside its own address, and the one about the whole catalogue. */
import { BIBTEX_TYPE, CSL_TYPE } from '../../encoders/documents/citations.ts';
import { CROISSANT_TYPE } from '../../encoders/documents/croissant.ts';
import { DATAPACKAGE_TYPE } from '../../encoders/documents/datapackage.ts';
import { JSON_LD_TYPE } from '../../encoders/documents/dcat.ts';
import type { Content, Description } from '../operation.ts';

const FILES = [
  { file: 'citation.bib', mediaType: BIBTEX_TYPE },
  { file: 'citation.json', mediaType: CSL_TYPE },
  { file: 'datapackage.json', mediaType: DATAPACKAGE_TYPE },
  { file: 'croissant.json', mediaType: CROISSANT_TYPE },
] as const;

const CATALOG = { file: 'catalog.jsonld', mediaType: JSON_LD_TYPE } as const;

interface Linked {
  file: string;
  mediaType: string;
}

/** @param folder path under the version prefix. @param asOf as sent. */
const linkTo = ({ file, mediaType }: Linked, folder: string, asOf: string | undefined): Description => ({
  path: `/v1${folder}/${file}${asOf === undefined ? '' : `?as_of=${encodeURIComponent(asOf)}`}`,
  mediaType,
});

/** @param resource path under the version prefix. @param asOf as sent. */
export const describedBy = (resource: string, asOf: string | undefined): Description[] => [
  ...FILES.map((file) => linkTo(file, resource, asOf)),
  linkTo(CATALOG, '', asOf),
];

/** A list of what the catalogue holds. @param asOf as sent. */
export const ofCatalogue = (content: Content, asOf?: string): Content => ({
  ...content,
  describedBy: [linkTo(CATALOG, '', asOf)],
});
