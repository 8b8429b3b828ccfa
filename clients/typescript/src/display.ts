/** Rows as tables for people: aligned text for terminals, and HTML for notebooks and pages. */
export type Cells = Readonly<Record<string, unknown>>;

export const cellText = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  return String(value).replaceAll(/[\p{C}\s]+/gu, ' ');
};

/** Columns side by side, numbers to the right. */
export function textTable(columns: readonly string[], rows: readonly Cells[]): string {
  if (rows.length === 0) return 'no rows';
  const shown = columns.map((name) => {
    const cells = rows.map((row) => cellText(row[name]));
    const width = Math.max(name.length, ...cells.map(({ length }) => length));
    const isNumber = rows.some((row) => typeof row[name] === 'number');
    const pad = (text: string): string => (isNumber ? text.padStart(width) : text.padEnd(width));
    return [pad(name), '-'.repeat(width), ...cells.map(pad)];
  });
  const lines = (shown[0] ?? []).map((_, line) => shown.map((cells) => cells[line]).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"]/g, (sign) => ESCAPES[sign] ?? '');

/** @param caption lines above it */
export function htmlTable(
  columns: readonly string[],
  rows: readonly Cells[],
  caption: readonly string[],
): string {
  const head = columns.map((name) => `<th>${escapeHtml(name)}</th>`).join('');
  const cell = (value: unknown): string =>
    `<td${typeof value === 'number' ? ' style="text-align: right"' : ''}>${escapeHtml(cellText(value))}</td>`;
  const body = rows.map((row) => `<tr>${columns.map((name) => cell(row[name])).join('')}</tr>`).join('');
  const title = caption.map(escapeHtml).join('<br>');
  return `<table><caption>${title}</caption><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}
