/**
 * Versions of an indicator's editable fields: a digest of each. A form carries the version that its operator saw, so a
 * stale form tells which fields its operator changed and which ones somebody else has changed meanwhile.
 */
import { createHash } from 'node:crypto';
import { EDITABLE, type EditableFacts, type EditableField } from '../data/schema/operator-changes.ts';

const DIGEST_LENGTH = 8;
const SEPARATOR = '-';

/** Fields as a form sends them; absent ones stay as they are. */
export type SentFacts = Partial<EditableFacts>;

/** Browsers send line breaks as CR LF, and pages trim what is sent. */
const comparable = (value: EditableFacts[EditableField]): unknown =>
  typeof value === 'string' ? value.replaceAll(/\r\n?/g, '\n').trim() || null : value;

export const isSame = (a: EditableFacts[EditableField], b: EditableFacts[EditableField]): boolean =>
  comparable(a) === comparable(b);

const digest = (value: EditableFacts[EditableField]): string =>
  createHash('sha256')
    .update(JSON.stringify(comparable(value)))
    .digest('hex')
    .slice(0, DIGEST_LENGTH);

export const versionOf = (facts: EditableFacts): string =>
  EDITABLE.map((field) => digest(facts[field])).join(SEPARATOR);

export interface Merge {
  /** The current facts with the fields that the operator changed. */
  merged: EditableFacts;
  /** Fields that differ from what the operator saw, because somebody else changed them. */
  changedMeanwhile: EditableField[];
  /** Fields that the operator changed. */
  changedByForm: EditableField[];
}

/** @param version what the operator saw; without one, each sent field that differs counts as changed by the form. */
export function mergeForm(current: EditableFacts, sent: SentFacts, version: string | null): Merge {
  const seen = version === null ? null : version.split(SEPARATOR);
  const wasSeen = (field: EditableField, value: EditableFacts[EditableField]): boolean =>
    seen === null ? isSame(value, current[field]) : digest(value) === seen[EDITABLE.indexOf(field)];
  const changedByForm = EDITABLE.filter((field) => {
    const value = sent[field];
    return value !== undefined && !wasSeen(field, value);
  });
  const changes = Object.fromEntries(changedByForm.map((field) => [field, sent[field]]));
  return {
    merged: { ...current, ...changes },
    changedMeanwhile: EDITABLE.filter((field) => !wasSeen(field, current[field])),
    changedByForm,
  };
}
