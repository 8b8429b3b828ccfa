/** `/llms.txt`: what a language model needs in order to answer from the service, in the form of llmstxt.org. */
import { MODEL_INSTRUCTIONS } from '../../api/mcp/mcp.ts';
import type { Operation } from '../../api/operations/operation.ts';
import { defineAsset } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

const LINKS = [
  ['/docs', 'Guides', 'Quick start, keys, credits, formats, vintages, errors, limits'],
  ['/docs/reference', 'Reference', 'every call of the HTTP API'],
  ['/openapi.json', 'OpenAPI', 'the same for programs'],
  ['/indicators', 'Indicators', 'the catalogue with search'],
  ['/pricing', 'Pricing', 'what costs what'],
] as const;

/** Calls for models without tools. */
const CALLS = [
  ['/v1/indicators?q=life+expectancy&limit=5', 'finds series, free'],
  ['/v1/indicators/{id}', 'describes one, free'],
  ['/v1/data?indicator={id}&countries=KEN,PER&latest=1', 'newest figures; a key, 1 credit a row'],
  ['/v1/rankings/{id}', 'ranking of a year; a key, 1 credit'],
] as const;

export const llms = ({ baseUrl }: ServiceFacts): Operation =>
  defineAsset({
    path: '/llms.txt',
    make: () => ({
      bytes: Buffer.from(
        [
          '# Almanac',
          '',
          '> Comparative statistics about countries from public providers, each figure with unit, year, source, licence and proof.',
          '',
          'How to answer from it:',
          '',
          ...MODEL_INSTRUCTIONS.map((sentence) => `- ${sentence}`),
          '',
          '## Tools',
          '',
          `The Model Context Protocol is served at ${baseUrl}/mcp (streamable HTTP). Finding and describing needs no key; figures need the header \`Authorization: Bearer <API key>\`.`,
          '',
          '## Calls without tools',
          '',
          ...CALLS.map(([path, text]) => `- \`GET ${baseUrl}${path}\`: ${text}`),
          '',
          '## Documentation',
          '',
          ...LINKS.map(([path, name, text]) => `- [${name}](${baseUrl}${path}): ${text}`),
          '',
        ].join('\n'),
      ),
      mediaType: 'text/plain; charset=utf-8',
    }),
  });
