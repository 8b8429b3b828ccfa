/** Holds one answer against the OpenAPI document: its status is described, and its body and headers are as described. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { buildOpenApi } from '../../gateway/api/http/openapi/openapi.ts';

interface Described {
  responses: Record<
    string,
    { headers?: Record<string, Header | { $ref: string }>; content?: Record<string, { schema: object }> }
  >;
}

interface Header {
  required?: boolean;
  schema: object;
}

interface Exemplified {
  schema: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

/** Examples of a served description that its own schemas refuse: where, and why. */
export function examplesRefused(served: Record<string, unknown>): string[] {
  const validator = new Ajv2020({ strict: false });
  (addFormats as unknown as (ajv: Ajv2020) => void)(validator);
  validator.addSchema({ $id: 'https://served.test/', ...served });
  const refused: string[] = [];
  const visit = (value: unknown, path: string[]): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('schema' in value && ('example' in value || 'examples' in value)) {
      const { example, examples = {} } = value as Exemplified;
      const given = [example, ...Object.values(examples).map((one) => one.value)];
      const validate = validator.compile({
        $ref: `https://served.test/#/${[...path, 'schema'].map(pointerPart).join('/')}`,
      });
      for (const one of given)
        if (one !== undefined && !validate(one))
          refused.push(`${path.join(' ')}: ${validator.errorsText(validate.errors)}`);
      return;
    }
    for (const [name, member] of Object.entries(value)) visit(member, [...path, name]);
  };
  visit(served, []);
  return refused;
}

const document = buildOpenApi() as {
  paths: Record<string, { get?: Described }>;
  components: { headers: Record<string, Header> };
};
const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
ajv.addSchema({ $id: 'https://openapi.test/', ...document });

const operations = Object.entries(document.paths).flatMap(([template, { get }]) =>
  get === undefined
    ? []
    : {
        template,
        get,
        pattern: new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+').replaceAll('.', '\\.')}$`),
      },
);

const validators = new Map<string, ValidateFunction>();

/** Members of a JSON pointer in a URI fragment. */
const pointerPart = (part: string): string =>
  encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));

function validatorOf(template: string, status: string, type: string): ValidateFunction {
  const parts = ['paths', template, 'get', 'responses', status, 'content', type, 'schema'];
  const ref = `https://openapi.test/#/${parts.map(pointerPart).join('/')}`;
  const known = validators.get(ref);
  if (known) return known;
  const validate = ajv.compile({ $ref: ref });
  validators.set(ref, validate);
  return validate;
}

interface CheckedAnswer {
  status: number;
  headers: Record<string, unknown>;
  text: string;
  json: unknown;
}

/** The operation of a path under either prefix. */
function operationOf(path: string) {
  const plain = (path.split('?', 1)[0] ?? '').replace(/^\/v1\//, '/data/api/v1/');
  // The most particular template first: a literal path before one with a parameter.
  return operations.filter(({ pattern }) => pattern.test(plain)).sort(byParameters)[0];
}

const byParameters = (a: { template: string }, b: { template: string }): number =>
  a.template.split('{').length - b.template.split('{').length;

/** The request could not be read: no operation ever saw it. */
const isUnread = ({ json }: CheckedAnswer): boolean =>
  ['bad_request', 'expectation_failed', 'header_too_large'].includes(
    (json as { error?: { code?: string } })?.error?.code ?? '',
  );

/** Required ones are there, and each is of its type. */
function checkHeaderValues(
  where: string,
  sent: CheckedAnswer['headers'],
  described: Described['responses'][string]['headers'] = {},
): void {
  for (const [name, own] of Object.entries(described)) {
    const shared = '$ref' in own ? document.components.headers[name] : own;
    const { required, schema } = shared ?? { schema: {} };
    const value = sent[name.toLowerCase()];
    if (value === undefined && required) throw new Error(`${where} lacks ${name}`);
    const isInteger = 'type' in schema && schema.type === 'integer';
    if (value !== undefined && isInteger && !/^[0-9]+$/.test(String(value)))
      throw new Error(`${where} has ${name}: ${value}`);
  }
}

/** @throws when the answer is not as the document says. */
export function checkAnswer(path: string, answer: CheckedAnswer): void {
  const operation = operationOf(path);
  if (!operation || isUnread(answer)) return;
  const where = `${answer.status} of ${operation.template}`;
  const response = operation.get.responses[answer.status];
  if (!response) throw new Error(`${where} is not described: ${answer.text.slice(0, 300)}`);
  const described = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
  for (const name of Object.keys(answer.headers)) {
    const ours =
      /^(x-|etag|retry-after|link|content-disposition|ratelimit|www-authenticate|idempotent-|preference-|deprecation|sunset|vary|cache-control)/.test(
        name,
      );
    const everywhere = ['x-content-type-options'].includes(name);
    if (ours && !everywhere && !described.includes(name))
      throw new Error(`${where} does not describe ${name}`);
  }
  checkHeaderValues(where, answer.headers, response.headers);
  if (answer.json === undefined) return;
  const type = String(answer.headers['content-type'] ?? 'application/json').split(';', 1)[0] ?? '';
  const validate = validatorOf(operation.template, String(answer.status), type);
  if (validate(answer.json)) return;
  throw new Error(
    `${where} is not as described: ${ajv.errorsText(validate.errors)}\n${answer.text.slice(0, 300)}`,
  );
}
