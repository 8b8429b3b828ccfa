/** `/docs` and its guides. Their Markdown is in `content/guides`; examples are those of the served edition. */
import { readFileSync } from 'node:fs';
import type { Operation } from '../../api/operations/operation.ts';
import { guideValues } from '../guides.ts';
import { renderArticle } from '../markdown.ts';
import { definePage } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

/** In reading order, with what the overview and the navigation say of each. */
const GUIDES = {
  'quick-start': [
    'Quick start',
    'A first table of figures in curl, Python, R, JavaScript, a spreadsheet and DuckDB.',
  ],
  authentication: ['Authentication', 'Keys: where they are sent, what needs one, and how to replace one.'],
  credits: [
    'Credits',
    'What costs what, the price before the call, limits, and retries that are not charged twice.',
  ],
  formats: ['Formats', 'CSV, Excel, Parquet, Arrow, NDJSON and SDMX, and how to shape a table.'],
  vintages: ['Vintages', 'Figures as they were on a day, what changed since, receipts and citations.'],
  webhooks: [
    'Webhooks',
    'Events of your account: what is sent, how it is signed, and when it is sent again.',
  ],
  errors: ['Errors', 'Every code, what it means and what to do about it.'],
  limits: ['Limits', 'Requests a minute and a day, and how much one answer holds.'],
  recipes: ['Recipes', 'Short answers to common tasks, each with a call that works.'],
} as const;

export interface DocsLink {
  href: string;
  title: string;
  summary: string;
}

/** The navigation of all pages under `/docs`. */
export const DOCS_LINKS: readonly DocsLink[] = [
  ...Object.entries(GUIDES).map(([slug, [title, summary]]) => ({ href: `/docs/${slug}`, title, summary })),
  {
    href: '/docs/reference',
    title: 'Reference',
    summary: 'Every call: parameters, answers, errors, and a form to try it.',
  },
];

export const docs = (facts: ServiceFacts): Operation[] => [
  definePage({
    path: '/docs',
    async show({ edition }) {
      return {
        template: 'docs.njk',
        title: 'Documentation',
        description:
          'Guides and reference of the API: a first table in six languages, keys, credits, formats, vintages.',
        section: 'docs',
        canonical: '/docs',
        data: { links: DOCS_LINKS, current: '/docs', values: await guideValues(edition, facts) },
      };
    },
  }),
  ...Object.keys(GUIDES).map((slug) => guide(slug, facts)),
];

function guide(slug: string, facts: ServiceFacts): Operation {
  const source = readFileSync(new URL(`../content/guides/${slug}.md`, import.meta.url), 'utf8');
  const path = `/docs/${slug}`;
  return definePage({
    path,
    async show({ edition }) {
      const article = renderArticle(source, await guideValues(edition, facts));
      return {
        template: 'guide.njk',
        title: article.title,
        description: article.summary,
        section: 'docs',
        canonical: path,
        data: { article, links: DOCS_LINKS, current: path },
      };
    },
  });
}
