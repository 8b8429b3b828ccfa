/** Completes arguments of prompts and addresses of resources while a person types them. */
import { countries, indicators, type Operation, topics } from '../operations/operations.ts';
import { carryOut, type RequestContext, readValues, textOf } from './calls.ts';

/** The protocol allows no more. */
const VALUES_MAX = 100;
const NONE = { completion: { values: [], hasMore: false } };

interface Source {
  operation: Operation;
  /** What is asked for the letters typed so far. */
  query?: (typed: string) => Record<string, unknown>;
  /** What is offered for a record. */
  value: (record: Readonly<Record<string, unknown>>) => unknown;
}

/** By the name of the argument, which is the same in prompts and addresses. */
const SOURCES: Readonly<Record<string, Source>> = {
  country: { operation: countries, value: ({ name }) => name },
  iso3: { operation: countries, value: ({ iso3 }) => iso3 },
  topic: { operation: topics, value: ({ slug }) => slug },
  indicator: {
    operation: indicators,
    query: (q) => ({ limit: VALUES_MAX, q }),
    value: ({ id }) => id,
  },
};

export async function complete(
  { name, value: typed }: { name: string; value: string },
  context: RequestContext,
) {
  const source = SOURCES[name];
  if (source === undefined) return NONE;
  const { operation, query, value } = source;
  const reading = readValues(operation, query?.(typed) ?? {});
  const outcome = await carryOut({ operation, route: 'mcp:complete', reading }, context, textOf);
  if ('error' in outcome) return NONE;
  const { data }: { data: Record<string, unknown>[] } = JSON.parse(outcome.made);
  const start = typed.toLowerCase();
  const values = data
    .map((record) => String(value(record)))
    .filter((text) => operation === indicators || text.toLowerCase().startsWith(start));
  return { completion: { values: values.slice(0, VALUES_MAX), hasMore: values.length > VALUES_MAX } };
}
