/** Tables of the documentation that are generated from code: settings, errors, commands, mails, build steps. */
import { z } from 'zod';
import { COMMANDS } from '../../admin/cli.ts';
import { STEPS } from '../../build/steps.ts';
import { settingsSchema } from '../../data/runtime/settings-schema.ts';
import { QUALITY_KINDS } from '../../data/schema/quality-kinds.ts';
import { ERRORS } from '../../gateway/api/core/errors.ts';
import { INCLUDE_WORDS, INCLUDED } from '../../gateway/api/operations/catalogue/include.ts';
import { VECTOR_BLOCKS } from '../data/proofs/vectors.ts';
import { MAILS } from './mails.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const settingsMarkdown = (): string =>
  table(
    ['setting', 'default', 'what it is'],
    Object.entries(settingsSchema.shape).map(([name, field]) => {
      const value = field instanceof z.ZodDefault ? String(field.def.defaultValue) : '';
      return [`\`${name}\``, value === '' ? '' : `\`${value}\``, field.description ?? ''];
    }),
  );

const errorsMarkdown = (): string =>
  table(
    ['status', 'code', 'says'],
    Object.entries(ERRORS)
      .toSorted(([, a], [, b]) => a.status - b.status)
      .map(([code, { status, message }]) => [String(status), `\`${code}\``, message]),
  );

const additionsMarkdown = (): string =>
  table(
    ['word', 'what it adds'],
    INCLUDE_WORDS.map((word) => [`\`${word}\``, INCLUDED[word].description ?? '']),
  );

const accountMarkdown = (): string =>
  table(
    ['command', 'options', 'what it does'],
    Object.entries(COMMANDS).map(([name, { help, options }]) => [
      `\`${name}\``,
      Object.entries(options)
        .map(([option, { value }]) => `\`--${option}${value ? ` ${value}` : ''}\``)
        .join(' '),
      help,
    ]),
  );

const stepsMarkdown = (): string =>
  table(
    ['step', 'what it does'],
    [...STEPS].map(([name, { help }]) => [`\`${name}\``, help]),
  );

const qualityMarkdown = (): string =>
  table(
    ['kind', 'severity', 'what is found', 'extent'],
    Object.entries(QUALITY_KINDS).map(([kind, { severity, about, extent }]) => [
      `\`${kind}\``,
      severity,
      about,
      extent,
    ]),
  );

const mailsMarkdown = (): string =>
  table(
    ['subject', 'when', 'to'],
    Object.values(MAILS)
      .flat()
      .map(({ mail, when, to }) => [mail.subject, when, to]),
  );

/** By block name. `write-documentation-tables.ts` writes them, a test compares. */
export const DOCUMENTATION_TABLES: Readonly<Record<string, () => string>> = {
  errors: errorsMarkdown,
  include: additionsMarkdown,
  'quality-kinds': qualityMarkdown,
  account: accountMarkdown,
  mails: mailsMarkdown,
  steps: stepsMarkdown,
  settings: settingsMarkdown,
  ...VECTOR_BLOCKS,
};
