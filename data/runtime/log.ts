/**
 * Structured logs on standard error: one JSON line an event, or on a terminal a short line for people. Standard output
 * stays free for a program's result.
 */
import { isatty } from 'node:tty';
import { styleText } from 'node:util';
import { type Logger, pino } from 'pino';
import { formatLogLine } from './log-text.ts';
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

interface LineStream {
  write(line: string): void;
}

const STANDARD_ERROR = 2;
const FLUSH_WITHIN_MS = 1_000;
const standardError = pino.destination({ dest: STANDARD_ERROR, sync: false });

/** Coloured unless `NO_COLOR` or the terminal forbids it. */
const forPeople: LineStream = {
  write: (line) => {
    const text = formatLogLine(line, (style, part) => styleText(style, part, { stream: process.stderr }));
    standardError.write(text);
  },
};

/** @param also receives every line of level info and above as JSON, independently of LOG_LEVEL. */
export function createLog(
  { LOG_LEVEL, LOG_FORMAT }: Pick<Settings, 'LOG_LEVEL' | 'LOG_FORMAT'>,
  also?: LineStream,
): Logger {
  const options = { base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: SECRET_PATHS };
  const format = LOG_FORMAT ?? (isatty(STANDARD_ERROR) ? 'text' : 'json');
  const stream = format === 'text' ? forPeople : standardError;
  if (!also) return pino({ ...options, level: LOG_LEVEL }, stream);
  const written = LOG_LEVEL === 'silent' ? Number.POSITIVE_INFINITY : levelNumber(LOG_LEVEL);
  const streams = pino.multistream([{ level: 'info', stream: also }]);
  if (Number.isFinite(written)) streams.add({ level: written, stream });
  return pino({ ...options, level: written < levelNumber('info') ? LOG_LEVEL : 'info' }, streams);
}

const levelNumber = (level: string): number => pino.levels.values[level] ?? 0;

/** Resolves when all that was logged is written: what any process prints after that comes after it. */
export function flushLog(): Promise<void> {
  return new Promise((resolve) => {
    standardError.once('drain', resolve);
    // An empty write drains even when nothing else is waiting.
    standardError.write('');
    // A closed standard error never drains.
    setTimeout(resolve, FLUSH_WITHIN_MS).unref();
  });
}
