/** What the doubts of a night depend on besides runs and the snapshot before, as one hash. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckContext } from './check.ts';

/** The checks themselves: a new version of the service may find more. */
async function hashCode(): Promise<string> {
  const directory = import.meta.dirname;
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hash = createHash('sha256');
  for (const file of files.sort()) hash.update(await readFile(file));
  return hash.digest('hex');
}

/** Equal for equal published and withheld series, labels, pairs and curated data, read by the same checks in the same year. */
export async function hashInputs({
  series,
  withheld,
  concepts,
  curated,
  currentYear,
}: CheckContext): Promise<string> {
  const published = [...series.values()].map(({ planned, record }) => [
    planned,
    record,
    curated.concepts.of(record.id) ?? null,
  ]);
  const inputs = [
    await hashCode(),
    currentYear,
    published,
    [...withheld],
    concepts,
    curated.countries,
    curated.links,
  ];
  return createHash('sha256').update(JSON.stringify(inputs)).digest('hex');
}
