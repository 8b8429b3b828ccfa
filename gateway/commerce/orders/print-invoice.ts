/**
 * Makes PDF files of invoices in a thread of low priority, one at a time: each takes some 50 ms of a processor, for which
 * calls of the API would wait in the thread that answers them.
 */
import pLimit from 'p-limit';
import { JobThread } from '../../../data/runtime/job-thread.ts';
import { AccountError } from '../store/store.ts';
import type { InvoiceDocument } from './document.ts';

const QUEUE_MAX = 20;

/** A function that makes PDF files. @throws {AccountError} `busy`, from that function, when too many wait */
export function createInvoicePrinter(queueMax = QUEUE_MAX): (document: InvoiceDocument) => Promise<Buffer> {
  const oneByOne = pLimit(1);
  const thread = new JobThread<InvoiceDocument, Uint8Array>(new URL('./invoice-thread.ts', import.meta.url));
  return async (document) => {
    if (oneByOne.activeCount + oneByOne.pendingCount > queueMax)
      throw new AccountError('busy', 'Many invoices are being downloaded; try again in a moment.');
    return Buffer.from(await oneByOne(() => thread.run(document)));
  };
}
