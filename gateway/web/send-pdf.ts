/** PDF files as downloads. */
import type { FastifyReply } from 'fastify';

/** Sends a download named `<name>.pdf`. */
export const sendPdf = (reply: FastifyReply, name: string, bytes: Buffer): FastifyReply =>
  reply
    .header('Content-Type', 'application/pdf')
    .header('Content-Disposition', `attachment; filename="${name}.pdf"`)
    .send(bytes);
