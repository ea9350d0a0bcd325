/**
 * @file Eager operators at many sizes: a few get code of their own, and one code serves all others.
 */
import { type Executable, EagerProvider, type KernelBackend } from '@tessera/inductor-core';
import { cpuBackend } from '@tessera/inductor-cpu';
import { type OpOverload, type Tensor, empty, randn, zeros } from '@tessera/tensor';
import { getOp, readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';

const SIZES = [2, 3, 5, 8, 13, 21, 34, 55, 89];

/** What a call fills at a size, and what it must hold then. */
interface Sized {
  readonly op: string;
  readonly args: (n: number, out: Tensor) => readonly unknown[];
  readonly out: (n: number) => Tensor;
  readonly wanted: (n: number, args: readonly unknown[]) => readonly number[];
}

const repeated = (count: number, value: number): number[] => new Array<number>(count).fill(value);

const CALLS: Readonly<Record<string, Sized>> = {
  zeros: {
    op: 'aten::zeros',
    args: (n) => [[4, n], 'float32', null, 'cpu'],
    out: (n) => randn([4, n]),
    wanted: (n) => repeated(4 * n, 0),
  },
  'a tensor that is known to be zero': {
    op: 'aten::_efficientzerotensor',
    args: (n) => [[4, n], 'float32', null, 'cpu', null],
    out: (n) => randn([4, n]),
    wanted: (n) => repeated(4 * n, 0),
  },
  'full of a number that is new every time': {
    op: 'aten::full',
    args: (n) => [[n, 3], n + 0.5, 'float32', null, 'cpu'],
    out: (n) => zeros([n, 3]),
    wanted: (n) => repeated(3 * n, n + 0.5),
  },
  arange: {
    op: 'aten::arange',
    args: (n) => [n, 'float32', null, 'cpu'],
    out: (n) => zeros([n]),
    wanted: (n) => repeated(n, 0).map((_, i) => i),
  },
  copy_: {
    op: 'aten::copy_',
    args: (n, out) => [out, randn([n, 4]), false],
    out: (n) => empty([n, 4]),
    wanted: (_, [, from]) => Array.from(readNumbers(from as Tensor)),
  },
  'a join with a constant part': {
    op: 'aten::cat',
    args: (n) => [[randn([n, 16]), randn([1, 16])], 0],
    out: (n) => empty([n + 1, 16]),
    wanted: (_, [parts]) => (parts as Tensor[]).flatMap((part) => Array.from(readNumbers(part))),
  },
};

describe('eager operators', () => {
  it.each(Object.entries(CALLS))('share code between sizes: %s', (_, { op, args, out, wanted }) => {
    const made = { plans: 0, templates: 0 };
    const backend: KernelBackend = {
      ...cpuBackend,
      load(plan): Executable {
        made.plans++;
        return cpuBackend.load(plan);
      },
      loadTemplate(template) {
        made.templates++;
        return cpuBackend.loadTemplate!(template);
      },
    };
    delete (backend as { loadingSteps?: unknown }).loadingSteps;
    const provider = new EagerProvider(backend);
    const overload: OpOverload = getOp(op);
    for (const n of SIZES) {
      const result = out(n);
      const given = args(n, result);
      expect(provider.run(overload, given, [result])).toBe(true);
      expect(Array.from(readNumbers(result)), `${op} at ${n}`).toEqual(wanted(n, given));
    }
    // Three sizes of their own, and a first sample for the code of all others.
    expect(made).toEqual({ plans: 4, templates: 1 });
  });
});
