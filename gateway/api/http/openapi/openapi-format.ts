/**
 * The machine-readable description of the answers in one format: each success has one media type, which generators of
 * clients need that take the first one for all.
 */
import { DEFAULT_FORMAT } from '../../encoders/encoders.ts';
import { encoderOf } from '../../operations/operations.ts';
import { bareType, type Described, type Json } from './openapi-components.ts';

/** By path and method. */
type Paths = Record<string, Record<string, Described>>;

/**
 * The operations that answer in a format, and how they are asked for it.
 * @param format of `FORMATS`
 */
export function inFormat(document: Json, format: string): Json {
  const paths = Object.entries(document.paths as Paths).flatMap(([path, methods]) => {
    const kept = Object.entries(methods).filter(([, operation]) => formatsOf(operation).includes(format));
    const described = kept.map(([method, operation]) => [method, ofFormat(operation, format)]);
    return described.length === 0 ? [] : [[path, Object.fromEntries(described)]];
  });
  return { ...document, paths: Object.fromEntries(paths) };
}

/** None of a HEAD, which answers without a body. */
function formatsOf({ parameters, responses }: Described): readonly string[] {
  if (responses['200']?.content === undefined) return [];
  const schema = parameters.find(({ name }) => name === 'format')?.schema as { enum?: string[] } | undefined;
  return schema?.enum ?? [DEFAULT_FORMAT];
}

function ofFormat(operation: Described, format: string): Described {
  const { 200: success, ...others } = operation.responses;
  const content = (success?.content ?? {}) as Json;
  if ('206' in others) {
    // A file answers with bytes, and its dry run alone with JSON.
    const { 'application/json': _, ...bytes } = content;
    const parameters = operation.parameters.filter(({ name }) => name !== 'dry_run');
    return { ...operation, parameters, responses: { 200: { ...success, content: bytes }, ...others } };
  }
  return {
    ...operation,
    parameters: operation.parameters.flatMap((parameter) => parameterOf(parameter, format)),
    responses: { 200: { ...success, ...contentOf(content, format) }, ...others },
  };
}

/** A dry run answers with JSON, whatever the format. */
function parameterOf(parameter: Json, format: string): Json[] {
  if (format === DEFAULT_FORMAT) return parameter.name === 'format' ? [] : [parameter];
  if (parameter.name === 'dry_run') return [];
  if (parameter.name !== 'format') return [parameter];
  return [{ ...parameter, required: true, schema: { type: 'string', enum: [format] } }];
}

/** Documents of other standards have one media type anyway. */
function contentOf(content: Json, format: string): Json {
  const type = bareType(encoderOf(format).mediaType);
  return type in content ? { content: { [type]: content[type] } } : {};
}
