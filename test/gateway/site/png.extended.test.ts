/** Pictures as PNG: sizes, fonts, cards, and a flood of them. */
import { describe, expect, test } from 'vitest';
import { PngRenderer } from '../../../gateway/site/png.ts';
import { testService } from './test-service.ts';

const service = testService();

const SIGNATURE = '89504e470d0a1a0a';

/** Width and height; null for anything but a PNG. */
function sizeOf(png: Buffer): [number, number] | null {
  if (png.subarray(0, 8).toString('hex') !== SIGNATURE) return null;
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
}

describe('a picture as PNG', () => {
  test('has the size of its SVG', async () => {
    for (const [path, size] of [
      ['/indicators/alpha.child_mortality/map.png', [1200, 675]],
      ['/indicators/alpha.child_mortality/lines.png?size=square', [900, 900]],
      ['/indicators/alpha.child_mortality/card.png', [1200, 630]],
      ['/indicators/beta.empty_series/card.png', [1200, 630]],
      ['/countries/KEN/card.png', [1200, 630]],
      ['/countries/ALA/card.png', [1200, 630]],
      ['/card.png', [1200, 630]],
    ] as const) {
      const { status, headers, bytes } = await service.get(path);
      expect([path, status, headers['content-type'], sizeOf(bytes)]).toEqual([path, 200, 'image/png', size]);
    }
  });

  test('stands in the link previews of pages', async () => {
    for (const page of ['/', '/indicators/alpha.child_mortality', '/countries/KEN']) {
      const { text } = await service.get(page);
      const [, address = ''] = text.match(/<meta property="og:image" content="([^"]+)"/) ?? [];
      const { status, bytes } = await service.get(new URL(address, service.url).pathname);
      expect([page, status, sizeOf(bytes)]).toEqual([page, 200, [1200, 630]]);
    }
    const { text } = await service.get('/countries/KEN');
    expect(text).toContain('/countries/KEN/card.png"');
  });

  test('is drawn once for all who ask for it at the same time', async () => {
    // More than the queue holds.
    const url = '/indicators/alpha.child_mortality/lines.png?countries=KEN&size=square';
    const answers = await Promise.all(Array.from({ length: 40 }, () => service.get(url)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test('of nothing is not there', async () => {
    for (const path of [
      '/indicators/alpha.nothing/map.png',
      '/indicators/alpha.nothing/card.png',
      '/countries/QQQ/card.png',
    ])
      expect([path, (await service.get(path)).status]).toEqual([path, 404]);
  });
});

describe('the renderer', () => {
  const drawing = (content: string) => async (): Promise<string> =>
    `<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20">${content}</svg>`;
  const drawn = async (renderer: PngRenderer, content = ''): Promise<Buffer> =>
    (await renderer.render(drawing(content))) ?? Buffer.alloc(0);

  test('has fonts of its own, for headings and for text', async () => {
    const renderer = new PngRenderer();
    const empty = await drawn(renderer);
    const pictures = new Set<string>();
    for (const font of ["'Source Sans 3'", 'Gelasio']) {
      const text = `<text y="15" font-size="14" font-weight="600" font-family="${font}">CO₂ ç</text>`;
      pictures.add((await drawn(renderer, text)).toString('hex'));
    }
    expect(pictures.size).toBe(2);
    expect(pictures).not.toContain(empty.toString('hex'));
  });

  test('goes on after a document that cannot be drawn', async () => {
    const renderer = new PngRenderer();
    const unread = (): Promise<string> => Promise.reject(new Error('cannot be read'));
    const settled = await Promise.allSettled([
      renderer.render(async () => '<svg'),
      renderer.render(unread),
      renderer.render(drawing('')),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  });
});

test('a flood of pictures is refused as overload, and calls of the API are answered', async () => {
  const codes = ['AFG', 'ALB', 'BRA', 'CIV', 'DEU', 'KEN', 'USA', 'XKX', 'ZWE', 'CUW', 'ALA'];
  const urls = codes.flatMap((code) =>
    ['wide', 'square'].map(
      (size) => `/indicators/alpha.child_mortality/bars.png?around=${code}&size=${size}`,
    ),
  );
  const flood = Promise.all(urls.map((url) => service.get(url)));
  expect((await service.get('/v1/topics')).status).toBe(200);
  const answers = await flood;
  const statuses = new Set(answers.map(({ status }) => status));
  expect(statuses).toEqual(new Set([200, 503]));
  const refused = answers.find(({ status }) => status === 503);
  expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
});
