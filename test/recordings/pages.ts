/** Reads links and forms out of pages, and opens everything that they lead to. */
import type { Visitor } from '../admin/harness.ts';

export interface Form {
  action: string;
  /** As a browser sends them when nothing is typed and the first button is pressed. */
  fields: Record<string, string>;
  /** Names of all fields, boxes that are not checked included. */
  names: ReadonlySet<string>;
}

const LINK = /\s(?:href|src)="([^"#]+)[^"]*"|<loc>([^<]+)<\/loc>/g;
const FORM = /<form\b([^>]*)>(.*?)<\/form>/gs;
const CONTROL = /<(input|button|select|textarea)\b([^>]*)>(?:(.*?)<\/\1>)?/gs;
const OPTION = /<option\b([^>]*)>([^<]*)/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

const decoded = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '');

function attribute(attributes: string, name: string): string | null {
  const [, value] = new RegExp(`\\s${name}="([^"]*)"`).exec(attributes) ?? [];
  return value === undefined ? null : decoded(value);
}

/** Paths on the same server. @param publicUrl by which the page may name its server */
export const linksIn = (html: string, path: string, publicUrl: string): string[] =>
  [...html.matchAll(LINK)].flatMap(([, attributeValue, location]) => {
    const url = new URL(decoded(attributeValue ?? location ?? ''), new URL(path, publicUrl));
    return url.origin === publicUrl ? [url.pathname + url.search] : [];
  });

/** Those that are posted. */
export const formsIn = (html: string, path: string): Form[] =>
  [...html.matchAll(FORM)].flatMap(([, attributes = '', content = '']) => {
    if (attribute(attributes, 'method')?.toLowerCase() !== 'post') return [];
    const names = new Set([...content.matchAll(/\sname="([^"]+)"/g)].map(([, name = '']) => name));
    return [{ action: attribute(attributes, 'action') ?? path, fields: fieldsOf(content), names }];
  });

function fieldsOf(content: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [, kind = '', attributes = '', text = ''] of content.matchAll(CONTROL)) {
    const name = attribute(attributes, 'name');
    const isChoice = /\stype="(?:checkbox|radio)"/.test(attributes);
    if (name === null || (isChoice && !/\schecked\b/.test(attributes))) continue;
    if (kind === 'select') fields[name] = chosenIn(text);
    else if (kind === 'textarea') fields[name] = decoded(text);
    else if (kind === 'input') fields[name] = attribute(attributes, 'value') ?? '';
    else fields[name] ??= attribute(attributes, 'value') ?? '';
  }
  return fields;
}

function chosenIn(select: string): string {
  const options = [...select.matchAll(OPTION)];
  const [, option = '', label = ''] = options.find(([tag]) => /\sselected\b/.test(tag)) ?? options[0] ?? [];
  return attribute(option, 'value') ?? decoded(label.trim());
}

const QUERIES_MAX = 4;

/**
 * Opens the pages and everything that they link to, each path with its first few queries.
 * @param open answers with a text, which is empty for what has no links
 */
export async function crawl(
  starts: readonly string[],
  open: (path: string) => Promise<string>,
  publicUrl: string,
): Promise<void> {
  const found = [...starts];
  const queries = new Map<string, number>();
  const known = new Set<string>();
  for (const path of found) {
    const [pathname = ''] = path.split('?');
    const sent = queries.get(pathname) ?? 0;
    if (known.has(path) || sent >= QUERIES_MAX) continue;
    known.add(path);
    queries.set(pathname, sent + 1);
    found.push(...linksIn(await open(path), path, publicUrl));
  }
}

/** An area of pages with forms, as one person sees it. */
export interface Area {
  visitor: Visitor;
  url: string;
  /** Path below which pages are opened. */
  root: string;
  /** What is typed into a form, by the names of fields. Those that the form does not have are not sent. */
  typed: (action: string) => Record<string, string>;
  /** Forms that are not sent, and paths that are not opened. */
  left: RegExp;
  /** Is called after each form: whatever it caused is done. */
  settle: () => Promise<void>;
}

/** Pages of one kind that are opened. */
const KIND_MAX = 8;
/** Ids in paths: pages and forms that differ in them alone are of one kind. */
const ID = /\/(?:[^/]*[\d_:%.][^/]*|[0-9a-z]{12,})(?=\/|$)/g;
const kindOf = (path: string): string => path.replace(/\?.*/, '').replaceAll(ID, '/:id');

/**
 * Opens every page and sends a form of each kind on them: as it is, then filled in.
 * @param last kinds that are sent after all others, in this order, because they end what the others need
 */
export async function explore(
  area: Area,
  starts: readonly string[],
  last: readonly RegExp[] = [],
): Promise<void> {
  const { visitor } = area;
  const opened = new Map<string, Set<string>>();
  const found = new Map<string, Form & { from: string; rank: number }>();
  const note = (html: string, from: string): string[] => {
    for (const form of formsIn(html, from)) {
      const kind = kindOf(form.action);
      if (found.has(kind) || area.left.test(form.action)) continue;
      found.set(kind, { ...form, from, rank: last.findIndex((pattern) => pattern.test(form.action)) });
    }
    return linksIn(html, from, area.url);
  };
  const openAll = async (starting: readonly string[]): Promise<void> => {
    const paths = [...starting];
    for (const path of paths) {
      if (!path.startsWith(area.root) || area.left.test(path)) continue;
      const kind = kindOf(path);
      const alike = opened.get(kind) ?? new Set();
      opened.set(kind, alike);
      if (alike.has(path) || alike.size >= KIND_MAX) continue;
      alike.add(path);
      paths.push(...note((await visitor.get(path)).html, path));
    }
  };
  const send = async (from: string, action: string, typed: Record<string, string>): Promise<void> => {
    const form = formsIn((await visitor.get(from)).html, from).find((one) => one.action === action);
    if (form === undefined) return;
    const answer = await visitor.post(action, { ...form.fields, ...typed });
    await area.settle();
    const { location } = answer;
    // The page that a form leads to shows its notice.
    const next = location.startsWith('/') ? note((await visitor.get(location)).html, location) : [];
    await openAll([...next, ...note(answer.html, action)]);
  };
  await openAll(starts);
  for (const sent = new Set<string>(); ; ) {
    const waiting = [...found].filter(([kind]) => !sent.has(kind)).sort(([, a], [, b]) => a.rank - b.rank);
    const [next] = waiting;
    if (next === undefined) return;
    const [kind, { from, action, names }] = next;
    sent.add(kind);
    const typed = Object.entries(area.typed(action)).filter(([name]) => names.has(name));
    if (typed.length > 0) await send(from, action, {});
    await send(from, action, Object.fromEntries(typed));
  }
}
