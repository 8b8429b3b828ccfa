/** The documentation as tests see it: README.md and every page of docs/. */
import { files, read } from './repository.ts';

export interface Page {
  /** From the top of the repository. */
  path: string;
  text: string;
}

/** README.md first, then the pages of docs/ by path. */
export function documentation(): Page[] {
  const pages = files.filter((path) => /^docs\/.*\.md$/.test(path)).toSorted();
  return ['README.md', ...pages].map((path) => ({ path, text: read(path) }));
}

/** All pages as one text. */
export const documentationText = (): string =>
  documentation()
    .map(({ text }) => text)
    .join('\n');

export interface Block {
  path: string;
  /** Between `<!-- name -->` and `<!-- /name -->`. */
  content: string;
}

/** @throws when no page, or more than one, has the block. */
export function block(name: string): Block {
  const pattern = new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)\n<!-- /${name} -->`, 'g');
  const found = documentation().flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map(([, content = '']) => ({ path, content })),
  );
  const [only, ...others] = found;
  if (only === undefined || others.length > 0)
    throw new Error(`${found.length} blocks ${name}, expected one`);
  return only;
}
