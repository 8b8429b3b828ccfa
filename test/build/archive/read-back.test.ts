/** A short run; `archive.extended.test.ts` has a longer one. */
import { describeReadBack } from './read-back-suite.ts';

describeReadBack(1);
