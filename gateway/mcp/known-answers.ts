/**
 * Answers of tools by edition and question: models ask for the same things, and an answer cannot change within its edition.
 * Calls that are asked again cost half as much with it (`mcp` rows of the bench).
 */
import type { Plan, Planned } from '../operations/operation.ts';
import { ByteCache } from '../snapshot/byte-cache.ts';
import type { Edition } from '../snapshot/edition.ts';
import type { Answer } from './answer.ts';
import { answerText } from './answer-text.ts';

/** Of each edition that is open. */
const MAX_BYTES = 8 * 1024 * 1024;
const QUESTION_MAX_LENGTH = 2_048;
/** The object takes more than the text that says the same. */
const BYTES_PER_CHARACTER = 5;

/** A plan whose answer is known already. */
interface AnswerPlan extends Plan {
  answer: Answer;
}

/** @param charge what the answer costs; nothing unless it is given */
export const answerPlan = (
  answer: Answer,
  { price, rows, indicators = [] }: Pick<Plan, 'price' | 'rows' | 'indicators'> = { price: 0, rows: 0 },
): AnswerPlan => ({
  kind: 'plan',
  price,
  rows,
  indicators,
  answer,
  produce: () => ({ kind: 'object', value: answer }),
});

const answers = new WeakMap<Edition, ByteCache<AnswerPlan>>();

const bytesOf = ({ answer }: AnswerPlan): number => answerText(answer).length * BYTES_PER_CHARACTER;

const isKnown = (planned: Planned): planned is AnswerPlan => 'answer' in planned;

/** @param question all that the plan depends on, beside the edition. @param plan of a question that is not known */
export function planOnce(
  edition: Edition,
  question: string,
  plan: () => Promise<Planned>,
): Planned | Promise<Planned> {
  const own = answers.get(edition) ?? new ByteCache<AnswerPlan>(MAX_BYTES, bytesOf);
  answers.set(edition, own);
  return own.get(question) ?? plan().then((planned) => kept(planned, question, own));
}

function kept(planned: Planned, question: string, own: ByteCache<AnswerPlan>): Planned {
  if (isKnown(planned) && question.length <= QUESTION_MAX_LENGTH) own.set(question, planned);
  return planned;
}
