/** The credit packs on sale, from curated data. */
import { join } from 'node:path';
import { z } from 'zod';
import { readDocument } from '../../../data/curated/document.ts';
import { Problems } from '../../../data/curated/problems.ts';
import { type CreditPack, creditPack } from '../../../data/schema/curated.ts';

/** @throws {CuratedError} naming file, line and reason. */
export async function readPacks(curatedDir: string): Promise<CreditPack[]> {
  const problems = new Problems();
  const document = await readDocument(join(curatedDir, 'packs.yaml'), z.array(creditPack), problems);
  problems.throwIfAny();
  return document?.value ?? [];
}
