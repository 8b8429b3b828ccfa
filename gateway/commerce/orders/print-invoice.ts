/**
 * Makes PDF files of invoices in threads of low priority, one at a time: each takes some 50 ms of a processor, for which
 * calls of the API would wait in the thread that answers them.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { AccountError } from '../store/store.ts';
import type { InvoiceDocument } from './document.ts';

const QUEUE_MAX = 20;

/** A function that makes PDF files. @throws {AccountError} `busy`, from that function, when too many wait */
export function createInvoicePrinter(queueMax = QUEUE_MAX): (document: InvoiceDocument) => Promise<Buffer> {
  const oneByOne = pLimit(1);
  return async (document) => {
    if (oneByOne.activeCount + oneByOne.pendingCount > queueMax)
      throw new AccountError('busy', 'Many invoices are being downloaded; try again in a moment.');
    return oneByOne(() => inThread(document));
  };
}

async function inThread(document: InvoiceDocument): Promise<Buffer> {
  const worker = new Worker(new URL('./invoice-thread.ts', import.meta.url), { workerData: document });
  const [bytes]: Uint8Array[] = await once(worker, 'message');
  if (!bytes) throw new Error('the thread has sent nothing');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
