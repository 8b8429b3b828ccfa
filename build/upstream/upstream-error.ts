/** An upstream file could not be had. The message says which and why; it is shown to operators, not to the public. */
export class UpstreamError extends Error {
  override name = 'UpstreamError';
  /** The HTTP status, where there was an answer. */
  readonly status: number | null;
  constructor(message: string, status: number | null = null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
