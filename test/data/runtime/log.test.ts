import { describe, expect, it } from 'vitest';
import { formatLogLine } from '../../../data/runtime/log.ts';

const time = '2026-11-22T14:57:58.919Z';
const format = (entry: object): string =>
  formatLogLine(JSON.stringify({ level: 30, time, ...entry })).replace(/^\d{2}:\d{2}:\d{2} /, '');

describe('a log line for people', () => {
  it('begins with the local time', () => {
    const line = formatLogLine(JSON.stringify({ level: 30, time, msg: 'worker ready' }));
    expect(line).toBe(`${new Date(time).toTimeString().slice(0, 8)} worker ready\n`);
  });

  it.each([
    [
      { msg: 'snapshot open', snapshot: '20261122T145744Z-21739440', before: null, worker: 0 },
      'snapshot open  snapshot=20261122T145744Z-21739440 worker=0',
    ],
    [
      { method: 'GET', route: '/v1/data', status: 200, duration_ms: 1.234, request_id: 'x', key_id: 'k' },
      'GET /v1/data 200 1.2 ms',
    ],
    [
      { msg: 'nightly run started', due: ['a', 'b'], not_due: ['c', 'd', 'e', 'f'], skipped: [] },
      'nightly run started  due=a,b not_due=4',
    ],
    [
      { msg: 'mail written', link: 'http://localhost:8080/account/confirm?t=a b' },
      'mail written  link="http://localhost:8080/account/confirm?t=a b"',
    ],
    [{ level: 40, msg: 'Redis is away', role: 'admin' }, 'warning: Redis is away  role=admin'],
    [
      { level: 40, msg: 'no demo key', err: { message: 'refused', stack: 'Error: refused\n    at x' } },
      'warning: no demo key: refused',
    ],
    [
      { level: 50, msg: 'request failed', err: { message: 'm', stack: 'Error: m\n    at x' } },
      'error: request failed: m\n    Error: m\n        at x',
    ],
    [{ level: 60, err: { message: 'm' } }, 'fatal: m'],
    [{ msg: 'job ended', id: 7, skipped: { a: 1 } }, 'job ended  id=7 skipped={"a":1}'],
  ])('of %j is %j', (entry, line) => {
    expect(format(entry)).toBe(`${line}\n`);
  });

  it('passes on no control character that another party chose', () => {
    const hostile = '\u001b[2J\u009b31m\r\n\u0007\u007f';
    const line = format({
      msg: hostile,
      name: hostile,
      err: { message: hostile, stack: hostile },
      level: 50,
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(line.trimEnd().replaceAll('\n    ', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  it('passes on what is no entry', () => {
    expect(formatLogLine('no JSON\n')).toBe('no JSON\n');
  });
});
