/** Included templates are put in place of their tags: pages are what nunjucks makes of the tags themselves. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import nunjucks from 'nunjucks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { InliningLoader } from '../../../gateway/site/template-loader.ts';

const TEMPLATES = {
  'frame.njk': '<html>\n{% include "head.njk" %}\n<main>{% block main %}{% endblock %}</main>\n</html>\n',
  'head.njk': '<h1>{{ title }}</h1>\n{% if user %}{% include "user.njk" %}{% endif %}\n',
  'user.njk': '<p>{{ user }}</p>\n',
  'page.njk':
    '{% extends "frame.njk" %}\n{% block main %}\n{% for row in rows %}\n{% include "row.njk" %}\n{% endfor %}\n<b>{% include "user.njk" %}</b>\n{% endblock %}\n',
  'row.njk': '<i>{{ row }} of {{ rows.length }}</i>\n',
  'lost.njk': '{% if user %}{% include "absent.njk" %}{% endif %}-\n',
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'alm-templates-'));
  for (const [name, text] of Object.entries(TEMPLATES)) await writeFile(join(folder, name), text);
});
afterAll(() => rm(folder, { recursive: true }));

const OPTIONS = { autoescape: true, throwOnUndefined: true, trimBlocks: true, lstripBlocks: true };
const DATA = { title: 'A < B', user: '', rows: ['one', 'two & three'] };

const textOf = (html: string): string => html.replaceAll(/\s*\n\s*/g, '');

test.each(['', 'Ada'])('a page reads as with includes, for the user “%s”', (user) => {
  const inlined = new nunjucks.Environment(new InliningLoader([folder]), OPTIONS);
  const plain = new nunjucks.Environment(new nunjucks.FileSystemLoader([folder]), OPTIONS);
  const made = inlined.render('page.njk', { ...DATA, user });
  expect(textOf(made)).toBe(textOf(plain.render('page.njk', { ...DATA, user })));
  expect(made).toContain('<i>two &amp; three of 2</i>');
  const { src } = new InliningLoader([folder]).getSource('page.njk');
  expect(src).not.toContain('include');
});

test('an included template that is nowhere is missed only where it is shown', () => {
  const environment = new nunjucks.Environment(new InliningLoader([folder]), OPTIONS);
  expect(environment.render('lost.njk', { user: '' })).toBe('-\n');
  expect(() => environment.render('lost.njk', { user: 'Ada' })).toThrow('absent.njk');
});
