/** Alerts by mail, to operators and account holders. */
import { CHANGE_KINDS, type ChangedIndicator, type EditionDigest } from '../alerts/change-alerts.ts';
import type { Condition, OperatorAlert } from '../alerts/operator-alert.ts';
import { letter, type Mail } from './mailer.ts';

const count = new Intl.NumberFormat('en');

/** What a subject line shows of a sentence. */
const SUBJECT_LENGTH = 100;

const began = ({ what, since, url }: Condition): string =>
  `- ${what}${since === null ? '' : ` Since ${since}.`}\n  ${url}`;
const ended = ({ what }: Condition): string => `- ${what}`;

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:\n\n${lines.join('\n')}`];

export function operatorAlert(to: string, alert: OperatorAlert): Mail {
  const id = `alert-${alert.id}`;
  if (alert.isTest)
    return letter(
      { to, id, subject: 'Test alert of Almanac', link: null },
      `An operator asked for this test alert at ${alert.at}. Alerts reach this address.`,
    );
  return letter(
    { to, id, subject: writeSubject(alert), link: alert.begun[0]?.url ?? null },
    ...section('Needs attention', alert.begun.map(began)),
    ...section('No longer the case', alert.ended.map(ended)),
    `Noticed at ${alert.at}. Each is told once when it begins and once when it ends.`,
  );
}

function writeSubject({ begun, ended: over }: OperatorAlert): string {
  const [first = over[0]] = begun;
  const lead = begun.length === 0 ? 'No longer the case: ' : '';
  const others = (begun.length === 0 ? over.length : begun.length) - 1;
  const what = first?.what ?? '';
  const shown = what.length > SUBJECT_LENGTH ? `${what.slice(0, SUBJECT_LENGTH - 1)}…` : what;
  return `${lead}${shown}${others > 0 ? ` And ${others} more.` : ''}`;
}

export const spendingAbove = (
  to: string,
  link: string,
  { spent, threshold, per, since }: { spent: number; threshold: number; per: 'hour' | 'day'; since: string },
): Mail =>
  letter(
    { to, subject: `You spent more than ${count.format(threshold)} credits in one ${per}`, link },
    `Calls with keys of your Almanac account cost ${count.format(spent)} credits since ${since}. You asked to be told when they cost more than ${count.format(threshold)} in one ${per} (UTC). There is no second mail for this ${per}.`,
    `Change this alert at:\n\n${link}`,
  );

const CHANGES = {
  revised: 'Revised: figures of the same years are different now, or gone',
  redefined: 'Redefined: other words say what is counted, or in which unit',
  renamed: 'Renamed: the former ids still work',
  withdrawn: 'Withdrawn: no longer in the snapshot',
} as const;

function describe({ indicator, to, figures, redefined }: ChangedIndicator): string {
  if (redefined !== undefined) return `- ${indicator} (${redefined.join(', ')})`;
  if (to !== undefined) return `- ${indicator} is now ${to}`;
  return figures === undefined ? `- ${indicator}` : `- ${indicator} (${count.format(figures)} figures)`;
}

export function indicatorsChanged(to: string, link: string, { edition, changed }: EditionDigest): Mail {
  const names = new Set(changed.map(({ indicator }) => indicator));
  const sections = CHANGE_KINDS.flatMap((kind) =>
    section(CHANGES[kind], changed.filter(({ change }) => change === kind).map(describe)),
  );
  const many = names.size === 1 ? 'An indicator' : `${count.format(names.size)} indicators`;
  return letter(
    { to, subject: `${many} that you use changed`, link },
    `Snapshot ${edition} of Almanac changed what your account used in the 30 days before.`,
    ...sections,
    `Choose what you are told at:\n\n${link}`,
  );
}
