/** Worker thread: makes the PDF of one invoice and ends. */
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { invoicePdf } from './invoice-pdf.ts';

// On Linux a priority belongs to a thread: calls of the API come first wherever processors are short.
if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_LOW);

parentPort?.postMessage(await invoicePdf(workerData));
