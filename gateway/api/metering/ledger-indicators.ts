/** How a ledger entry names the indicators of a call: the ids of the first few, and how many more there were. */

const NAMED_AT_MOST = 3;
const NAMED = /^(.*?)(?:\+(\d+))?$/;

/** Ids contain neither commas nor plus signs. Empty for no indicators. */
export function formatIndicators(ids: readonly string[] | undefined): string {
  if (ids === undefined || ids.length === 0) return '';
  const more = ids.length - NAMED_AT_MOST;
  return ids.slice(0, NAMED_AT_MOST).join(',') + (more > 0 ? `+${more}` : '');
}

export interface NamedIndicators {
  indicators: string[];
  /** Number of others that were not named. */
  more_indicators: number;
}

export function parseIndicators(text: string): NamedIndicators {
  const [, ids = '', more = '0'] = NAMED.exec(text) ?? [];
  return { indicators: ids.split(','), more_indicators: Number(more) };
}
