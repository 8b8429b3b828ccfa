/** Pictures by URL: what is shown, and to whom nothing is. */
import { describe, expect, test } from 'vitest';
import { testService } from './test-service.ts';

const service = testService();

const OPEN = '/indicators/alpha.child_mortality';

describe('a picture', () => {
  test('is an SVG document that other sites may show, with all that names it', async () => {
    for (const name of ['map.svg', 'lines.svg', 'bars.svg']) {
      const { status, headers, text } = await service.get(`${OPEN}/${name}`);
      expect([name, status, headers['content-type']]).toEqual([name, 200, 'image/svg+xml']);
      expect(headers['content-security-policy']).toContain('frame-ancestors *');
      expect(text).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="1200" height="675"/);
      expect(text).toMatch(/<title id="picture-title">.+<\/title><desc id="picture-text">.+<\/desc>/);
      expect(text).toContain('Source: Alpha Institute, CC BY 4.0');
      expect(text).not.toMatch(/\sstyle=|<style|<script|href=|NaN|undefined/);
    }
  });

  test('has one of two sizes', async () => {
    const { text } = await service.get(`${OPEN}/map.svg?size=square`);
    expect(text).toContain('width="900" height="900"');
    expect((await service.get(`${OPEN}/map.svg?size=huge`)).status).toBe(422);
  });
});

test('a map says the figures of any year, of a series that may only be shown those of the latest', async () => {
  const latest = await service.get(`${OPEN}/map.svg`);
  const earlier = await service.get(`${OPEN}/map.svg?year=2015`);
  expect(latest.text).toContain('<title>Kenya: ');
  expect(earlier.status).toBe(200);
  expect(earlier.text).toContain('<title>Kenya: ');
  const shown = await service.get('/indicators/gamma.reserves/map.svg?year=2018');
  expect(shown.status).toBe(200);
  expect(shown.text).not.toContain('<title>');
});

describe('lines', () => {
  test('are those of the countries asked for', async () => {
    const { text } = await service.get(`${OPEN}/lines.svg?countries=afg,ken`);
    expect(text).toMatch(/>Afghanistan<.*>Kenya</s);
  });

  test('are of six countries at most, by their codes', async () => {
    expect((await service.get(`${OPEN}/lines.svg?countries=AFG,ALB,BRA,DEU,KEN,USA,ZWE`)).status).toBe(422);
    expect((await service.get(`${OPEN}/lines.svg?countries=Kenya`)).status).toBe(422);
    expect((await service.get(`${OPEN}/lines.svg?countries=QQQ`)).status).toBe(404);
  });
});

describe('an indicator', () => {
  test('that may be shown and not exported has pictures', async () => {
    expect((await service.get('/indicators/gamma.reserves/map.svg')).status).toBe(200);
  });

  test('that is not in the edition has none', async () => {
    for (const name of ['map.svg', 'lines.svg', 'bars.svg'])
      expect((await service.get(`/indicators/alpha.nothing/${name}`)).status).toBe(404);
  });
});

describe('a scatter chart', () => {
  const URL = '/compare/scatter.svg?indicators=';

  test('has a dot for each country of both indicators', async () => {
    const { status, text } = await service.get(
      `${URL}alpha.life_expectancy,beta.long_series&countries=KEN,USA`,
    );
    expect([status, text.includes('<circle')]).toEqual([200, true]);
  });

  test('needs two indicators that there are', async () => {
    expect((await service.get(`${URL}alpha.life_expectancy`)).status).toBe(404);
    expect((await service.get('/compare/scatter.svg')).status).toBe(422);
  });
});

describe('an embedded picture', () => {
  const URL = '/embed/indicators/alpha.child_mortality';

  test('takes the outlines of a map from a file that browsers keep', async () => {
    const { text } = await service.get(URL);
    const [, path = '', code] = text.match(/<use href="([^"#]+)#(\w+)"/) ?? [];
    const file = await service.get(path);
    expect(file.headers['cache-control']).toContain('immutable');
    expect(file.text).toContain(`<path id="${code}"`);
  });

  test('of what is not there is a page that says so, and not for frames', async () => {
    const { status, headers } = await service.get('/embed/indicators/alpha.nothing');
    expect([status, headers['x-frame-options']]).toEqual([404, 'DENY']);
  });
});
