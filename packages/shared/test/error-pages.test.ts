import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../src/index.js';
import type { ErrorCode } from '../src/index.js';

const folder = new URL('../../../docs/errors/', import.meta.url);
const codes = Object.keys(ERROR_CODES) as ErrorCode[];
const pages = readdirSync(folder)
  .filter((name) => name.endsWith('.md') && name !== 'README.md')
  .map((name) => name.slice(0, -'.md'.length));

const SECTIONS = ['What happened', 'An example that fails', 'How to fix it'];

describe('docs/errors', () => {
  it('has a page for every code and no page without one', () => {
    expect([...pages].sort()).toEqual([...codes].sort());
  });

  it.each(codes)('%s.md: title, what happened, an example that fails, how to fix it', (code) => {
    const text = readFileSync(new URL(`${code}.md`, folder), 'utf8');
    const [heading, , title] = text.split('\n');
    expect(heading).toBe(`# ${code}`);
    expect(title).toBe(`${ERROR_CODES[code]}.`);
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, name]) => name)).toEqual(SECTIONS);
    const example = text.slice(
      text.indexOf(`## ${SECTIONS[1]}`),
      text.indexOf(`## ${SECTIONS[2]}`),
    );
    expect(example).toMatch(/^```(?:ts|sh)\n/m);
  });

  it('has an index that lists every code (vitest -u writes it)', async () => {
    const list = [...codes]
      .sort()
      .map((code) => `- [\`${code}\`](${code}.md): ${ERROR_CODES[code]}`);
    const index = [
      '# Errors',
      '',
      'Every error that Tessera throws on purpose is a `TesseraError` with one of these codes in `error.code`.',
      'The message names what was wrong and what to do; the page of the code shows an example that fails',
      'and how to fix it. Programs that tell errors apart import the class, or `isTesseraError`, from `@tessera/shared`.',
      '',
      ...list,
      '',
      'A new code is a line in `packages/shared/src/error-codes.ts`, a page here in the same form as the',
      'others, and a test that triggers it.',
      '',
    ];
    await expect(index.join('\n')).toMatchFileSnapshot(new URL('README.md', folder).pathname);
  });
});

it('codes are kebab-case words and titles are one line without a full stop', () => {
  for (const code of codes) {
    expect(code).toMatch(/^[a-z]+(?:-[a-z]+)+$/);
    expect(ERROR_CODES[code]).toMatch(/^[A-Zb].*[^.\n]$/);
  }
});
