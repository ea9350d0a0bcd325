/**
 * @file Names of kernels in WGSL: none is a word of the language or of generated code.
 */
import { describe, expect, it } from 'vitest';
import { NameScope } from '../src/codegen/names.js';

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
});
