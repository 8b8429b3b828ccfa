/** The parts of the OpenAPI description that the reference shows. */

export interface Schema {
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

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
}

interface MediaType {
  schema?: Schema;
  examples?: Readonly<Record<string, { value: unknown }>>;
}

export interface Response {
  description: string;
  headers?: Readonly<Record<string, { $ref: string }>>;
  content?: Readonly<Record<string, MediaType>>;
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
}

/** What the adapter that serves the API tells the reference. */
export interface ApiReference {
  /** OpenAPI under `/v1`, without examples: a `Description`. */
  description(): object;
  /** From the served snapshot. @param operation by name */
  examples(operation: string): Promise<Examples>;
}
