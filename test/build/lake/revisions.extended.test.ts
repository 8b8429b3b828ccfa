/** Many random sequences of runs; a few are in revisions.test.ts. */
import { it } from 'vitest';
import { expectHistories } from './history-property.ts';

it('the history rebuilds exactly the rows of every run, in whatever order runs change, hold, accept and repeat', async () => {
  await expectHistories(40);
});
