/**
 * Structured logs on standard error: one JSON line an event, or on a terminal a short line for people. Standard output
 * stays free for a program's result.
 */
import { isatty } from 'node:tty';
import { styleText } from 'node:util';
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

/** Colours a part of a line. */
export type Paint = (style: 'dim' | 'yellow' | 'red', text: string) => string;

type Entry = Readonly<Record<string, unknown>>;

const WARNING = 40;
const ERROR = 50;
const FATAL = 60;
/** Fields that have a place of their own in the line, or say nothing to a person. */
const NOT_LISTED = new Set(['level', 'time', 'msg', 'err']);
const LISTED_ITEMS = 3;
const LONGEST_OBJECT = 80;
const BARE = /^[\w.:/@+%-]+$/;
const INDENT = '    ';

/** @param json one line as pino writes it. @returns one line, and the stack below it for an error. */
export function formatLogLine(json: string, paint: Paint = (_style, text) => text): string {
  const entry = parse(json);
  if (entry === null) return json;
  const { level, time } = entry;
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const line = `${paint('dim', clock)} ${severity(Number(level), paint)}${isRequest(entry) ? request(entry) : event(entry, paint)}`;
  return `${line}${Number(level) >= ERROR ? stack(entry) : ''}\n`;
}

function parse(json: string): Entry | null {
  try {
    return JSON.parse(json) as Entry;
  } catch {
    return null;
  }
}

function severity(level: number, paint: Paint): string {
  if (level < WARNING) return '';
  if (level < ERROR) return paint('yellow', 'warning: ');
  return paint('red', level < FATAL ? 'error: ' : 'fatal: ');
}

const isRequest = ({ method, route, status }: Entry): boolean =>
  method !== undefined && route !== undefined && status !== undefined;

const request = ({ method, route, status, duration_ms }: Entry): string =>
  printable(`${method} ${route} ${status} ${Number(duration_ms).toFixed(1)} ms`);

function event(entry: Entry, paint: Paint): string {
  const { msg, err } = entry;
  const cause = (err as { message?: unknown } | undefined)?.message;
  const said = [msg, cause].filter((part) => part !== undefined).map((part) => printable(String(part)));
  const details = Object.entries(entry).flatMap(([name, value]) => {
    const text = NOT_LISTED.has(name) ? null : detail(value);
    return text === null ? [] : [`${name}=${text}`];
  });
  return said.join(': ') + (details.length > 0 ? paint('dim', `  ${details.join(' ')}`) : '');
}

/** Null for a value that says nothing. */
function detail(value: unknown): string | null {
  if (value === null) return null;
  if (Array.isArray(value)) {
    if (value.length === 0) return null;
    return value.length > LISTED_ITEMS ? String(value.length) : value.map(detail).join(',');
  }
  if (typeof value === 'string') return BARE.test(value) ? value : printable(JSON.stringify(value));
  const text = printable(JSON.stringify(value));
  return text.length > LONGEST_OBJECT ? `${text.slice(0, LONGEST_OBJECT)}…` : text;
}

function stack({ err }: Entry): string {
  const text = (err as { stack?: unknown } | undefined)?.stack;
  if (typeof text !== 'string') return '';
  return text
    .split('\n')
    .map((line) => `\n${INDENT}${printable(line)}`)
    .join('');
}

/** Escapes what a terminal would act on. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape
  text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code}`;
  });
