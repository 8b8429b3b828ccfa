/** Many random sequences of editions; a few are in compare-editions.test.ts. */
import { it } from 'vitest';
import { expectReplays } from './edition-property.ts';

it('the first edition and all revisions give the last, whatever was changed, withdrawn and renamed', async () => {
  await expectReplays(150);
});
