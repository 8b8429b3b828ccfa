/** The parts of the OpenAPI description that the reference shows, and JSON Schemas as people read them. */

interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: readonly unknown[];
  const?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  default?: unknown;
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
}

export interface Response {
  description: string;
  headers?: Readonly<Record<string, { $ref: string }>>;
  content?: Readonly<Record<string, { schema?: Schema; examples?: object }>>;
}

export interface DescribedOperation {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description: string;
  parameters: readonly Parameter[];
  responses: Readonly<Record<string, Response>>;
}

export interface Description {
  paths: Readonly<Record<string, { get: DescribedOperation }>>;
  tags: readonly { name: string; description: string }[];
  components: {
    headers: Readonly<Record<string, { description: string }>>;
    schemas: Readonly<Record<string, Schema>>;
  };
}

/** A call that has an answer, and that answer, shortened. */
export interface Examples {
  parameters: Readonly<Record<string, string | number | readonly string[]>>;
  /** By format. */
  answers: Readonly<Record<string, unknown>>;
  /** Further calls. */
  worked?: readonly { title: string; parameters: Examples['parameters']; answer: unknown }[];
}

/** What the adapter that serves the API tells the reference. */
export interface ApiReference {
  /** OpenAPI under `/v1`, without examples: a `Description`. */
  description(): object;
  /** From the served snapshot. @param operation by name */
  examples(operation: string): Promise<Examples>;
}

type Schemas = Readonly<Record<string, Schema>>;

const REFERENCE = /^#\/components\/schemas\//;

/** The schema that a reference stands for. */
const resolve = (schema: Schema, schemas: Schemas): Schema =>
  schema.$ref === undefined ? schema : (schemas[schema.$ref.replace(REFERENCE, '')] ?? {});

/** `integer or null`, `list of Country` */
export function typeText(schema: Schema, schemas: Schemas): string {
  if (schema.anyOf) return [...new Set(schema.anyOf.map((one) => typeText(one, schemas)))].join(' or ');
  const { type, items, enum: words, const: constant } = resolve(schema, schemas);
  if (words) return words.map((word) => JSON.stringify(word)).join(', ');
  if (constant !== undefined) return JSON.stringify(constant);
  if (Array.isArray(type)) return type.join(' or ');
  if (type === 'array') return items ? `list of ${typeText(items, schemas)}` : 'list';
  return type ?? 'any';
}

/** What a value must fulfil beyond its type, in Markdown: `1 to 90; default 30`. */
export function boundsText({ enum: words, pattern, default: fallback, ...schema }: Schema): string {
  const { minimum, maximum, minLength, maxLength } = schema;
  const parts = [
    rangeText(bound(minimum), bound(maximum), ''),
    rangeText(minLength, maxLength, ' characters'),
    words ? `one of ${words.map((word) => `\`${word}\``).join(', ')}` : null,
    pattern !== undefined && pattern.length <= PATTERN_MAX ? `matches \`${pattern}\`` : null,
    fallback === undefined ? null : `default \`${fallback}\``,
  ];
  return parts.filter((part) => part !== null).join('; ');
}

/** That an integer is safe says nothing to people. */
const bound = (limit: number | undefined): number | undefined =>
  limit === undefined || Math.abs(limit) === Number.MAX_SAFE_INTEGER ? undefined : limit;

/** A longer one says nothing to people that its description does not. */
const PATTERN_MAX = 60;

function rangeText(least: number | undefined, most: number | undefined, unit: string): string | null {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? null : `at most ${most}${unit}`;
}

interface Field {
  /** `data[].provider.id` */
  path: string;
  type: string;
  description: string;
  mayBeAbsent: boolean;
}

/** What an answer can look like. */
interface Shape {
  /** Empty where there is only one. */
  name: string;
  fields: readonly Field[];
}

/** The shapes of an answer that has members. */
export function describeShapes(schema: Schema, schemas: Schemas): Shape[] {
  const choices = resolve(schema, schemas).anyOf;
  const shapes = (choices ?? [schema]).map((one) => ({
    name: choices ? shapeName(one) : '',
    fields: listFields(one, schemas),
  }));
  return shapes.filter(({ fields }) => fields.length > 0);
}

/** `several indicators` from `#/components/schemas/SeveralIndicatorsAnswer` */
const shapeName = ({ $ref = '' }: Schema): string =>
  $ref
    .replace(REFERENCE, '')
    .replace(/Answer$/, '')
    .replaceAll(/(?<!^)([A-Z])/g, ' $1')
    .toLowerCase();

const DEPTH = 5;
const FIELDS_MAX = 120;

/** Every member of an answer, nested ones after what holds them. */
function listFields(schema: Schema, schemas: Schemas): Field[] {
  const fields: Field[] = [];
  const walk = (holder: Schema, prefix: string, depth: number): void => {
    const { properties = {}, required = [] } = holder;
    for (const [name, member] of Object.entries(properties)) {
      if (fields.length >= FIELDS_MAX) return;
      const { description = '' } = { ...resolve(member, schemas), ...member };
      const type = typeText(member, schemas);
      fields.push({ path: prefix + name, type, description, mayBeAbsent: !required.includes(name) });
      const { holds, mark } = innerObject(member, schemas);
      if (holds && depth < DEPTH) walk(holds, `${prefix}${name}${mark}.`, depth + 1);
    }
  };
  walk(resolve(schema, schemas), '', 1);
  return fields;
}

/** The object inside a member, and how a path says so. */
function innerObject(schema: Schema, schemas: Schemas): { holds: Schema | null; mark: string } {
  const own = resolve(schema, schemas);
  const choice = own.anyOf?.map((one) => resolve(one, schemas)).find(({ type }) => type !== 'null') ?? own;
  if (choice.properties) return { holds: choice, mark: '' };
  const item = choice.items && resolve(choice.items, schemas);
  return { holds: item?.properties ? item : null, mark: '[]' };
}
