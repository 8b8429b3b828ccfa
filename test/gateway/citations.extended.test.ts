/** Every citation of the starter data, read by a BibTeX parser and a CSL processor that know nothing of ours. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { bibtex, type Citation, cslItem } from '../../gateway/api/encoders/documents/citations.ts';
import { useDirectory } from '../after-tests.ts';
import { buildStarter } from '../shared-builds.ts';
import { useService } from './service.ts';

const run = promisify(execFile);
const PACKAGES = ['bibtexparser==2.1.0', 'citeproc-py==0.11.1'];
const OUTPUT_BYTES = 10_000_000;

/** For each citation what the parser finds in BibTeX, and the reference that the processor makes of CSL-JSON. */
const READ = `
import json, sys, warnings
sys.path.insert(0, sys.argv[2])
warnings.simplefilter('ignore')
import bibtexparser
from bibtexparser.middlewares import LatexDecodingMiddleware
from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
style = CitationStylesStyle('harvard-cite-them-right', validate=False)
answers = []
for sent in json.load(open(sys.argv[1])):
    library = bibtexparser.parse_string(sent['bib'], append_middleware=[LatexDecodingMiddleware()])
    entry, = library.entries
    fields = {field.key: field.value for field in entry.fields}
    # An address is printed as it stands.
    raw = {field.key: field.value for field in bibtexparser.parse_string(sent['bib']).entries[0].fields}
    fields['url'] = raw.get('url')
    bibliography = CitationStylesBibliography(style, CiteProcJSON(json.loads(sent['csl'])), formatter.plain)
    bibliography.register(Citation([CitationItem(entry.key)]))
    reference, = bibliography.bibliography()
    answers.append({'key': entry.key, 'failed': len(library.failed_blocks), 'fields': fields, 'reference': str(reference)})
print(json.dumps(answers))
`;

interface ReadCitation {
  key: string;
  failed: number;
  fields: Record<string, string | null>;
  reference: string;
}

const { snapshots } = await buildStarter();
const python = await useDirectory();
await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', python, ...PACKAGES]);
const service = await useService({ snapshots, settings: { PUBLIC_URL: 'https://almanac.example' } });

async function read(citations: readonly { bib: string; csl: string }[]): Promise<ReadCitation[]> {
  const file = join(python, 'citations.json');
  await writeFile(file, JSON.stringify(citations));
  const { stdout } = await run('python3', ['-c', READ, file, python], { maxBuffer: OUTPUT_BYTES });
  return JSON.parse(stdout);
}

/** Inside the braces that keep case and names as they are. */
const bare = (text: string | null | undefined): string => text?.replaceAll(/[{}]/g, '') ?? '';

test('of every indicator, provider and snapshot', async () => {
  const catalogue = service.snapshots.current()?.catalogue;
  const records = [...(catalogue?.indicators.values() ?? [])].map(({ record }) => record);
  const subjects = [
    ...records.map(({ id }) => `indicators/${id}`),
    ...new Set(records.map(({ provider }) => `providers/${provider.id}`)),
    `editions/${service.snapshots.current()?.id}`,
  ];
  expect(subjects.length).toBeGreaterThan(100);
  const citations = await Promise.all(
    subjects.map(async (subject) => ({
      bib: (await service.get(`/v1/${subject}/citation.bib`)).text,
      csl: (await service.get(`/v1/${subject}/citation.json`)).text,
    })),
  );
  for (const [at, { key, failed, fields, reference }] of (await read(citations)).entries()) {
    const [item] = JSON.parse(citations[at]?.csl ?? '');
    expect([key, failed]).toEqual([item.id, 0]);
    expect(bare(fields.title)).toBe(item.title);
    expect(bare(fields.note)).toBe(item.note);
    expect(fields.url).toBe(item.URL);
    expect(bare(fields.author)).toBe(
      item.author.map(({ literal }: { literal: string }) => literal).join(' and '),
    );
    expect(reference).toContain('2026');
    expect(reference).toContain(item.URL);
  }
});

test('with characters that TeX gives a meaning', async () => {
  const citation: Citation = {
    key: 'a.b-1',
    title: 'Share of 100 % & more_ #1 $ ~ \\end <5 “öß東”',
    authors: ['Smith and Sons, Ltd.'],
    published_at: '2026-01-31T23:59:59+00:00',
    version: '1',
    url: 'https://almanac.example/a_b?c=d#e',
    note: 'C:\\new_table "a"--b',
  };
  const [found] = await read([{ bib: bibtex(citation), csl: JSON.stringify([cslItem(citation)]) }]);
  expect(found?.failed).toBe(0);
  expect(bare(found?.fields.title)).toBe(citation.title);
  expect(bare(found?.fields.note)).toBe(citation.note);
  expect(bare(found?.fields.author)).toBe('Smith and Sons, Ltd.');
});
