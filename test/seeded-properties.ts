/** Set-up of every test file: properties of fast-check draw the cases of `TEST_SEED`. */
import fc from 'fast-check';
import { SEED } from './environment.ts';

if (SEED !== null) fc.configureGlobal({ seed: SEED });
