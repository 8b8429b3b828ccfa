/** `describe_indicator`: what a series measures, from where, under which terms, and what to beware of. */
import { z } from 'zod';
import type { PublicFinding } from '../../../../data/schema/quality.ts';
import {
  coverage,
  type indicatorDetail,
  indicatorSource,
  relatedEntry,
} from '../../../../data/schema/records.ts';
import { indicator as indicatorOperation, type Plan, type Planned } from '../../operations/operations.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { common, fitted, refusal, refusedAnswer, series, seriesOf } from '../answer.ts';
import { type Asking, documentOf, planInner } from '../calls.ts';
import { findIndicators } from '../indicators.ts';
import { cursorArgument, paged, pageMember } from '../pages.ts';
import { answerPlan, asOfArgument, defineTool } from '../tool.ts';

const description = series.extend({
  description: z.string().nullable(),
  topic: z.string(),
  direction: z.string().describe('Which end is better, if any'),
  concept: z.string().nullable(),
  other_series: z.array(z.string()).describe('Further series of the same concept'),
  preferred: z.boolean(),
  figures: z.enum(['open', 'display']),
  coverage: coverage.nullable(),
  cite: z.string().describe('BibTeX'),
});

type Detail = z.infer<typeof indicatorDetail> & {
  sources: z.infer<typeof indicatorSource>[];
  quality: Pick<PublicFinding, 'message'>[];
};

export function directionOf(higher_is_better: boolean | null): string {
  if (higher_is_better === null) return 'neither end is better; rank 1 is the highest value';
  return higher_is_better
    ? 'higher is better; rank 1 is the highest value'
    : 'lower is better; rank 1 is the lowest value';
}

type Concept = Pick<z.infer<typeof description>, 'concept' | 'other_series'>;

/** The concept of a series, and its other series in the edition. */
async function conceptIn(edition: Edition, id: string): Promise<Concept> {
  const { indicators } = await edition.wholeCatalogue();
  const concept = indicators.get(id)?.traits.concept ?? null;
  if (concept === null) return { concept, other_series: [] };
  const series = [...indicators.values()].filter(({ traits }) => traits.concept === concept);
  return { concept, other_series: series.flatMap(({ record }) => (record.id === id ? [] : record.id)) };
}

export interface Described {
  kind: 'described';
  data: Detail;
  concept: Concept;
}

/** What the edition says of a series that it has. */
export async function readDescription(
  asking: Asking,
  id: string,
): Promise<Described | Exclude<Planned, Plan>> {
  const path = { indicator_id: id };
  const query = { include: ['sources', 'quality'] };
  const planned = await planInner(asking, { operation: indicatorOperation, path, query });
  if (planned.kind !== 'plan') return planned;
  const { data } = await documentOf<{ data: Detail }>(planned.produce(null));
  return { kind: 'described', data, concept: await conceptIn(asking.edition, data.id) };
}

function describe(record: Detail, concept: Concept, publicUrl: string): z.infer<typeof description> {
  return {
    ...seriesOf(record, publicUrl),
    description: record.description,
    topic: record.topic,
    direction: directionOf(record.higher_is_better),
    ...concept,
    preferred: record.preferred,
    figures: record.access_tier,
    coverage: record.coverage,
    cite: `${publicUrl}/v1/indicators/${record.id}/citation.bib`,
  };
}

export const describeIndicatorTool = defineTool({
  name: 'describe_indicator',
  title: 'Describe an indicator',
  description:
    'What a series measures: definition, unit, direction, years and countries, sources with licences, known doubts, related series.',
  priceText: 'free',
  arguments: z.object({
    indicator: z.string().min(1).describe('Id from find_indicators'),
    as_of: asOfArgument,
    cursor: cursorArgument,
  }),
  answer: z.object({
    ...common,
    as_of: z.string().optional(),
    indicator: description.nullable(),
    sources: z.array(indicatorSource),
    doubts: z.array(z.string()).describe('What the nightly checks doubt'),
    related: z.array(relatedEntry),
    refusals: z.array(refusal),
    page: pageMember,
  }),
  empty: { indicator: null, sources: [], doubts: [], related: [], refusals: [] },
  async plan({ snapshot, query: { indicator: asked, as_of }, publicUrl }, page) {
    const { records, refusals } = await findIndicators([asked], snapshot);
    const [found] = records;
    const nothing = { indicator: null, sources: [], doubts: [], related: [] };
    if (found === undefined) return answerPlan(refusedAnswer(snapshot, refusals, nothing));
    const described = await readDescription({ edition: snapshot, publicUrl }, found.id);
    if (described.kind !== 'described') return described;
    const { data, concept } = described;
    const doubts = data.quality.map(({ message }) => message);
    const longest = Math.max(data.sources.length, doubts.length, data.related.length);
    const { skip } = page;
    const answer = fitted(Math.max(0, longest - skip), (rows) => ({
      outcome: 'answer' as const,
      message: `“${data.name}”, in ${data.unit ?? 'no stated unit'}.`,
      edition: snapshot.id,
      ...(as_of && { as_of: as_of.sent }),
      indicator: describe(data, concept, publicUrl),
      ...paged(page, rows, longest),
      sources: data.sources.slice(skip, skip + rows),
      doubts: doubts.slice(skip, skip + rows),
      related: data.related.slice(skip, skip + rows),
      refusals,
    }));
    return answerPlan(answer, { price: 0, rows: 1 });
  },
});
