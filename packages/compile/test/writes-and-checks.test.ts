/**
 * @file Writes to arguments that follow an index that is out of range do not happen.
 */
import { type Tensor, noGrad, scatter, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

type Program = (w: Tensor, x: Tensor, index: Tensor) => Tensor;

const PROGRAMS: Readonly<Record<string, Program>> = {
  'a write after the check': (w, x, index) => {
    const taken = x.take(index);
    w.add_(1);
    return taken;
  },
  'a write of an argument after the check': (w, x, index) => {
    const taken = x.take(index).sum();
    w.copy_(x);
    return taken;
  },
  'a write of what was computed before the check': (w, x, index) => {
    const twice = x.mul(2);
    const taken = x.take(index);
    w.copy_(twice);
    return taken.add(twice);
  },
  'a write of what is not in its shape': (w, x, index) => {
    const taken = x.take(index.view([1, 3])).sum();
    w.floorDivide_(2);
    return taken;
  },
  'a write of what was looked up': (w, x, index) => {
    const taken = x.take(index);
    w.copy_(taken);
    return taken;
  },
  'values looked up that are read before and after writes, as in a decoder with caches': (
    w,
    x,
    index,
  ) => {
    const looked = x.take(index);
    const position = index.narrow(0, 0, 1).remainder(3);
    w.indexCopy_(0, position, looked.narrow(0, 1, 1).sin());
    const mixed = looked.add(w.sum());
    x.indexCopy_(0, position, mixed.narrow(0, 2, 1).cos());
    return looked.mul(x.sum());
  },
};

/** What can be seen of a call: the written argument, and the error or the result. */
function seen(program: Program, index: readonly number[]): unknown {
  const w = tensor([4, 5, 7]);
  const args = [w, tensor([1, 2, 3]), tensor([...index], { dtype: 'int64' })] as const;
  try {
    const result = program(...args).toArray();
    return [w.toArray(), result];
  } catch (error) {
    return [w.toArray(), (error as { code?: string }).code];
  }
}

describe.each(['aot_eager', 'inductor'])('with %s', (backend) => {
  it.each(Object.entries(PROGRAMS))('%s', (_, program) => {
    const compiled = compile(program, { backend });
    for (const index of [
      [0, 1, 2],
      [0, 7, 1],
      [0, 1, 7],
      [2, 1, 0],
    ])
      expect(seen(compiled, index)).toEqual(seen(program, index));
  });
});

describe('a write of the indices themselves, after a scatter that refuses them', () => {
  it.each(['aot_eager', 'inductor'])('%s', (backend) => {
    const index = tensor([-1, 0, 0, 1], { dtype: 'int64' });
    const values = zeros([4, 3], { dtype: 'bfloat16' });
    const sink = tensor([0]);
    const program = (): void => {
      const wide = index.mul_(1).reshape([4, 1]).expand([4, 3]);
      noGrad(() => sink.add_(scatter(values.add(sink), 0, wide, 2).sum()));
      index.floorDivide_(-1);
    };
    expect(compile(program, { backend })).toThrow(
      expect.objectContaining({ code: 'index-out-of-range' }),
    );
    expect(index.toArray()).toEqual([-1, 0, 0, 1]);
    expect(sink.toArray()).toEqual([0]);
  });
});
