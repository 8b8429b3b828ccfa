/** The file is not the table that was expected; the message says why, for the operator. */
export class CsvError extends Error {
  override name = 'CsvError';
}
