/** From an Authorization header to a key. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { mintKeyText } from '../../../../gateway/api/metering/keys.ts';
import { countCommands, keysMatching, startRedis, type TestRedis } from '../../../redis.ts';
import { createWorld, seededRandom, type World } from './harness.ts';

let server: TestRedis;
let world: World;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  world = createWorld(await server.connect());
});

/** Redis look-ups during `work`. */
const lookUps = (work: () => Promise<unknown>): Promise<number> => countCommands(world.redis, ['get'], work);

describe('resolveKey', () => {
  it('needs no look-up for a known key', async () => {
    const { key } = await world.customer();
    expect(await lookUps(() => world.metering.resolveKey(`Bearer ${key}`))).toBe(0);
  });

  it('needs no look-up for a malformed key or a wrong checksum', async () => {
    const { key } = await world.customer();
    const broken = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
    for (const text of [broken, 'alm_live_x_y', key.toUpperCase()]) {
      const resolve = () => world.metering.resolveKey(`Bearer ${text}`);
      expect(await lookUps(resolve)).toBe(0);
      expect(await resolve()).toBeNull();
    }
  });

  it('looks an unknown id and a wrong secret up every time: neither is cached', async () => {
    const random = seededRandom('guesses');
    const { apiKey } = await world.customer();
    const unknown = mintKeyText('live', random).key;
    // A well-formed key with an existing id and another secret.
    const guess = mintWith(apiKey.key_id);
    for (const text of [unknown, guess]) {
      for (let i = 0; i < 2; i++) {
        const resolve = () => world.metering.resolveKey(`Bearer ${text}`);
        expect(await lookUps(resolve)).toBe(1);
        expect(await resolve()).toBeNull();
      }
    }
  });

  it('resolves a key after guesses at its secret', async () => {
    const { key, apiKey } = await world.customer();
    expect(await world.metering.resolveKey(`Bearer ${mintWith(apiKey.key_id)}`)).toBeNull();
    expect(await world.metering.resolveKey(`Bearer ${key}`)).toEqual(apiKey);
  });

  it('rejects a key with the other environment', async () => {
    const { apiKey } = await world.customer();
    expect(await world.metering.resolveKey(`Bearer ${mintWith(apiKey.key_id, 'test')}`)).toBeNull();
  });
});

it('a resolved key names its account and holds nothing of its secret', async () => {
  const { apiKey, account_id, key } = await world.customer();
  expect(apiKey).toEqual({
    key_id: key.slice(9, 21),
    account_id,
    environment: 'live',
    scopes: ['read'],
    expires_at_ms: null,
  });
});

it('Redis holds no secret of a key', async () => {
  const { key } = await world.customer();
  const secret = key.slice(-40);
  for (const name of await keysMatching(world.redis)) {
    expect(JSON.stringify(await world.redis.dump(name))).not.toContain(secret);
  }
});

/** A well-formed key with this id and a made-up secret. */
function mintWith(key_id: string, environment: 'live' | 'test' = 'live'): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  let first = true;
  const random = (size: number): Buffer => {
    if (!first) return Buffer.alloc(size, 7);
    first = false;
    return Buffer.from([...key_id].map((character) => alphabet.indexOf(character)));
  };
  return mintKeyText(environment, random).key;
}
