/** `npm run size` prints the lines of code by folder, by room of the gateway and by kind of file. */
import { extname } from 'node:path';
import { files, read } from './repository.ts';

const KINDS = ['ts', 'lua', 'mjs', 'njk', 'sql', 'js', 'css'];

/** The rows of the table that count a file. */
function rowsOf(path: string): string[] {
  const [top = '', room = '', ...deeper] = path.split('/');
  if (top === 'test') return ['tests'];
  if (top === 'clients') return ['clients'];
  if (!['gateway', 'build', 'data', 'admin'].includes(top)) return [];
  if (top !== 'gateway') return ['product', `product ${top}`];
  return ['product', 'product gateway', `product gateway/${deeper.length > 0 ? room : '*.ts'}`];
}

const rows = new Map<string, Record<string, number>>();
for (const path of files) {
  const kind = extname(path).slice(1);
  // Python and R are code only in the clients: in tests they drive foreign software.
  if (!KINDS.includes(kind) && !(['py', 'R'].includes(kind) && path.startsWith('clients/'))) continue;
  const lines = read(path).split('\n').length - 1;
  for (const name of rowsOf(path)) {
    const row = rows.get(name) ?? { files: 0, lines: 0, ...Object.fromEntries(KINDS.map((one) => [one, 0])) };
    const { files: count = 0, lines: sum = 0, [kind]: before = 0 } = row;
    rows.set(name, { ...row, files: count + 1, lines: sum + lines, [kind]: before + lines });
  }
}
console.table(Object.fromEntries([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1))));
