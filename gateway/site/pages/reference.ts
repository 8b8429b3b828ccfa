/** `/docs/reference`: every call of the API, from the description that the service publishes of itself. */
import { ERRORS, type ErrorCode } from '../../api/core/errors.ts';
import { readFrozenCall } from '../../api/core/execute.ts';
import { isPriced, OPERATIONS, type Operation } from '../../api/operations/operations.ts';
import { definePage } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';
import { DOCS_LINKS } from './docs.ts';
import {
  type ApiReference,
  boundsText,
  type DescribedOperation,
  type Description,
  describeShapes,
  type Examples,
  type Response,
  typeText,
} from './openapi-text.ts';

const ROOT = '/docs/reference';

export const referencePages = (facts: ServiceFacts, api: ApiReference): Operation[] => [
  overview(api),
  ...OPERATIONS.map((operation) => operationPage(operation, facts, api)),
];

const overview = (api: ApiReference): Operation =>
  definePage({
    path: ROOT,
    show: () => ({
      template: 'reference.njk',
      title: 'Reference',
      description: 'Every call of the API with its parameters, answers and errors.',
      section: 'docs',
      canonical: ROOT,
      data: {
        links: DOCS_LINKS,
        current: ROOT,
        groups: (api.description() as Description).tags.map(({ name, description }) => ({
          name,
          description,
          operations: OPERATIONS.filter(({ tag }) => tag === name),
        })),
      },
    }),
  });

function operationPage(operation: Operation, facts: ServiceFacts, api: ApiReference): Operation {
  const { name, summary } = operation;
  const path = `${ROOT}/${name}`;
  return definePage({
    path,
    async show() {
      const description = api.description() as Description;
      const described = description.paths[`/v1${operation.path}`]?.get;
      if (!described) throw new Error(`${name} is not described`);
      const examples = await api.examples(name);
      const call = exampleCall(operation, facts, examples.parameters);
      return {
        template: 'operation.njk',
        title: summary,
        description: `GET /v1${operation.path}: parameters, answer, errors, and a form to try it.`,
        section: 'docs',
        canonical: path,
        data: {
          links: DOCS_LINKS,
          current: ROOT,
          operation,
          text: operation.description,
          isPriced: isPriced(operation),
          parameters: listParameters(described, description, examples),
          call,
          isFeedable: readFrozenCall(call.path) !== null,
          worked: (examples.worked ?? []).map(({ title, parameters, answer }) => ({
            title,
            call: exampleCall(operation, facts, parameters),
            answer: JSON.stringify(answer, null, 2),
          })),
          answer: describeAnswer(described, description, examples),
          errors: listErrors(described),
        },
      };
    },
  });
}

const listParameters = (
  { parameters }: DescribedOperation,
  { components }: Description,
  { parameters: examples }: Examples,
) =>
  parameters.map(({ name, in: place, required, description = '', schema }) => ({
    name,
    place,
    required,
    description,
    type: schema.enum ? 'string' : typeText(schema, components.schemas),
    bounds: boundsText(schema),
    words: schema.enum?.map(String) ?? [],
    example: [examples[name] ?? []].flat().map(String),
  }));

/** For a URL; commas stay readable. */
const encoded = (text: string): string => encodeURIComponent(text).replaceAll('%2C', ',');

function exampleCall(operation: Operation, { baseUrl }: ServiceFacts, parameters: Examples['parameters']) {
  const values = Object.entries(parameters).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, encoded(String(one))] as const),
  );
  const isInPath = ([name]: readonly [string, string]): boolean => name in operation.pathParameters;
  const resource = values
    .filter(isInPath)
    .reduce((path, [name, text]) => path.replace(`{${name}}`, text), `/v1${operation.path}`);
  const query = values.filter((one) => !isInPath(one)).map((pair) => pair.join('='));
  const path = query.length === 0 ? resource : `${resource}?${query.join('&')}`;
  return { path, url: baseUrl + path };
}

function describeAnswer(
  { responses }: DescribedOperation,
  { components }: Description,
  { answers }: Examples,
) {
  const { headers = {}, content = {} } = responses['200'] as Response;
  const [[mediaType, { schema = {} }] = ['', {}], ...others] = Object.entries(content);
  const [whole = schema] = schema.anyOf ?? [];
  const { json, ...texts } = answers;
  return {
    mediaType,
    shapes: describeShapes(whole, components.schemas),
    example: json === undefined ? null : typeof json === 'string' ? json : JSON.stringify(json, null, 2),
    formats: others.map(([type, { schema: body }]) => ({ type, description: body?.description ?? '' })),
    texts: Object.entries(texts).map(([format, text]) => ({ format, text: String(text) })),
    headers: Object.keys(headers).map((name) => ({
      name,
      description: components.headers[name]?.description ?? '',
    })),
  };
}

/** All but those of parameters, which have no code. */
const listErrors = ({ responses }: DescribedOperation) =>
  Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Object.keys(content['application/json']?.examples ?? {})
      .filter((code): code is ErrorCode => code in ERRORS)
      .map((code) => ({ status, code, message: ERRORS[code].message })),
  );
