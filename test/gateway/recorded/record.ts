/**
 * Records the answers to the requests of the specification:
 *
 *   node test/gateway/recorded/record.ts                      over the fixture, into answers.json
 *   node test/gateway/recorded/record.ts SNAPSHOTS > FILE     over published starter data, for a comparison of two versions
 *
 * Run the first only when an answer is meant to change, and review the difference.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Service } from '../service.ts';
import {
  FIXTURE_SUBJECT,
  type RecordedAnswer,
  recordAnswers,
  STARTER_SUBJECT,
  specRequests,
} from './requests.ts';

/** One answer a line, so that a difference names the requests whose answers changed. */
const textOf = (answers: readonly RecordedAnswer[]): string =>
  `[\n${answers.map((answer) => JSON.stringify(answer)).join(',\n')}\n]\n`;

const [snapshots] = process.argv.slice(2);
const service = await Service.start(snapshots === undefined ? {} : { snapshots });
try {
  const subject = snapshots === undefined ? FIXTURE_SUBJECT : STARTER_SUBJECT;
  const text = textOf(await recordAnswers(service, specRequests(subject)));
  if (snapshots === undefined) await writeFile(join(import.meta.dirname, 'answers.json'), text);
  else process.stdout.write(text);
} finally {
  await service.stop();
}
