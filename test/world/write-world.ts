/** Writes the geometry of the maps anew: `node test/world/write-world.ts`, after a change of the countries that are served. */
import { writeFileSync } from 'node:fs';
import { makeWorld, WORLD_FILE } from './make-world.ts';

writeFileSync(WORLD_FILE, makeWorld());
