/** Writes THIRD-PARTY.md anew: `node test/style/write-third-party.ts`, after a change of what is installed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './repository.ts';
import { thirdParty } from './third-party.ts';

writeFileSync(join(ROOT, 'THIRD-PARTY.md'), thirdParty());
