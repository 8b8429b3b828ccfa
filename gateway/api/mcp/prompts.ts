/** Prompts: what a person picks from a host's menu. Each sends a model to the tools. */
import { type GetPromptResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

interface Prompt {
  name: string;
  title: string;
  description: string;
  arguments: { name: string; description: string; required: boolean }[];
  text: (values: Readonly<Record<string, string>>) => string;
}

const PROMPTS: readonly Prompt[] = [
  {
    name: 'fact_check',
    title: 'Check the figures of a text',
    description: 'Checks every figure about a country in a text against the figures held.',
    arguments: [{ name: 'text', description: 'The text to check', required: true }],
    text: ({ text }) =>
      [
        'Check the figures about countries in the text below with Almanac.',
        '1. List each statement with a figure: what, which country, which year, which value as it is written.',
        '2. Find the indicator of each with find_indicators. If `match` is not good, say so and do not judge the statement.',
        '3. Pass all of them to verify_claims in one call, values as text, as they are written.',
        '4. Give a table: statement, verdict, the figure held with unit and year, source. Explain a mismatch only by what the tool says.',
        'Say plainly which statements could not be judged. Estimate nothing.',
        '',
        'Text:',
        text,
      ].join('\n'),
  },
  {
    name: 'country_brief',
    title: 'Brief on a country',
    description: 'A page on a country: key figures, where it stands, each with year and source.',
    arguments: [
      { name: 'country', description: 'One country, by name or code', required: true },
      { name: 'topic', description: 'A topic to go into, such as health', required: false },
    ],
    text: ({ country, topic }) =>
      [
        `Write a one-page brief on ${country} with Almanac${topic === undefined ? '' : `, above all on ${topic}`}.`,
        `Call country_profile${topic === undefined ? '' : ', then country_profile with the topic'}, and compare_countries with two neighbours for three indicators.`,
        'Give each figure with its unit and its year, and its rank where there is one. Say what is a forecast.',
        'Where Almanac refuses, say that it holds no figure; estimate nothing. End with the credit lines and licences of all series used.',
      ].join('\n'),
  },
  {
    name: 'cite',
    title: 'Cite an indicator',
    description: 'How to cite the figures of an indicator.',
    arguments: [
      { name: 'indicator', description: 'Id of an indicator, or what it measures', required: true },
    ],
    text: ({ indicator }) =>
      [
        `Give the citation of the Almanac indicator “${indicator}”.`,
        'If that is not an id, find it with find_indicators; then call describe_indicator.',
        'Give one line of text: provider, name of the series, the edition (its id and date), the address of its page, licence. Then name the address of the BibTeX file (`cite`).',
        'Take every part from the answer.',
      ].join('\n'),
  },
];

export const PROMPT_LIST = JSON.stringify(PROMPTS.map(({ text: _text, ...prompt }) => prompt));

const invalid = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** @throws {ProtocolError} for an unknown prompt, or without a required argument */
export function getPrompt(name: string, values: Readonly<Record<string, string>> = {}): GetPromptResult {
  const prompt = PROMPTS.find((one) => one.name === name);
  if (prompt === undefined) throw invalid(`There is no prompt “${name.slice(0, 80)}”.`);
  const missing = prompt.arguments.find((one) => one.required && (values[one.name] ?? '').trim() === '');
  if (missing !== undefined) throw invalid(`${missing.name}: ${missing.description} is needed.`);
  const text = prompt.text(values);
  return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
}
