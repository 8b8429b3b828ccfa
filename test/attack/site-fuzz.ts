/**
 * Fuzzes a signed-in area through its own pages: follows its links, collects its forms and submits them with hostile
 * values. Every answer must be a page of the area that shows the input as text.
 */
import fc from 'fast-check';
import { type Page, tokenOf, type Visitor } from '../admin/harness.ts';
import { INTERNALS } from './public-fuzz.ts';

export interface FoundForm {
  /** Path of the page with the form. */
  page: string;
  action: string;
  fields: string[];
}

export interface FoundSite {
  pages: string[];
  forms: FoundForm[];
}

const PAGES_AT_MOST = 60;
/** Forms that would end the session. */
const ENDS_SESSION = /sign-out/;

const unescaped = (text: string): string => text.replaceAll('&amp;', '&');

function formsOf(page: string, html: string): FoundForm[] {
  const forms = html.matchAll(/<form[^>]*method="post"[^>]*action="([^"]+)"[^>]*>(.*?)<\/form>/gs);
  return [...forms].map(([, action = '', inside = '']) => ({
    page,
    action: unescaped(action),
    fields: [...inside.matchAll(/name="([^"]+)"/g)]
      .map(([, name = '']) => name)
      .filter((name) => !['_csrf', '_idempotency'].includes(name)),
  }));
}

/** All pages below `root` that links lead to, and all forms on them, each once. */
export async function walk(visitor: Visitor, root: string): Promise<FoundSite> {
  const pages = [root];
  const forms = new Map<string, FoundForm>();
  for (let at = 0; at < pages.length && at < PAGES_AT_MOST; at++) {
    const page = pages[at] ?? root;
    const { html } = await visitor.get(page);
    for (const form of formsOf(page, html)) {
      if (!ENDS_SESSION.test(form.action)) forms.set(`${form.action} ${form.fields}`, form);
    }
    for (const [, href = ''] of html.matchAll(/href="([^"#]+)"/g)) {
      const path = unescaped(href);
      if (path.startsWith(root) && !pages.includes(path)) pages.push(path);
    }
  }
  return { pages, forms: [...forms.values()] };
}

/** Must appear as text or not at all. */
const MARK = '<i id=mark>"\'{{7191*13}}';

/** Values of fields that are known to break pages. */
export const NASTY_FIELDS = fc.oneof(
  fc.constantFrom(
    MARK,
    '',
    '\0',
    '\r\nSet-Cookie: a=b',
    "' OR 1=1 --",
    '=HYPERLINK("http://a")',
    '//evil.example',
    'javascript:alert(1)',
    '-1',
    '0',
    '1e9',
    '9'.repeat(400),
    '2026-13-45',
    '2099-01-01',
    'a@b.example',
    `${MARK}@b.example`,
    'done',
    'paid',
    'x'.repeat(20_000),
    '🇰🇪\u202e',
  ),
  fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.toWellFormed()),
  fc.integer().map(String),
);

/** @returns what is wrong with a page; null when nothing is. */
export function wrongPage({ status, headers, html, location }: Page): string | null {
  if (status >= 500 && status !== 503) return `answered ${status}`;
  if (headers['x-content-type-options'] !== 'nosniff') return 'lacks nosniff';
  if (headers['cache-control'] !== 'no-store') return 'may be cached';
  if (html.includes('<i id=mark') || html.includes('93483')) return 'shows input as markup';
  if (status >= 300 && status < 400 && !location.startsWith('/')) return `redirects to ${location}`;
  if (String(headers['set-cookie'] ?? '').includes('a=b')) return 'a header was injected';
  if (!String(headers['content-type'] ?? 'text/html').startsWith('text/html')) return null;
  if (headers['x-frame-options'] !== 'DENY') return 'may be framed';
  if (!String(headers['content-security-policy']).includes("default-src 'none'")) return 'may run scripts';
  const found = status >= 400 ? INTERNALS.exec(problemIn(html)) : null;
  return found ? `leaks internal detail: ${found[0]}` : null;
}

/** The main part of an error page, without the fields that repeat the input. */
const problemIn = (html: string): string =>
  /<main.*?<\/main>/s.exec(html)?.[0].replaceAll(/<(input|textarea|a)\b[^>]*>/g, '') ?? '';

export interface SiteFuzz {
  visitor: Visitor;
  site: FoundSite;
  runs: number;
  /** Signs the visitor in again after a request ended the session. */
  signIn: () => Promise<unknown>;
}

type Act = { form: FoundForm; fields: [string, string][] } | { path: string };

const QUERY_NAMES = [
  'q',
  'status',
  'limit',
  'offset',
  'days',
  'before',
  'state',
  'topic',
  'provider',
  'next',
];

function actsOn(site: FoundSite): fc.Arbitrary<Act> {
  // Every kind of form is equally likely, however many pages have one.
  const kinds = [...Map.groupBy(site.forms, ({ fields }) => String(fields)).values()];
  const form = fc.constantFrom(...kinds).chain((alike) => fc.constantFrom(...alike));
  const forms = form.chain((chosen) =>
    fc.record({
      form: fc.constant(chosen),
      fields: fc.array(fc.tuple(fc.constantFrom('extra', ...chosen.fields), NASTY_FIELDS), {
        maxLength: chosen.fields.length + 1,
      }),
    }),
  );
  const paths = [...new Set(site.pages.map((page) => page.split('?', 1)[0] ?? ''))];
  const values = fc.oneof(NASTY_FIELDS.map(encodeURIComponent), fc.constantFrom('%ff', '%', '%00'));
  const queries = fc
    .tuple(fc.constantFrom(...paths), fc.constantFrom(...QUERY_NAMES), values)
    .map(([page, name, value]) => ({ path: `${page}?${name}=${value.slice(0, 3_000)}` }));
  return fc.oneof(forms, queries);
}

/** @throws with the smallest failing case. */
export async function fuzzSite({ visitor, site, runs, signIn }: SiteFuzz): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const checked = async (page: Page): Promise<Page> => {
    statuses.set(page.status, (statuses.get(page.status) ?? 0) + 1);
    const wrong = wrongPage(page);
    if (wrong !== null) throw new Error(`${wrong}: ${page.html.slice(0, 400)}`);
    if (page.status === 401) await signIn();
    return page;
  };
  const property = fc.asyncProperty(actsOn(site), async (act) => {
    if ('path' in act) {
      await checked(await visitor.get(act.path));
      return;
    }
    const token = tokenOf(await checked(await visitor.get(act.form.page)));
    await checked(await visitor.post(act.form.action, { ...Object.fromEntries(act.fields), _csrf: token }));
  });
  await fc.assert(property, { numRuns: runs });
  return statuses;
}
