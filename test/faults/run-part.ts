/** The process of one part: tells its parent of every promise, and ends with 1 when the part itself failed. */
import { PARTS } from './parts.ts';

const part = PARTS.find(({ name }) => name === process.argv[2]);
if (!part) throw new Error(`there is no part ${process.argv[2]}`);
const run = await part.load();
await run((promise, figure, ok) => {
  process.send?.({ promise, figure, ok });
});
// What a part forgot to close must not keep the run waiting: it ends here, and its processes are looked for.
process.exit(0);
