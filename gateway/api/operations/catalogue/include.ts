/** `include`: properties that are added to indicator records on request. */
import { z } from 'zod';
import {
  indicatorDetail,
  indicatorRecord,
  redefinition,
  timestamp,
} from '../../../../data/schema/records.ts';
import {
  ADDITION_WORDS,
  ADDITIONS,
  type AdditionWord,
  snapshotId,
} from '../../../../data/schema/snapshot.ts';
import type { Edition } from '../../snapshot/snapshot.ts';
import { fail, parsed } from '../parameters/parameters.ts';

const revisedCount = (kind: string) => z.int().describe(`Figures ${kind}`);

const editionChange = z.object({
  edition: snapshotId,
  published_at: timestamp,
  event: z
    .enum(['added', 'withdrawn', 'renamed'])
    .nullable()
    .describe('What happened to the indicator as a whole'),
  revised: z
    .object({
      added: revisedCount('added'),
      changed: revisedCount('changed'),
      withdrawn: revisedCount('withdrawn'),
      restored: revisedCount('restored'),
    })
    .nullable()
    .describe('Null where no figure changed'),
  redefined: redefinition
    .omit({ indicator: true })
    .nullable()
    .describe('Null where name, unit and definition stayed'),
});
/** Not stored, but read from the log of snapshots. */
const editions = z
  .array(editionChange)
  .describe(
    'The snapshots that changed the indicator, newest first; of the newest 20 in which its provider changed',
  );

export const INCLUDED = { ...ADDITIONS, editions } as const;
export type IncludeWord = keyof typeof INCLUDED;
export const INCLUDE_WORDS = Object.keys(INCLUDED) as [IncludeWord, ...IncludeWord[]];

const WORD = INCLUDE_WORDS.join('|');

/** Distinct words in the order sent. */
export const includeWords = () =>
  parsed((sent, ctx): IncludeWord[] => {
    const words: IncludeWord[] = [];
    for (const [at, part] of sent.split(',').entries()) {
      const word = INCLUDE_WORDS.find((candidate) => candidate === part.trim());
      if (word === undefined) {
        const expected = INCLUDE_WORDS.map((candidate) => `'${candidate}'`).join(' or ');
        return fail(ctx, { type: 'literal_error', ctx: { expected }, input: part.trim(), at });
      }
      if (!words.includes(word)) words.push(word);
    }
    return words;
  })
    .describe(
      `Properties to add, separated by commas: ${INCLUDE_WORDS.map((word) => `\`${word}\``).join(', ')}`,
    )
    .meta({ type: 'string', pattern: `^(${WORD})(,(${WORD}))*$` });

const includedProperties = z.object(INCLUDED).partial().shape;
/** The records of an answer, with the properties that it may include. */
export const indicatorWithAdditions = indicatorRecord.extend(includedProperties);
export const detailWithAdditions = indicatorDetail.extend(includedProperties);

/** `include` as `meta` repeats it. */
export const includeEcho = { include: z.array(z.enum(INCLUDE_WORDS)).optional() };

/** Adds the properties to a record's JSON text. */
type Add = (json: string, id: string) => string;

/** Reads what some indicators get. @throws {SnapshotUnreadable} */
export async function additionsOf(
  snapshot: Edition,
  words: readonly IncludeWord[],
  ids: readonly string[],
): Promise<Add> {
  const stored = words.filter((word): word is AdditionWord => ADDITION_WORDS.some((known) => known === word));
  const lists = await snapshot.additions(stored, ids);
  const changes = new Map<string, string>();
  if (words.includes('editions')) for (const id of ids) changes.set(id, await changesOf(snapshot, id));
  return (json, id) => {
    const added = words.map((word) => {
      const list = word === 'editions' ? (changes.get(id) ?? '[]') : lists.json(word, id);
      return `,${JSON.stringify(word)}:${list}`;
    });
    return `${json.slice(0, -1)}${added.join('')}}`;
  };
}

/** As JSON: what was known when the edition was published. Ids of editions sort by time. */
async function changesOf({ id: newest, editions: { history } }: Edition, id: string): Promise<string> {
  const { changes } = await history.indicatorChanges(id);
  const known = changes.filter(({ entry }) => entry.edition <= newest);
  return JSON.stringify(known.map(({ entry, ...change }) => editionChange.parse({ ...entry, ...change })));
}
