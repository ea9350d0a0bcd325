/**
 * @file The build writes scalar functions dense: they parse as what stands in the sources.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { denseProgram, writeDensePrograms } from '../../../tooling/dense-programs.mjs';
import { parseProgram } from '../src/schedule/functions/parse-program.js';
import { SCALAR_FUNCTIONS } from '../src/schedule/functions/scalar-functions.js';
import { SCALAR_FUNCTIONS_64 } from '../src/schedule/functions/scalar-functions-64.js';

const FOLDER = join(import.meta.dirname, '../src/schedule/functions');

describe.each([
  ['scalar functions', SCALAR_FUNCTIONS],
  ['scalar functions with float64', SCALAR_FUNCTIONS_64],
])('%s, dense', (_, functions) => {
  it.each([true, false])('are the same programs (ieee: %s)', (ieee) => {
    for (const { text } of Object.values(functions)) {
      const program = typeof text === 'string' ? text : text({ ieee, functions });
      expect(denseProgram(program).length).toBeLessThan(program.length);
      const read = (source: string) => parseProgram(source, () => 'f32');
      expect(read(denseProgram(program))).toEqual(read(program));
    }
  });
});

describe('sources of scalar functions, dense', () => {
  it('are shorter, and keep what is no program', () => {
    const sources = readdirSync(FOLDER).map((file) => readFileSync(join(FOLDER, file), 'utf8'));
    const dense = sources.map((text) => writeDensePrograms(text, 'source.ts'));
    const { length } = dense.join('');
    expect(length).toBeLessThan(0.97 * sources.join('').length);
    const parser = sources.find((text) => text.includes('export function parseProgram'))!;
    expect(dense).toContain(parser);
  });

  it('keep spaces between words and between operators', () => {
    expect(denseProgram('  let a: b<c> = -d; // why\n  return a - -d;')).toBe(
      ' let a:b<c> = -d;return a- -d;',
    );
  });
});
