/**
 * Guides and legal texts: Markdown with placeholders. They are written by us or by the operator, so HTML in them is kept.
 * The first heading is the title, and the first paragraph the summary.
 */
import { Marked, type Token, type Tokens } from 'marked';
import nunjucks from 'nunjucks';
import { TEMPLATE_FILTERS } from '../web/templates.ts';

interface Heading {
  id: string;
  text: string;
}

interface Article {
  title: string;
  /** As text. */
  summary: string;
  /** The second-level headings. */
  sections: readonly Heading[];
  /** Without title and summary. */
  html: string;
}

const environment = new nunjucks.Environment(null, {
  // Markdown is escaped when it becomes HTML; arbitrary text passes the filter `escape`.
  autoescape: false,
  throwOnUndefined: true,
  trimBlocks: true,
  lstripBlocks: true,
});
environment.addFilter('number', TEMPLATE_FILTERS.number);

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const WIDE_COLUMNS = 3;

/** A table and the heading above it, which is its caption. */
type CaptionedTable = Tokens.Table & { heading?: Token[] };

function captionTables(tokens: readonly Token[]): void {
  let heading: Token[] | undefined;
  for (const token of tokens) {
    if (token.type === 'heading') heading = token.tokens;
    if (token.type === 'table') Object.assign(token, { heading });
  }
}

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    // On narrow screens the rows of wide tables are cards, which repeat the labels.
    table({ header, rows, heading = [] }: CaptionedTable) {
      const isWide = header.length >= WIDE_COLUMNS;
      const head = header.map(({ tokens }) => `<th scope="col">${this.parser.parseInline(tokens)}</th>`);
      const body = rows.map((row) => {
        const cells = row.map(({ tokens }, at) => {
          const label = isWide ? ` data-label="${header[at]?.text ?? ''}"` : '';
          return `<td${label}>${this.parser.parseInline(tokens)}</td>`;
        });
        return `<tr>${cells.join('')}</tr>\n`;
      });
      const open = isWide ? '<table class="cards">' : '<table>';
      const caption = `<caption class="unseen">${this.parser.parseInline(heading)}</caption>`;
      return `${open}\n${caption}<thead><tr>${head.join('')}</tr></thead>\n<tbody>${body.join('')}</tbody>\n</table>\n`;
    },
  },
});

/** @throws for a placeholder without a value. */
export function renderArticle(source: string, data: object): Article {
  const tokens = marked.lexer(environment.renderString(source, data));
  const [heading, lead] = tokens.filter(({ type }) => type !== 'space');
  captionTables(tokens);
  if (heading?.type !== 'heading' || lead?.type !== 'paragraph')
    throw new Error('an article begins with its title and a paragraph');
  const body = Object.assign(
    tokens.filter((token) => token !== heading && token !== lead),
    { links: tokens.links },
  );
  return {
    title: heading.text,
    summary: lead.text,
    sections: body.flatMap((token) =>
      token.type === 'heading' && token.depth === 2 ? [{ id: slug(token.text), text: token.text }] : [],
    ),
    html: marked.parser(body),
  };
}

/** One line of our own text, such as a description of a parameter: code and emphasis. */
export const inlineMarkdown = (text: string): nunjucks.runtime.SafeString =>
  new nunjucks.runtime.SafeString(marked.parseInline(text, { async: false }));
