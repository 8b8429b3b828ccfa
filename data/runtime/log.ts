/** Structured logs: one JSON line an event on standard error. Standard output stays free for a program's result. */
import { type Logger, pino } from 'pino';
import type { Settings } from './settings.ts';

/** Fields that are redacted in every logged object. */
const SECRET_PATHS = [
  'authorization',
  'headers.authorization',
  'req.headers.authorization',
  'key',
  'password',
  'email',
];

/** @param also receives every line of level info and above, independently of LOG_LEVEL. */
export function createLog(
  settings: Pick<Settings, 'LOG_LEVEL'>,
  also?: { write(line: string): void },
): Logger {
  const options = { base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: SECRET_PATHS };
  const standardError = pino.destination({ dest: 2, sync: false });
  if (!also) return pino({ ...options, level: settings.LOG_LEVEL }, standardError);
  const written =
    settings.LOG_LEVEL === 'silent' ? Number.POSITIVE_INFINITY : levelNumber(settings.LOG_LEVEL);
  const streams = pino.multistream([{ level: 'info', stream: also }]);
  if (Number.isFinite(written)) streams.add({ level: written, stream: standardError });
  return pino({ ...options, level: written < levelNumber('info') ? settings.LOG_LEVEL : 'info' }, streams);
}

const levelNumber = (level: string): number => pino.levels.values[level] ?? 0;
