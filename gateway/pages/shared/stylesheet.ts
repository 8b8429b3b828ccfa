/**
 * The one stylesheet of all pages, written as a few files. Its name holds a digest of its content, so browsers keep it for good and a changed
 * one is fetched at once.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

const bytes = Buffer.concat(
  ['ground.css', 'forms.css', 'parts.css', 'account.css'].map((name) =>
    readFileSync(new URL(`styles/${name}`, import.meta.url)),
  ),
);
const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 12);

export const STYLESHEET_PATH = `/pages-${digest}.css`;

export function installStylesheet(app: FastifyInstance): void {
  app.get(STYLESHEET_PATH, (_request, reply) =>
    reply
      .header('Content-Type', 'text/css; charset=utf-8')
      .header('Cache-Control', 'public, max-age=31536000, immutable')
      .send(bytes),
  );
}
