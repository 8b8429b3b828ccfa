/** Worker thread: makes the PDF files of invoices. */
import { constants } from 'node:os';
import { serveJobs } from '../../../data/runtime/job-thread.ts';
import { invoicePdf } from './invoice-pdf.ts';

serveJobs(constants.priority.PRIORITY_LOW, invoicePdf);
