/** SDMX observation statuses in words, and which of them are forecasts. */
import { describe, expect, it } from 'vitest';
import { describeStatus, isForecast } from '../../../build/connectors/sdmx-message.ts';

describe('statuses', () => {
  const forecasts = new Set(['F', 'PR', 'PRED']);
  it.each([
    ['', null, false],
    ['A', null, false],
    ['E', 'estimated', false],
    ['p', 'provisional', false],
    ['f', 'forecast', true],
    ['PR', 'projection', true],
    ['BEP', 'break, estimated, provisional', false],
    ['ef', 'estimated, forecast', true],
    ['LT', 'less than', false],
    ['7', '7', false],
    ['F7', 'F7', false],
  ])('%j means %j', (code, words, forecast) => {
    expect(describeStatus(code)).toBe(words);
    expect(isForecast(code, forecasts)).toBe(forecast);
  });
});
