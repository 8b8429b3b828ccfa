/** Addresses for documents that are kept. */

/** What stands before paths; null where the service does not know its own address. */
export const baseOf = (publicUrl: string | undefined): string | null =>
  publicUrl === undefined ? null : publicUrl.replace(/\/+$/, '');
