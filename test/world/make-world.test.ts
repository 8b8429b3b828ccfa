import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeWorld, WORLD_FILE } from './make-world.ts';

test('the committed map is what the atlas and countries.csv give', () => {
  expect(readFileSync(WORLD_FILE, 'utf8') === makeWorld()).toBe(true);
});
