/** A few kills; `archive.extended.test.ts` has more. */
import { testKilledArchive } from './killed-suite.ts';

testKilledArchive(3);
