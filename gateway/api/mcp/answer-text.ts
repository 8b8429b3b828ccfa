/** An answer as text, for hosts that show no structured content. It holds every value of the answer, figures exactly. */

type Cell = unknown;

const isRecord = (value: Cell): value is Record<string, Cell> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Text that could be taken for more than one cell or line is quoted. */
const NEEDS_QUOTES = /[|\n\r]|^\s|\s$|^$/;

function cellText(value: Cell): string {
  if (typeof value === 'string') return NEEDS_QUOTES.test(value) ? JSON.stringify(value) : value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A line a record under a header of names: members that a record lacks are empty. */
function tableText(name: string, rows: readonly Record<string, Cell>[]): string {
  const columns = [...new Set(rows.flatMap((row) => presentOf(row).map(([column]) => column)))];
  const lines = rows.map((row) =>
    columns.map((column) => (row[column] === undefined ? '' : cellText(row[column]))).join(' | '),
  );
  return [`${name} (${columns.join(' | ')}):`, ...lines].join('\n');
}

function memberText(name: string, value: Cell): string {
  if (Array.isArray(value) && value.length > 0 && value.every(isRecord)) return tableText(name, value);
  if (Array.isArray(value)) return `${name}: ${value.length === 0 ? 'none' : value.map(cellText).join(', ')}`;
  if (isRecord(value))
    return `${name}: ${presentOf(value)
      .map(([member, cell]) => `${member}=${cellText(cell)}`)
      .join('; ')}`;
  return `${name}: ${cellText(value)}`;
}

/** What JSON would hold. */
const presentOf = (record: Readonly<Record<string, Cell>>): [string, Cell][] =>
  Object.entries(record).filter(([, value]) => value !== undefined);

/** A text for each member. */
export const memberTexts = (members: Readonly<Record<string, Cell>>): string[] =>
  presentOf(members).map(([name, value]) => memberText(name, value));

/** Its length decides how much of an answer is sent, so each text is needed twice. */
const known = new WeakMap<object, string>();

/** The message first: it says what the rest is. */
export function answerText(answer: Readonly<{ message: string } & Record<string, unknown>>): string {
  const { message, ...members } = answer;
  const text = known.get(answer) ?? [message, ...memberTexts(members)].join('\n');
  known.set(answer, text);
  return text;
}
