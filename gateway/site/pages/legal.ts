/**
 * `/terms`, `/privacy`, `/contact`. The texts that come with the software say what it does; a file of the same name in
 * `CURATED_DIR/pages` takes the place of one.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Operation } from '../../api/operations/operations.ts';
import { renderArticle } from '../markdown.ts';
import { definePage } from '../page.ts';
import type { ServiceFacts } from '../service-facts.ts';

const LEGAL_PAGES = ['terms', 'privacy', 'contact'] as const;

/** @throws for a text of the operator that cannot be read or has a placeholder without a value. */
export const legalPages = (facts: ServiceFacts): Operation[] =>
  LEGAL_PAGES.map((name) => {
    const own = join(facts.curatedDir, 'pages', `${name}.md`);
    const source = readOptional(own);
    const text = source ?? readFileSync(new URL(`../content/legal/${name}.md`, import.meta.url), 'utf8');
    const article = renderText(text, facts, source === null ? `${name}.md` : own);
    return definePage({
      path: `/${name}`,
      show: () => ({
        template: 'article.njk',
        title: article.title,
        description: article.summary,
        section: 'none',
        canonical: `/${name}`,
        data: { article },
      }),
    });
  });

function renderText(text: string, facts: ServiceFacts, file: string) {
  try {
    return renderArticle(text, { facts });
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : error}`);
  }
}

function readOptional(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
