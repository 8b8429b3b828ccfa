/** The address that the service gives for itself. */
import { expect, test } from 'vitest';
import { readSettings } from '../../data/runtime/settings.ts';
import { serviceAddress } from '../../gateway/api/http/server/service-address.ts';

test.each([
  [{ PUBLIC_URL: 'https://data.example/almanac//' }, 'https://data.example/almanac'],
  [{ PUBLIC_URL: '', HOST: '0.0.0.0', PORT: '8080' }, 'http://localhost:8080'],
  [{ PUBLIC_URL: '', HOST: '::1', PORT: '81' }, 'http://localhost:81'],
  [{ PUBLIC_URL: '', HOST: '2001:db8::7', PORT: '81' }, 'http://[2001:db8::7]:81'],
  [{ PUBLIC_URL: '', HOST: '192.0.2.7', PORT: '81' }, 'http://192.0.2.7:81'],
])('with %o', (settings, address) => {
  expect(serviceAddress(readSettings(settings))).toBe(address);
});
