/** Structured logs: one JSON line an event on standard error, so that standard output stays a program's answer. */
import { type Logger, pino } from 'pino';
import type { Settings } from './settings.ts';

/** Secrets never reach a log, whatever object is handed in. */
const SECRET_PATHS = [
  'authorization',
  'headers.authorization',
  'req.headers.authorization',
  'key',
  'password',
  'email',
];

export function createLog(settings: Pick<Settings, 'LOG_LEVEL'>): Logger {
  return pino(
    { level: settings.LOG_LEVEL, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: SECRET_PATHS },
    pino.destination({ dest: 2, sync: false }),
  );
}
