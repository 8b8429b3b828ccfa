/** Turns what upstream says about sources into the fields of a catalogue entry. */
import type { CatalogueEntry, NamedSource } from '../../data/schema/lake.ts';
import { plainText } from './plain-text.ts';

type SourceFields = Pick<CatalogueEntry, 'source' | 'source_url' | 'sources'>;

/** A longer citation is a name and notes on it. */
const NAME_LENGTH = 150;

/** Several sources, or one with more than a name; without a name or URL they count as none. */
export function sourceFields(all: readonly NamedSource[]): SourceFields {
  const sources = all.filter(({ name, url }) => name !== null || url !== null);
  const [first] = sources;
  const isPlain = sources.length < 2 && (first?.note ?? null) === null;
  return {
    source: first?.name ?? null,
    source_url: first?.url ?? null,
    ...(isPlain ? {} : { sources }),
  };
}

/** A source from a citation in prose: its first sentence is the name, the rest a note. */
export function citedSource(citation: string | null | undefined, url: string | null): NamedSource {
  const text = plainText(citation)?.replaceAll(/\s+/g, ' ') ?? null;
  if (text === null || text.length <= NAME_LENGTH) return { name: text, url, note: null };
  const [, name = text, note = ''] = /^(.{20,}?[^.]{2})\.\s+(?=\p{Lu})(.*)$/u.exec(text) ?? [];
  return { name, url, note: note || null };
}

/** Sources that upstream lists in one text, separated by semicolons; URLs of the same number belong to them in turn. */
export function listedSources(names: string | null, urls: string | null): NamedSource[] {
  const parts = (text: string | null) => (text ?? '').split(';').map((part) => plainText(part));
  const [name, url] = [parts(names), parts(urls)];
  const isPaired = url.length === name.length;
  return name.map((one, at) => ({
    name: one,
    url: isPaired ? (url[at] ?? null) : plainText(urls),
    note: null,
  }));
}
