/** A command that cannot be carried out as asked. The message is a sentence for the person who asked. */
export class CommandError extends Error {
  override name = 'CommandError';
}
