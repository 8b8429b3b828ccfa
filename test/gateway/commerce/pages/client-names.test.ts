/** Names of clients that look like those of others, and names that are their own. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findImitated } from '../../../../gateway/commerce/pages/client-names.ts';

const OTHERS = { own: 'almanac.test', connected: [{ name: 'Quarterly Notes', host: 'notes.example' }] };
const imitated = (name: string, host: string | null) => findImitated({ name, host }, OTHERS);

describe('a client whose name looks like another', () => {
  it.each([
    ['Claude', 'evil.example', 'claude.ai'],
    ['Claude', null, 'claude.ai'],
    ['CLAUDE desktop', 'claude.ai.evil.example', 'claude.ai'],
    ['C l a u d e', 'notclaude.ai', 'claude.ai'],
    ['Сlаudе', 'evil.example', 'claude.ai'],
    ['Ｃｌáｕｄｅ\u200b', 'evil.example', 'claude.ai'],
    ['CIaude', 'evil.example', 'claude.ai'],
    ['C1aude', 'evil.example', 'claude.ai'],
    ['ChatGPТ', 'evil.example', 'chatgpt.com'],
    ['0penAI', 'evil.example', 'chatgpt.com'],
    ['Almanac support', 'evil.example', 'almanac.test'],
    ['Аlrnanac', null, 'almanac.test'],
    ['quarterly-notes', 'evil.example', 'notes.example'],
    ['Quаrtеrly Notes', null, 'notes.example'],
  ])('%s of %s', (name, host, whose) => {
    expect(imitated(name, host)?.host).toBe(whose);
  });

  it.each([
    ['Claude', 'claude.ai'],
    ['Claude Code', 'www.claude.ai'],
    ['ChatGPT', 'chatgpt.com'],
    ['Quarterly Notes', 'notes.example'],
    ['Weekly Notes', 'evil.example'],
    ['Almanac', 'almanac.test'],
    ['', null],
  ])('%s of %s is its own', (name, host) => {
    expect(imitated(name, host)).toBeNull();
  });

  it('is told whatever stands around it and however it is written', () => {
    const padding = fc.stringMatching(/^[ ._\-\u00ad]{0,3}$/);
    const cases = fc.mixedCase(fc.constantFrom('Cursor', 'Perplexity', 'Mistral', 'GitHub'), {
      toggleCase: flipped,
    });
    fc.assert(
      fc.property(padding, cases, padding, (before, name, after) => {
        expect(imitated(`${before}${name}${after}`, 'evil.example')).not.toBeNull();
      }),
    );
  });
});

const flipped = (letter: string): string =>
  letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
