/** Settings that cannot be together. */
import { describe, expect, it } from 'vitest';
import { generateSigningKey, parseSigningKey } from '../../../data/proofs/signing-key.ts';
import { readSettings, SettingsError } from '../../../data/runtime/settings.ts';
import { readWellKnown } from '../../../data/runtime/settings-schema.ts';

it.each([{ REDIS_CLUSTER: 'true' }, { REDIS_WAIT_REPLICAS: '1' }])(
  '%o needs a Redis of your own: the private one has neither slots nor replicas',
  (settings) => {
    expect(() => readSettings(settings)).toThrow(SettingsError);
    expect(() => readSettings(settings)).toThrow(/\n {2}REDIS_URL: needed/);
    expect(readSettings({ ...settings, REDIS_URL: 'redis://localhost' })).toBeDefined();
  },
);

describe('the origin', () => {
  const KEY = parseSigningKey(generateSigningKey('almanac.test')).publicKey;
  const settings = (SNAPSHOT_ORIGIN: string, more: Record<string, string> = {}) => ({
    SNAPSHOT_ORIGIN,
    SNAPSHOT_ORIGIN_KEY: KEY,
    ...more,
  });

  it('is an address without a slash at its end', () => {
    const { SNAPSHOT_ORIGIN } = readSettings(settings('https://storage.example/bucket//'));
    expect(SNAPSHOT_ORIGIN).toBe('https://storage.example/bucket');
    for (const bad of [
      'ftp://storage.example',
      'https://a:b@storage.example',
      'https://storage.example/?x=1',
    ])
      expect(() => readSettings(settings(bad))).toThrow(/\n {2}SNAPSHOT_ORIGIN: /);
  });

  it('needs keys', () => {
    expect(() => readSettings({ SNAPSHOT_ORIGIN: 'https://storage.example' })).toThrow(
      /SNAPSHOT_ORIGIN_KEY: needed with SNAPSHOT_ORIGIN/,
    );
    expect(() => readSettings(settings('https://storage.example', { SNAPSHOT_ORIGIN_KEY: ',' }))).toThrow(
      /SNAPSHOT_ORIGIN_KEY: needed with SNAPSHOT_ORIGIN/,
    );
    const keys = `${KEY},almanac.test+00000000+${KEY.split('+')[2]}`;
    expect(() => readSettings(settings('https://storage.example', { SNAPSHOT_ORIGIN_KEY: keys }))).toThrow(
      /SNAPSHOT_ORIGIN_KEY: .+ is not a key of a log/,
    );
  });

  it.each([
    ['https://storage.example', true],
    ['http://127.0.0.1:9000/bucket', true],
    ['http://[::1]:9000', true],
    ['http://localhost', true],
    ['http://storage.example', false],
    ['http://127.0.0.1.storage.example', false],
    ['http://10.0.0.1', false],
  ])('%s gets a token: %s', (origin, isSent) => {
    const read = () => readSettings(settings(origin, { SNAPSHOT_ORIGIN_TOKEN: 'secret' }));
    if (isSent) expect(read().SNAPSHOT_ORIGIN_TOKEN).toBe('secret');
    else expect(read).toThrow(/SNAPSHOT_ORIGIN_TOKEN: only sent to an https/);
    expect(readSettings(settings(origin)).SNAPSHOT_ORIGIN).toBe(origin);
  });
});

describe('files under /.well-known/', () => {
  const proof = 'v=MCPv1; k=ed25519; p=ab/c+d=';

  it('have a name and a text each', () => {
    const WELL_KNOWN = `openai-apps-challenge=a b=c|mcp-registry-auth=${proof}`;
    const files = readWellKnown(readSettings({ WELL_KNOWN }).WELL_KNOWN);
    expect([...(files ?? [])]).toEqual([
      ['openai-apps-challenge', 'a b=c'],
      ['mcp-registry-auth', proof],
    ]);
    expect(readWellKnown(readSettings({}).WELL_KNOWN)?.size).toBe(0);
  });

  it.each([
    ...['a', '=a', 'a=', 'a=b|', 'a=b|a=c', '../a=b', 'a/b=c', 'a b=c', '.a=b', '%2e=a', 'a=b\nc', 'a=é'],
    ...['almanac-keys.json=a', 'oauth-protected-resource=a', 'openid-configuration=a', `${'a'.repeat(65)}=b`],
  ])('are refused at start where one is bad: %s', (WELL_KNOWN) => {
    expect(() => readSettings({ WELL_KNOWN })).toThrow(/\n {2}WELL_KNOWN: files as name=text/);
  });
});
