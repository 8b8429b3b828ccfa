/** The child process of one part: sends every finding to its parent and exits with 1 when the part throws. */
import { PARTS } from './parts.ts';

const part = PARTS.find(({ name }) => name === process.argv[2]);
if (!part) throw new Error(`unknown part ${process.argv[2]}`);
const run = await part.load();
await run((promise, figure, ok) => {
  process.send?.({ promise, figure, ok });
});
// Open handles of the part must not delay the run. The parent looks for leftover processes.
process.exit(0);
