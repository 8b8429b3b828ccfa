/** Free lists of records, which come as JSON, CSV and NDJSON. The other formats are made of what the JSON says. */
import { z } from 'zod';
import { columnsOf, DEFAULT_FORMAT, LIST_FORMATS, recordTable } from '../../encoders/encoders.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { count, envelope } from '../envelope.ts';
import {
  asOfSent,
  type Content,
  defineOperation,
  encoderOf,
  free,
  type Input,
  type Operation,
  type OtherFormat,
  type Refused,
  withMeta,
} from '../operation.ts';
import { oneOf } from '../parameters/parameters.ts';
import { ofCatalogue } from './subjects.ts';

type JsonRecord = Readonly<Record<string, unknown>>;

/** What a list has: the prerendered body of the served edition, or its records as JSON text and their `meta`. */
export type Listed = { file: string } | { records: readonly string[]; meta: JsonRecord };

/** A format of one list only. */
interface ListFormat extends OtherFormat {
  write(records: readonly JsonRecord[], snapshot: Edition): Buffer;
}

interface ListDefinition<Shape extends z.ZodRawShape>
  extends Pick<Operation<z.output<z.ZodObject<Shape>>>, 'name' | 'path' | 'summary' | 'description' | 'asOf'>,
    Partial<Pick<Operation, 'errors'>> {
  query?: z.ZodObject<Shape>;
  record: z.ZodType;
  /** Members of `meta` besides `generated_at`, `count` and `format`. */
  meta?: z.ZodRawShape;
  /** File name of a download, without extension. */
  fileName: string;
  /** Whether the answer names the catalogue for data portals as what describes it. */
  isOfCatalogue?: true;
  otherFormats?: readonly ListFormat[];
  list(input: Input<z.output<z.ZodObject<Shape>>>): Listed | Refused | Promise<Listed | Refused>;
}

/** An operation that answers with a list of records, in the formats of lists. */
export function defineList<Shape extends z.ZodRawShape>({
  query,
  record,
  meta,
  fileName,
  isOfCatalogue,
  otherFormats = [],
  errors = [],
  list,
  ...about
}: ListDefinition<Shape>): Operation {
  type Sent = z.output<z.ZodObject<Shape>>;
  type Query = Sent & { format?: string | undefined };
  const formats = [...LIST_FORMATS, ...otherFormats.map(({ name }) => name)] as const;
  const parameters = z.object({
    ...query?.shape,
    format: oneOf(formats).optional().describe('Default `json`').meta({ default: DEFAULT_FORMAT }),
  });
  return defineOperation<Query>({
    ...about,
    errors,
    otherFormats,
    tag: 'Catalogue',
    needsKey: false,
    priceText: 'free',
    isCacheable: true,
    query: parameters as unknown as Operation<Query>['query'],
    answer: envelope(z.array(record), { count, ...meta, format: z.enum(formats).optional() }),
    formats: LIST_FORMATS,
    async plan(input) {
      const { format, ...rest } = input.query;
      const sent = rest as unknown as Sent;
      const asOf = asOfSent(sent)?.sent;
      const described = (content: Content): Content => (isOfCatalogue ? ofCatalogue(content, asOf) : content);
      const listed = await list({ ...input, query: sent });
      if ('kind' in listed) return listed;
      if (format === undefined) return free(described(toJson(listed)));
      const formatted = { record, fileName, otherFormats };
      return free(async () => described(await written(listed, format, input.snapshot, formatted)));
    },
  });
}

type FormattedList = Pick<ListDefinition<z.ZodRawShape>, 'record' | 'fileName' | 'otherFormats'>;

async function written(
  listed: Listed,
  format: string,
  snapshot: Edition,
  { record, fileName, otherFormats = [] }: FormattedList,
): Promise<Content> {
  const body = 'file' in listed ? await snapshot.editions.servedBody(listed.file) : bodyOf(listed);
  if (format === DEFAULT_FORMAT) return withMeta(body, { format });
  const { data, meta } = JSON.parse(body.toString()) as { data: JsonRecord[]; meta: JsonRecord };
  const other = otherFormats.find(({ name }) => name === format);
  if (other !== undefined)
    return { kind: 'document', json: other.write(data, snapshot), mediaType: other.mediaType };
  // A property that is there on request only has no column where it was not asked for.
  const columns = columnsOf(record).filter(({ name }) => {
    const [property = ''] = name.split('.');
    return data.length === 0 || data.some((one) => property in one);
  });
  const about = { indicators: [], meta: { ...meta, format }, edition: snapshot.id, name: fileName };
  const table = recordTable(columns, data, { ...about, records: data }, (one) => one);
  return { kind: 'table', table, encoder: encoderOf(format) };
}

const toJson = (listed: Listed): Content =>
  'file' in listed ? { kind: 'file', path: listed.file } : { kind: 'document', json: bodyOf(listed) };

const bodyOf = ({ records, meta }: Extract<Listed, { meta: unknown }>): Buffer =>
  Buffer.from(`{"data":[${records.join(',')}],"meta":${JSON.stringify(meta)}}`);
