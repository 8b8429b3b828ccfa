/**
 * Reads a curated YAML file and checks it against a schema. Problems name the line of the wrong value, of the unknown key
 * or of the object that lacks a field.
 */
import { readFile } from 'node:fs/promises';
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { Position, Problems } from './problems.ts';
import { unreadable } from './table.ts';

type Path = readonly PropertyKey[];

/** A checked YAML file. */
export interface CuratedDocument<T> {
  value: T;
  /** The position of the value at a path, or of its nearest existing parent. */
  at(path: Path): Position;
}

/** Reads one YAML file. Returns `undefined` and adds the problems when it does not match the schema. */
export async function readDocument<T>(
  file: string,
  schema: z.ZodType<T>,
  problems: Problems,
): Promise<CuratedDocument<T> | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    problems.add({ file, line: 1 }, unreadable(error));
    return undefined;
  }
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter });
  for (const error of document.errors) {
    const reason = error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '');
    problems.add({ file, line: error.linePos?.[0].line ?? 1 }, `not readable as YAML: ${reason}`);
  }
  if (document.errors.length > 0) return undefined;
  const at = (path: Path): Position => ({ file, line: lineOf(document, path, counter) });
  const parsed = schema.safeParse(document.toJS());
  if (parsed.success) return { value: parsed.data, at };
  for (const issue of parsed.error.issues) addIssue(issue, at, problems);
  return undefined;
}

function addIssue(issue: z.core.$ZodIssue, at: (path: Path) => Position, problems: Problems): void {
  const field = issue.path.length > 0 ? `${issue.path.join('.')}: ` : '';
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) problems.add(at([...issue.path, key]), `${field}unknown field "${key}"`);
  } else {
    problems.add(at(issue.path), `${field}${issue.message}`);
  }
}

function lineOf(document: Document, path: Path, counter: LineCounter): number {
  for (let depth = path.length; depth >= 0; depth--) {
    const offset = offsetOf(document, path.slice(0, depth));
    if (offset !== undefined) return counter.linePos(offset).line;
  }
  return 1;
}

/** The position of the key rather than of the value: a mapping starts on the line after its key. */
function offsetOf(document: Document, path: Path): number | undefined {
  const parent: unknown = document.getIn(path.slice(0, -1), true);
  if (path.length > 0 && isMap(parent)) {
    const name = String(path.at(-1));
    const pair = parent.items.find((item) => isScalar(item.key) && String(item.key.value) === name);
    return isNode(pair?.key) ? pair.key.range?.[0] : undefined;
  }
  const node: unknown = path.length === 0 ? document.contents : document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}
