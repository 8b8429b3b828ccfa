/** A few kills; `backup.extended.test.ts` has more. */
import { describeKilledRestore } from './killed-suite.ts';

describeKilledRestore(3, 0.5);
