/**
 * How long an answer may be. No two models count tokens alike, so the count is conservative: a token for each digit and
 * each mark, one for every three letters of a word, and two for each character outside ASCII.
 */
import type { Answer } from './answer.ts';
import { answerText } from './answer-text.ts';

/** Of a whole result: text and structured content together. */
export const TOKENS_MAX = 20_000;

/** What is added after the answer is made: what it cost, and the frame of the protocol. */
const FRAME_TOKENS = 200;

const LETTERS_PER_TOKEN = 3;
const PARTS = /[A-Za-z]+|\P{ASCII}|\s+|[\s\S]/gu;

/** No common tokenizer gives more tokens for such a text. */
export function tokensAtMost(text: string): number {
  let tokens = 0;
  for (const [part] of text.matchAll(PARTS)) {
    if (/^[A-Za-z]/.test(part)) tokens += Math.ceil(part.length / LETTERS_PER_TOKEN);
    else tokens += part.charCodeAt(0) > 0x7f ? 2 : 1;
  }
  return tokens;
}

const sizeOf = (answer: Answer): number =>
  tokensAtMost(JSON.stringify(answer)) + tokensAtMost(answerText(answer)) + FRAME_TOKENS;

/** Share of the rows that is tried next, below what the last size suggests. */
const MARGIN = 0.95;

/**
 * The answer with as many rows as fit.
 * @param make the answer with its first `rows` rows. @param rows how many there are.
 */
export function fitted<Made extends Answer>(rows: number, make: (rows: number) => Made): Made {
  let answer = make(rows);
  for (let left = rows; left > 0; answer = make(left)) {
    const size = sizeOf(answer);
    if (size <= TOKENS_MAX) return answer;
    left = Math.min(left - 1, Math.floor(((left * TOKENS_MAX) / size) * MARGIN));
  }
  return answer;
}
