/**
 * `npm run journeys` counts the files that five journeys execute, and writes them into docs/architecture.md;
 * `-- --print` prints them only.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { block } from '../style/documentation.ts';
import { product, ROOT, read } from '../style/repository.ts';
import { Coverage } from './coverage.ts';
import { type Journey, measureJourneys } from './journeys.ts';

const LONGEST = 400;

function summary({ title, goal, files }: Journey): string {
  const verdict = goal === null ? '' : `${goal}, ${files.length <= goal ? 'met' : 'not met'}`;
  return `| ${title} | ${files.length} | ${verdict} |`;
}

function lists({ title, files }: Journey): string {
  const rooms = Object.groupBy(files, (path) => path.slice(0, path.lastIndexOf('/')));
  const lines = Object.entries(rooms).map(
    ([room, paths = []]) =>
      `- \`${room}\`: ${paths.map((path) => `\`${path.slice(room.length + 1)}\``).join(', ')}`,
  );
  return [`**${title}** executes ${files.length} files:`, '', ...lines].join('\n');
}

const coverage = new Coverage();
await coverage.start();
const journeys = await measureJourneys(coverage);
const long = product.filter((path) => read(path).split('\n').length - 1 > LONGEST).length;
const rows = [
  '| journey | files executed | goal |',
  '| --- | --- | --- |',
  ...journeys.map(summary),
  `| files over ${LONGEST} lines | ${long} | 0, ${long === 0 ? 'met' : 'not met'} |`,
];
const text = [rows.join('\n'), ...journeys.map(lists)].join('\n\n');
const { values } = parseArgs({ options: { print: { type: 'boolean' } } });
if (values.print) process.stdout.write(text);
else {
  const { path, content } = block('journeys');
  const head = '<!-- journeys -->\n';
  writeFileSync(
    join(ROOT, path),
    read(path).replace(head + content, () => head + text),
  );
  console.log(rows.join('\n'));
}
process.exit();
