/** Free lists, which come as JSON, CSV and NDJSON. The other formats are made of what the JSON says. */
import { z } from 'zod';
import { DEFAULT_FORMAT, encoderFor, LIST_FORMATS } from '../../encoders/registry.ts';
import { columnsOf, type JsonRecord, recordBatches } from '../../encoders/tables/record-table.ts';
import type { Table } from '../../encoders/tables/table.ts';
import type { Edition } from '../../snapshot/editions/edition.ts';
import { envelope } from '../envelope.ts';
import {
  type Content,
  defineOperation,
  type Operation,
  type OtherFormat,
  type Planned,
  withMeta,
} from '../operation.ts';
import { oneOf } from '../parameters/parameters.ts';

/** A format of one list only. */
interface ListFormat extends OtherFormat {
  write(records: readonly JsonRecord[], snapshot: Edition): Buffer;
}

interface ListDefinition<Shape extends z.ZodRawShape>
  extends Omit<Operation<z.output<z.ZodObject<Shape>>>, 'query' | 'answer' | 'formats'> {
  query: z.ZodObject<Shape>;
  record: z.ZodType;
  /** Members of `meta` besides `generated_at`. */
  meta: z.ZodRawShape;
  /** File name of a download, without extension. */
  fileName: string;
  otherFormats?: readonly ListFormat[];
}

/** An operation that answers with a list of records, in the formats of lists. */
export function defineList<Shape extends z.ZodRawShape>({
  query,
  record,
  meta,
  fileName,
  ...operation
}: ListDefinition<Shape>): Operation {
  type Sent = z.output<z.ZodObject<Shape>>;
  const { otherFormats = [] } = operation;
  const formats = [...LIST_FORMATS, ...otherFormats.map(({ name }) => name)] as const;
  const formatted = z.object({
    ...query.shape,
    format: oneOf(formats).optional().describe('Default `json`').meta({ default: DEFAULT_FORMAT }),
  });
  return defineOperation<Sent & { format?: string | undefined }>({
    ...operation,
    query: formatted as unknown as Operation<Sent & { format?: string | undefined }>['query'],
    answer: envelope(z.array(record), { ...meta, format: z.enum(formats).optional() }),
    formats: LIST_FORMATS,
    plan(input) {
      const { format, ...sent } = input.query;
      const planned = operation.plan({ ...input, query: sent as unknown as Sent });
      if (format === undefined) return planned;
      const list = { record, fileName, otherFormats, snapshot: input.snapshot };
      const inFormat = (json: Planned): Planned =>
        json.kind !== 'plan'
          ? json
          : { ...json, produce: async (caller) => converted(await json.produce(caller), format, list) };
      return planned instanceof Promise ? planned.then(inFormat) : inFormat(planned);
    },
  });
}

interface List {
  record: z.ZodType;
  fileName: string;
  otherFormats: readonly ListFormat[];
  snapshot: Edition;
}

/** With the links of the JSON form. */
async function converted(content: Content, format: string, list: List): Promise<Content> {
  const { describedBy } = content;
  return { ...(await written(content, format, list)), ...(describedBy && { describedBy }) };
}

async function written(content: Content, format: string, list: List): Promise<Content> {
  const body = await bodyOf(content, list.snapshot);
  if (format === DEFAULT_FORMAT) return withMeta(body, { format });
  const { data, meta } = JSON.parse(body.toString()) as { data: JsonRecord[]; meta: JsonRecord };
  const other = list.otherFormats.find(({ name }) => name === format);
  if (other !== undefined)
    return { kind: 'document', json: other.write(data, list.snapshot), mediaType: other.mediaType };
  if (format === 'ndjson') return recordLines(data, list.fileName);
  const table = tableOf(data, { ...meta, format }, list);
  return { kind: 'table', table, encoder: encoderFor(format) };
}

/** Whole records, where the rows of a table would have dotted names for nested fields. */
function recordLines(records: readonly JsonRecord[], fileName: string): Content {
  const { mediaType, extension } = encoderFor('ndjson');
  const lines = records.map((record) => `${JSON.stringify(record)}\n`);
  return {
    kind: 'document',
    json: Buffer.from(lines.join('')),
    mediaType,
    fileName: `${fileName}.${extension}`,
  };
}

function tableOf(data: readonly JsonRecord[], meta: JsonRecord, { record, fileName, snapshot }: List): Table {
  // A property that is there on request only has no column where it was not asked for.
  const columns = columnsOf(record).filter(({ name }) => {
    const [property = ''] = name.split('.');
    return data.length === 0 || data.some((one) => property in one);
  });
  return {
    columns,
    rows: data.length,
    batches: () => recordBatches(columns, data.length, (start, end) => data.slice(start, end)),
    indicators: [],
    meta,
    edition: snapshot.id,
    name: fileName,
  };
}

function bodyOf(content: Content, { editions }: Edition): Buffer | Promise<Buffer> {
  if (content.kind === 'document') return content.json;
  if (content.kind === 'file') return editions.servedBody(content.path);
  throw new TypeError('a list is a document');
}
