/** Something a person did that cannot be done, said in a sentence on a page of its own. */
export class PageProblem extends Error {
  override name = 'PageProblem';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
