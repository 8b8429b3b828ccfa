/**
 * `fetch`: what is said of a series, as a document to cite, in the shape that hosts for research ask for.
 *
 * It holds no figures and is free. Research fetches many documents by itself, and the shape has no argument that bounds a
 * price; the document says which tools give the figures, and for how much.
 */
import { z } from 'zod';
import { fitted, refusedText } from '../answer.ts';
import { findIndicators } from '../indicators.ts';
import { answerPlan, defineTool } from '../tool.ts';
import { type Described, directionOf, readDescription } from './describe-indicator.ts';
import { titleOf } from './search.ts';

export const fetchTool = defineTool({
  name: 'fetch',
  title: 'Fetch a description',
  description:
    'Describes a result of `search`: what it measures, source, licence, countries, years, doubts. No figures: get_data gives them.',
  priceText: 'free',
  isBare: true,
  arguments: z.object({ id: z.string().min(1) }),
  answer: z.object({
    id: z.string(),
    title: z.string(),
    text: z.string(),
    url: z.string(),
    metadata: z.record(z.string(), z.string()),
  }),
  empty: { id: '', title: '', text: '', url: '', metadata: {} },
  async plan({ snapshot, query: { id }, publicUrl }) {
    const edition = snapshot.id;
    const { records, refusals } = await findIndicators([id], snapshot);
    const [record] = records;
    if (record === undefined)
      return answerPlan({ outcome: 'refused', message: refusedText(refusals), edition });
    const described = await readDescription({ edition: snapshot, publicUrl }, record.id);
    if (described.kind !== 'described') return described;
    const lines = linesOf(described, publicUrl);
    return answerPlan(
      fitted(lines.length, (shown) => ({
        outcome: 'answer' as const,
        message: '',
        edition,
        id: record.id,
        title: titleOf(record),
        text: lines.slice(0, shown).join('\n'),
        url: `${publicUrl}/indicators/${record.id}`,
        metadata: {
          provider: record.provider.name,
          licence: record.licence,
          source: record.attribution,
          ...(record.unit !== null && { unit: record.unit }),
          topic: record.topic,
          figures: record.access_tier,
          edition,
        },
      })),
      { price: 0, rows: 1 },
    );
  },
});

/** What matters most first: the last are left out where a document is too long. */
function linesOf({ data, concept }: Described, publicUrl: string): string[] {
  const { coverage, licence_url } = data;
  const measured = data.description === null ? [] : [data.description];
  const held =
    coverage === null
      ? 'No figures are held.'
      : `Held for ${coverage.n_countries} countries, ${coverage.yr_min} to ${coverage.yr_max}; newest measured year: ${coverage.latest_year ?? 'none'}.`;
  return [
    `${data.name}, in ${data.unit ?? 'no stated unit'}: ${directionOf(data.higher_is_better)}.`,
    ...measured,
    held,
    `Source, to be published with figures: ${data.attribution}`,
    `Licence: ${data.licence}${licence_url === null ? '' : ` (${licence_url})`}`,
    figuresLine(data),
    `To cite it: ${publicUrl}/v1/indicators/${data.id}/citation.bib`,
    ...data.quality.map(({ message }) => `Doubt: ${message}`),
    ...data.sources.map(({ name, url }) => `Made from: ${name}${url === null ? '' : ` (${url})`}`),
    ...concept.other_series.map((id) => `Measures the same: ${id}`),
    ...data.related.map(({ id, name, relation }) => `Related (${relation}): ${name}, ${id}`),
  ];
}

const figuresLine = ({ id, access_tier }: Described['data']): string =>
  access_tier === 'open'
    ? `This document has no figures, and none may be estimated: get_data with indicators ["${id}"] gives them, exact to the digit, for 1 credit each.`
    : 'Figures of this series may be shown but not exported: rank_countries shows a year. None may be estimated.';
