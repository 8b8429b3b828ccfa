/** Static files of the site. A path holds a digest of its content, so that browsers may keep it for ever. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { outlinesFile } from './charts/map.ts';

/** Compressed at the first request, off the main thread: at the start it would take every process a tenth of a second. */
const COMPRESSORS = [
  ['br', promisify(brotliCompress)],
  ['gzip', promisify(gzip)],
] as const;

const read = (name: string): Buffer => readFileSync(new URL(name, import.meta.url));

function staticFile(name: string, extension: string, type: string, plain: Buffer) {
  const digest = createHash('sha256').update(plain).digest('hex').slice(0, 12);
  const path: `/${string}` = `/assets/${name}-${digest}.${extension}`;
  return { path, type, plain, compressed: new Map<string, Promise<Buffer>>() };
}

/** One stylesheet for the site and for the areas that people sign in to. */
const STYLES = [
  '../web/styles/base',
  '../web/styles/forms',
  '../web/styles/components',
  '../web/styles/tables',
  '../web/styles/account',
  'styles/site',
  'styles/charts',
  'styles/countries',
  'styles/compare',
  'styles/docs',
  'styles/indicators',
  'styles/print',
];

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const SVG = 'image/svg+xml';
const PNG = 'image/png';

/** Without comments and indentation, which are a fifth of what is sent. */
const bare = (...names: string[]): Buffer =>
  Buffer.from(
    names
      .map((name) => read(name).toString())
      .join('')
      .replaceAll(/^ *(?:\/\/[^\n]*|\/\*.*?\*\/)$/gms, '')
      .replaceAll(/\n\s+/g, '\n'),
  );
const script = (name: string) => staticFile(name, 'js', JAVASCRIPT, bare(`${name}.js`));

const FILES = {
  stylesheet: staticFile('site', 'css', CSS, bare(...STYLES.map((name) => `${name}.css`))),
  script: script('island'),
  time: script('time'),
  crosshair: script('crosshair'),
  icon: staticFile('icon', 'svg', SVG, read('icon.svg')),
  picture: staticFile('icon', 'png', PNG, read('icon.png')),
  outlines: staticFile('world', 'svg', SVG, Buffer.from(outlinesFile())),
};

/** Paths for templates. */
export const ASSET_PATHS = Object.fromEntries(
  Object.entries(FILES).map(([name, { path }]) => [name, path]),
) as Readonly<Record<keyof typeof FILES, string>>;

/** The service's icon: as PNG for all, and in any size. */
export const ICONS = [
  { src: FILES.picture.path, mimeType: PNG, sizes: ['256x256'] },
  { src: FILES.icon.path, mimeType: SVG, sizes: ['any'] },
];

export function installAssets(app: FastifyInstance): void {
  for (const { path, type, plain, compressed } of Object.values(FILES)) {
    const handler = async ({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const accepted = headers['accept-encoding'] ?? '';
      reply.headers({ 'Cache-Control': 'public, max-age=31536000, immutable', Vary: 'Accept-Encoding' });
      reply.type(type);
      const chosen = COMPRESSORS.find(([encoding]) => new RegExp(`\\b${encoding}\\b`).test(accepted));
      if (chosen === undefined) return reply.send(plain);
      const [encoding, compress] = chosen;
      const bytes = compressed.get(encoding) ?? compress(plain);
      compressed.set(encoding, bytes);
      return reply.header('Content-Encoding', encoding).send(await bytes);
    };
    app.route({ method: ['GET', 'HEAD'], url: path, handler });
  }
}
