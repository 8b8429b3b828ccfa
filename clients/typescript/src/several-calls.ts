/** Verbs that may take several calls, all of them together within one limit. */
import { readTable } from './answers.ts';
import { extentQuery, given, type Query, type Since, sinceText } from './questions.ts';
import type { Revision, RevisionsMeta, Verdict } from './records.ts';
import type { Session } from './session.ts';
import { type Asked, Table } from './table.ts';

const CLAIMS_MAX = 50;

type RevisionsOfOne = Table<Omit<Revision, 'indicator'>, RevisionsMeta>;

/** Revisions of several indicators as one table, each row with its indicator. */
function joined(tables: readonly RevisionsOfOne[]): Table<Revision, readonly RevisionsMeta[]> {
  const rows = tables.flatMap((table) =>
    table.rows.map((row) => ({ indicator: table.meta.indicator, ...row })),
  );
  const prices = tables.map(({ price }) => price);
  const total = prices.includes(null) ? null : prices.reduce((sum: number, price) => sum + (price ?? 0), 0);
  const last = tables.at(-1)?.provenance;
  if (last === undefined) throw new TypeError('revisions of no indicator');
  const series = tables.flatMap(({ provenance }) => provenance.series);
  return new Table(
    rows,
    tables.map(({ meta }) => meta),
    { ...last, price: total, series },
  );
}

/** Every change of the figures that were asked about: a call for each indicator. */
export async function askRevisions(
  session: Session,
  { indicators, question }: Asked,
  since: Since | undefined,
  maxCredits: number | undefined,
): Promise<Table<Revision, readonly RevisionsMeta[]>> {
  const bounds: Query = [...extentQuery(question), ...given({ since: sinceText(since) })];
  let left = session.limit(maxCredits);
  const tables: RevisionsOfOne[] = [];
  for (const indicator of indicators) {
    const query: Query = [['indicator', indicator], ...bounds];
    const read = readTable<Omit<Revision, 'indicator'>, RevisionsMeta>;
    const table = await session.priced('/v1/revisions', query, read, left ?? undefined);
    // A repeated call does not say what it was charged: a credit per row, at least 1.
    if (left !== null) left = Math.max(0, left - (table.price ?? Math.max(1, table.length)));
    tables.push(table);
  }
  return joined(tables);
}

/** Verdicts on claims, fifty a call. @throws {TypeError} where they cost more than is allowed */
export async function judge(
  session: Session,
  claims: readonly string[],
  maxCredits: number | undefined,
): Promise<Verdict[]> {
  const limit = session.limit(maxCredits);
  const cost = claims.length;
  if (limit !== null && cost > limit)
    throw new TypeError(`${cost} claims cost ${cost} credits, more than maxCredits: ${limit}`);
  const verdicts: Verdict[] = [];
  for (let start = 0; start < cost; start += CLAIMS_MAX) {
    const query = claims.slice(start, start + CLAIMS_MAX).map((claim) => ['claim', claim] as const);
    verdicts.push(...(await session.pricedData<Verdict[]>('/v1/verify', query, maxCredits)));
  }
  return verdicts;
}
