/** The child process of one part: sends every finding to its parent, and what the part throws. */
import type { Told } from './part-process.ts';
import { load } from './parts.ts';

const send = (told: Told): Promise<void> =>
  new Promise((sent) => {
    process.send?.(told, () => sent());
  });

// An error that no caller awaits ends the part, too.
process.once('uncaughtException', async (error) => {
  console.error(error);
  await send({ thrown: String(error) });
  process.exit(1);
});

const run = await load(process.argv[2] ?? '');
await run((promise, figure, ok) => void send({ promise, figure, ok }));
// Open handles of the part must not delay the run. The parent looks for leftover processes.
process.exit(0);
