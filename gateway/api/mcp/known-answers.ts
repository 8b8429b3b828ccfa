/**
 * Answers of tools by edition and question: models ask for the same things, and an answer changes only with its edition and
 * with the log of editions.
 * Calls that are asked again cost half as much with it (`mcp` rows of the bench).
 */
import type { LogEntry } from '../../../data/schema/snapshot.ts';
import type { Plan, Planned } from '../operations/operation.ts';
import type { Edition } from '../snapshot/editions/edition.ts';
import { ByteCache } from '../snapshot/files/byte-cache.ts';
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

interface Known {
  /** Which editions there are: an answer may say whether its own is the newest. */
  log: readonly LogEntry[];
  plans: ByteCache<AnswerPlan>;
}

const known = new WeakMap<Edition, Known>();

const bytesOf = ({ answer }: AnswerPlan): number => answerText(answer).length * BYTES_PER_CHARACTER;

const isAnswer = (planned: Planned): planned is AnswerPlan => 'answer' in planned;

/** @param question all that the plan depends on, beside the edition. @param plan of a question that is not known */
export function planOnce(
  edition: Edition,
  question: string,
  plan: () => Promise<Planned>,
): Planned | Promise<Planned> {
  const plans = plansOf(edition);
  return plans.get(question) ?? plan().then((planned) => kept(planned, question, plans));
}

function plansOf(edition: Edition): ByteCache<AnswerPlan> {
  const log = edition.editions.all;
  const held = known.get(edition);
  if (held?.log === log) return held.plans;
  const plans = new ByteCache<AnswerPlan>(MAX_BYTES, bytesOf);
  known.set(edition, { log, plans });
  return plans;
}

function kept(planned: Planned, question: string, plans: ByteCache<AnswerPlan>): Planned {
  if (isAnswer(planned) && question.length <= QUESTION_MAX_LENGTH) plans.set(question, planned);
  return planned;
}
