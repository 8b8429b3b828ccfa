/** Answers to the requests of the specification stay as they were recorded, byte for byte. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Service } from '../service.ts';
import { FIXTURE_SUBJECT, type RecordedAnswer, recordAnswers, specRequests } from './requests.ts';

const RECORDED = join(import.meta.dirname, 'answers.json');

test('the requests of the specification get the recorded answers', async () => {
  const recorded: RecordedAnswer[] = JSON.parse(await readFile(RECORDED, 'utf8'));
  const service = await Service.start();
  try {
    const answers = await recordAnswers(service, specRequests(FIXTURE_SUBJECT));
    expect(answers).toEqual(recorded);
  } finally {
    await service.stop();
  }
});
