/** Asks GET /verify about corrupted claims, and counts what it tells. */
import type { Content } from '../../../../../gateway/api/operations/operation.ts';
import {
  parameterReader,
  parseQueryString,
} from '../../../../../gateway/api/operations/parameters/parameters.ts';
import { verify } from '../../../../../gateway/api/operations/proofs/verify.ts';
import type { SnapshotStore } from '../../../../../gateway/api/snapshot/editions/store.ts';
import {
  type Corruption,
  type Corruptions,
  KINDS,
  type Kind,
  OBSCURITIES,
  type Obscurity,
  TOLD_AS,
} from './corruptions.ts';

interface Row {
  verdict: string;
  reasons: { reason: string }[];
}

export interface Judged extends Corruption {
  row: Row;
  /** Why its text does not allow to tell what is wrong; null when it does. */
  obscuredBy: Obscurity | null;
  /** The verdict, or the first reason, is that of the corruption. */
  isTold: boolean;
  /** ... or any reason is. */
  isNamed: boolean;
}

const AT_ONCE = 50;
const read = parameterReader(verify.query);

async function ask(store: SnapshotStore, claims: readonly string[]): Promise<Row[]> {
  const snapshot = store.current();
  const query = claims.map((claim) => `claim=${encodeURIComponent(claim)}`).join('&');
  const reading = read(parseQueryString(query));
  if (!snapshot || !reading.ok) throw new Error(`no answer to ${query}`);
  const planned = await verify.plan({ snapshot, path: {}, query: reading.values, publicUrl: '' });
  if (planned.kind !== 'plan') throw new Error(`not planned: ${planned.kind}`);
  const content: Content = await planned.produce(null);
  if (content.kind !== 'document') throw new Error('no document');
  return JSON.parse(content.json.toString()).data;
}

export async function judgeAll(
  store: SnapshotStore,
  corruptions: Corruptions,
  all: readonly Corruption[],
): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const part = all.slice(at, at + AT_ONCE);
    const rows = await ask(
      store,
      part.map(({ indicator, iso3, year, text }) => [indicator, iso3, year, text].join(',')),
    );
    for (const [index, one] of part.entries()) {
      const row = rows[index];
      if (row) judged.push({ ...one, row, obscuredBy: corruptions.obscuredBy(one), ...told(one, row) });
    }
  }
  return judged;
}

function told({ kind }: Corruption, { verdict, reasons }: Row): Pick<Judged, 'isTold' | 'isNamed'> {
  const names = [verdict, ...reasons.map(({ reason }) => reason)];
  const isVerdict = verdict === TOLD_AS[kind];
  return {
    isTold: isVerdict || reasons[0]?.reason === TOLD_AS[kind],
    isNamed: names.includes(TOLD_AS[kind]),
  };
}

/** Claims that were called exact although their text is another number than the figure. */
export const falseExact = (judged: readonly Judged[]): Judged[] =>
  judged.filter(({ row, text, value }) => row.verdict === 'exact' && Number(text) !== value);

export interface Share {
  kind: Kind;
  claims: number;
  /** Those whose text allows to tell what is wrong. */
  clear: number;
  /** Of these. */
  told: number;
  obscured: Record<Obscurity, number>;
  /** Of all. */
  named: number;
}

const count = <Item>(items: readonly Item[], holds: (item: Item) => boolean): number =>
  items.filter(holds).length;

export const sharesOf = (judged: readonly Judged[]): Share[] =>
  KINDS.map((kind) => {
    const own = judged.filter((one) => one.kind === kind);
    const causes = OBSCURITIES.map((cause) => [cause, count(own, ({ obscuredBy }) => obscuredBy === cause)]);
    return {
      kind,
      claims: own.length,
      clear: count(own, ({ obscuredBy }) => obscuredBy === null),
      told: count(own, ({ obscuredBy, isTold }) => obscuredBy === null && isTold),
      obscured: Object.fromEntries(causes) as Share['obscured'],
      named: count(own, ({ isNamed }) => isNamed),
    };
  });

const LABELS: Record<Kind, string> = {
  wrong_year: 'the figure of another year',
  wrong_country: 'the figure of another country',
  percent: 'per cent for a fraction, or the reverse',
  thousand: 'times 1,000',
  rounded: 'rounded to one to four digits, at most 10 % off',
  other_provider: 'the figure of another provider',
  superseded: 'the figure of an earlier snapshot',
};

const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

/** Markdown: a row for each corruption, then the claims whose text allows to tell and that were not told. */
export function report(judged: readonly Judged[]): string {
  const shares = sharesOf(judged);
  const total = (of: (share: Share) => number): number => shares.reduce((sum, share) => sum + of(share), 0);
  const line = (label: string, of: (count: (share: Share) => number) => number): string => {
    const [clear, told] = [of((share) => share.clear), of((share) => share.told)];
    const causes = OBSCURITIES.map((cause) => of(({ obscured }) => obscured[cause]));
    const cells = [
      of(({ claims }) => claims),
      clear,
      percent(told, clear),
      ...causes,
      of(({ named }) => named),
    ];
    return `| ${[label, ...cells].join(' | ')} |`;
  };
  const missed = judged.filter(({ obscuredBy, isTold }) => obscuredBy === null && !isTold);
  return [
    '| claimed instead of the figure | claims | can be told | told | right as it stands | was right | another figure, too | named |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...shares.map((share) => line(LABELS[share.kind], (count) => count(share))),
    line('**all**', total),
    '',
    ...missed.map(
      ({ kind, indicator, iso3, year, text, value, row }) =>
        `- \`${indicator},${iso3},${year},${text}\` of ${value} (${kind}): ` +
        [row.verdict, ...row.reasons.map(({ reason }) => reason)].join(', '),
    ),
    '',
  ].join('\n');
}
