/** What was asked cannot be done, for a reason that is nobody's fault: a sentence for the person who asked. */
export class Refusal extends Error {
  override name = 'Refusal';
}
