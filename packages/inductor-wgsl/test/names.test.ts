/**
 * @file Names of kernels in WGSL: none is a word of the language or of generated code.
 */
import { describe, expect, it } from 'vitest';
import { NameScope } from '../src/codegen/names.js';
import { BASELINE_TARGET, generateKernel } from '../src/index.js';
import { recurrenceKernel } from './support/recurrence-kernel.js';

const named = (...wanted: string[]): string[] => {
  const scope = new NameScope();
  return wanted.map((name) => scope.claim(name));
};

describe('names of kernels', () => {
  it("stay where they are the compiler's, or usual ones of tensors", () => {
    const names = ['in0', 'out0', 'acc12', 'rng_seed', 'rng_offset', 'in0_offset', 'x', 'weight'];
    expect(named(...names)).toEqual(names);
  });

  it('get an underscore where WGSL or generated code could have them', () => {
    const taken = [
      'override',
      'thread_local',
      'f16',
      'u32',
      'vec4f',
      'vec4',
      'exp2',
      'peak',
      'load_a',
    ];
    expect(named(...taken)).toEqual(taken.map((name) => `${name}_`));
  });

  it('are no names of types, however many there are', () => {
    const scope = new NameScope();
    const given = ['u', 'i', 'f'].flatMap((prefix) =>
      Array.from({ length: 70 }, () => scope.fresh(prefix)),
    );
    expect(new Set(given).size).toBe(210);
    for (const type of ['u32', 'i32', 'f32', 'f16']) expect(given).not.toContain(type);
  });

  it('are no reserved underscores, and none is there twice', () => {
    expect(named('_', '__x', 'x', 'x', 'sums', 'sums')).toEqual([
      'v__',
      'v__x_',
      'x',
      'x_',
      'sums_',
      'sums__',
    ]);
  });

  it('are not those of variables: a buffer of the name is read', () => {
    const text = JSON.stringify(recurrenceKernel(4, 92, 6)).replaceAll('"weights"', '"unit"');
    const kernel = JSON.parse(text) as ReturnType<typeof recurrenceKernel>;
    const { text: wgsl } = generateKernel(kernel, BASELINE_TARGET);
    const declared = /var<storage, read> (unit\w*): array<f32>/.exec(wgsl)![1]!;
    expect(wgsl).toContain('let unit = lane % 6u;');
    expect(declared).not.toBe('unit');
    expect(wgsl).toContain(`${declared}[6u * unit + 0u]`);
  });
});
