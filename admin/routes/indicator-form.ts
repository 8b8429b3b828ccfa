/** The form of an indicator's page: its fields, their validation, and their words for what is stored. */
import { z } from 'zod';
import { TOPIC_SLUGS } from '../../data/schema/curated.ts';
import type { EditableFacts, EditableField } from '../../data/schema/operator-changes.ts';
import { textField } from '../../gateway/web/forms.ts';
import { type SentFacts, versionOf } from '../indicator-admin.ts';

/** Fields that are absent stay as they are. */
export const editForm = z.object({
  name: textField(500),
  description: textField(10_000),
  unit: textField(200),
  topic: textField(50),
  direction: textField(20),
  featured: textField(10),
  ranked: textField(10),
  version: textField(200),
});
export type EditForm = z.output<typeof editForm>;

export const FIELD_LABELS: Readonly<Record<EditableField, string>> = {
  name: 'Name',
  description: 'Description',
  unit: 'Unit',
  topic: 'Topic',
  higher_is_better: 'Direction',
  featured: 'Featured',
  no_rank: 'Ranked',
};

const DIRECTIONS = { higher: true, lower: false, neither: null } as const;
const DIRECTION_LABELS = {
  higher: 'higher is better',
  lower: 'lower is better',
  neither: 'neither is better',
} as const;
const YES_OR_NO = { yes: true, no: false } as const;

interface Choice {
  value: string;
  label: string;
}
/** The choices of each `select`. */
export const CHOICES: Readonly<Record<'topic' | 'direction' | 'featured' | 'ranked', readonly Choice[]>> = {
  topic: TOPIC_SLUGS.map((value) => ({ value, label: value })),
  direction: Object.entries(DIRECTION_LABELS).map(([value, label]) => ({ value, label })),
  featured: Object.keys(YES_OR_NO).map((value) => ({ value, label: value })),
  ranked: Object.keys(YES_OR_NO).map((value) => ({ value, label: value })),
};

const wordOf = (words: Readonly<Record<string, boolean | null>>, value: boolean | null): string =>
  Object.keys(words).find((word) => words[word] === value) ?? '';

export const formOf = (facts: EditableFacts): EditForm => ({
  name: facts.name,
  description: facts.description ?? '',
  unit: facts.unit ?? '',
  topic: facts.topic,
  direction: wordOf(DIRECTIONS, facts.higher_is_better),
  featured: wordOf(YES_OR_NO, facts.featured),
  ranked: wordOf(YES_OR_NO, !facts.no_rank),
  version: versionOf(facts),
});

/** A fact as people read it; empty for none. */
export function factText(facts: EditableFacts, field: EditableField): string {
  if (field === 'higher_is_better')
    return CHOICES.direction.find(({ value }) => value === formOf(facts).direction)?.label ?? '';
  if (field === 'no_rank') return facts.no_rank ? 'no' : 'yes';
  if (field === 'featured') return facts.featured ? 'yes' : 'no';
  return facts[field] ?? '';
}

/** The facts that a form sends, or why it is refused. */
export function readForm(form: EditForm): { facts: SentFacts } | { problem: string } {
  if (form.name === '') return { problem: 'Enter a name.' };
  for (const [field, choices] of Object.entries(CHOICES)) {
    const value = form[field as keyof typeof CHOICES];
    if (value !== '' && !choices.some((choice) => choice.value === value))
      return { problem: `${field}: choose one of ${choices.map((choice) => choice.value).join(', ')}.` };
  }
  const { name, description, unit, topic, direction, featured, ranked } = form;
  return {
    facts: {
      name,
      description: description || null,
      unit: unit || null,
      ...(topic !== '' && { topic }),
      ...(direction !== '' && { higher_is_better: DIRECTIONS[direction as keyof typeof DIRECTIONS] }),
      ...(featured !== '' && { featured: featured === 'yes' }),
      ...(ranked !== '' && { no_rank: ranked === 'no' }),
    },
  };
}
