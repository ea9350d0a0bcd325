/**
 * @file The build writes scalar functions dense: they parse as what stands in the sources.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { denseProgram, writeDensePrograms } from '../../../tooling/dense-programs.mjs';
import { type ResultTypes, parseProgram } from '../src/schedule/functions/parse-program.js';
import type { ScalarExpr, ScalarType } from '../src/schedule/functions/program.js';
import { SCALAR_FUNCTIONS } from '../src/schedule/functions/scalar-functions.js';
import { SCALAR_FUNCTIONS_64 } from '../src/schedule/functions/scalar-functions-64.js';

/** A program with its numbers as they are in their types. */
function read(source: string, resultOf: ResultTypes): unknown {
  return JSON.parse(JSON.stringify(parseProgram(source, resultOf)), (_, node: unknown) => {
    if (typeof node !== 'object' || node === null || !('kind' in node)) return node;
    if (node.kind !== 'number') return node;
    const { type, value, text } = node as ScalarExpr & { kind: 'number' };
    const isFloat = type === 'f32' || type === 'f64';
    return { type, number: !isFloat ? text : type === 'f32' ? Math.fround(value) : value };
  });
}

const FOLDER = join(import.meta.dirname, '../src/schedule/functions');

describe.each([
  ['scalar functions', SCALAR_FUNCTIONS],
  ['scalar functions with float64', SCALAR_FUNCTIONS_64],
])('%s, dense', (_, functions) => {
  it.each([true, false])('are the same programs (ieee: %s)', (ieee) => {
    const programs = Object.values(functions).map(({ text }) =>
      typeof text === 'string' ? text : text({ ieee, functions }),
    );
    const results = new Map(
      programs.map((text) => /fn (\w+)[^>]*> *(\w+)/.exec(text)!.slice(1) as [string, ScalarType]),
    );
    const resultOf = (name: string): ScalarType => results.get(name)!;
    for (const program of programs) {
      expect(denseProgram(program).length).toBeLessThan(program.length);
      expect(read(denseProgram(program), resultOf)).toEqual(read(program, resultOf));
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

  it('have numbers in the fewest digits that are read as the same', () => {
    const numbers = '3.97917223959155352819e-1 + 7.0376836292e-2 + 1.0e0';
    expect(denseProgram(numbers)).toBe('0.3979172+0.070376836+1.0');
    expect(denseProgram(numbers, 'fn a(x: f64)')).toBe('0.39791722395915535+0.070376836292+1.0');
  });
});
