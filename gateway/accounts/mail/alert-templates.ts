/** Mails that tell of something that happened: to operators and to holders of accounts. */
import type { Condition, OperatorAlert } from '../operator-alerts/operator-alert.ts';
import type { Mail } from './mailer.ts';

const signed = (...paragraphs: string[]): string => `${[...paragraphs, 'Almanac'].join('\n\n')}\n`;

/** What a subject line shows of a sentence. */
const SUBJECT_LENGTH = 100;

const began = ({ what, since, url }: Condition): string =>
  `- ${what}${since === null ? '' : ` Since ${since}.`}\n  ${url}`;
const ended = ({ what }: Condition): string => `- ${what}`;

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:\n\n${lines.join('\n')}`];

export function operatorAlert(to: string, alert: OperatorAlert): Mail {
  if (alert.isTest)
    return {
      ...{ to, subject: 'Test alert of Almanac', link: null },
      text: signed(`An operator asked for this test alert at ${alert.at}. Alerts reach this address.`),
    };
  return {
    to,
    subject: subjectOf(alert),
    link: alert.begun[0]?.url ?? null,
    text: signed(
      ...section('Needs attention', alert.begun.map(began)),
      ...section('No longer the case', alert.ended.map(ended)),
      `Noticed at ${alert.at}. Each is told once when it begins and once when it ends.`,
    ),
  };
}

function subjectOf({ begun, ended: over }: OperatorAlert): string {
  const [first = over[0]] = begun;
  const lead = begun.length === 0 ? 'No longer the case: ' : '';
  const others = (begun.length === 0 ? over.length : begun.length) - 1;
  const what = first?.what ?? '';
  const shown = what.length > SUBJECT_LENGTH ? `${what.slice(0, SUBJECT_LENGTH - 1)}…` : what;
  return `${lead}${shown}${others > 0 ? ` And ${others} more.` : ''}`;
}
