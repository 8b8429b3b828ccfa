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
const OUTSIDE_ASCII = 2;
const ASCII_MAX = 0x7f;
const [SPACE, UPPER_A, UPPER_Z, LOWER_A, LOWER_Z] = [' ', 'A', 'Z', 'a', 'z'].map((text) =>
  text.charCodeAt(0),
) as [number, number, number, number, number];

const isLetter = (code: number): boolean =>
  (code >= LOWER_A && code <= LOWER_Z) || (code >= UPPER_A && code <= UPPER_Z);

/** No common tokenizer gives more tokens for such a text. */
export function tokensAtMost(text: string): number {
  let tokens = 0;
  let letters = 0;
  let wasSpace = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isLetter(code)) {
      if (letters % LETTERS_PER_TOKEN === 0) tokens += 1;
      letters += 1;
      wasSpace = false;
      continue;
    }
    letters = 0;
    const isSpace = code <= SPACE;
    if (!(isSpace && wasSpace)) tokens += code > ASCII_MAX ? OUTSIDE_ASCII : 1;
    wasSpace = isSpace;
  }
  return tokens;
}

/** Counts only where the length alone does not say that the answer fits. */
function sizeOf(answer: Answer): number {
  const [json, text] = [JSON.stringify(answer), answerText(answer)];
  const most = (json.length + text.length) * OUTSIDE_ASCII + FRAME_TOKENS;
  return most <= TOKENS_MAX ? most : tokensAtMost(json) + tokensAtMost(text) + FRAME_TOKENS;
}

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
