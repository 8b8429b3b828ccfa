/** Settings that cannot be together. */
import { expect, it } from 'vitest';
import { readSettings, SettingsError } from '../../../data/runtime/settings.ts';

it.each([{ REDIS_CLUSTER: 'true' }, { REDIS_WAIT_REPLICAS: '1' }])(
  '%o needs a Redis of your own: the private one has neither slots nor replicas',
  (settings) => {
    expect(() => readSettings(settings)).toThrow(SettingsError);
    expect(() => readSettings(settings)).toThrow(/\n {2}REDIS_URL: needed/);
    expect(readSettings({ ...settings, REDIS_URL: 'redis://localhost' })).toBeDefined();
  },
);
