/**
 * @file Programs that differ only in what PyTorch leaves open are no mismatches.
 */
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { checkProgram } from '../src/check.js';
import type { ModuleEdit } from '../src/module-edits.js';
import {
  type Arg,
  type BackwardKind,
  PLAIN_CALL,
  type Program,
  type Stmt,
  type TensorSpec,
} from '../src/program.js';

function made(dtype: DType, data: readonly number[], requiresGrad = false): TensorSpec {
  return { dtype, data, views: [], requiresGrad, leaf: true };
}

/** A program of one call. */
function programOf(
  args: readonly TensorSpec[],
  body: readonly Stmt[],
  backward: BackwardKind | null,
): Program {
  return {
    seed: 0,
    net: null,
    optimizer: null,
    form: 'positional',
    storeIsArgument: true,
    dynamic: null,
    async: false,
    captured: {},
    body,
    library: false,
    repeats: 0,
    calls: [
      {
        ...PLAIN_CALL,
        args: args.map((tensor) => ({ kind: 'new', tensor })),
        backward,
      },
    ],
  };
}

function op(out: string, on: string | null, name: string, ...args: readonly Arg[]): Stmt {
  return { do: 'op', out, on, name, args };
}

describe('a difference that PyTorch leaves open', () => {
  it('a rounding to 16 bits on the way, where few runs with noise happen to agree', async () => {
    const body = [
      op('t0', 'a0', 'cos'),
      op('t1', 't0', 'mul_', 1),
      op('t2', 'a1', 'sub_', { t: 't0' }),
    ];
    const args = Array.from({ length: 12 }, (_, start) => {
      const data = Array.from(
        { length: 96 },
        (_, i) => (((start * 96 + i) * 37) % 401) / 128 - 1.5,
      );
      return [
        made('bfloat16', data),
        made(
          'float32',
          data.map((x) => -x),
        ),
      ];
    });
    for (const pair of args)
      expect(await checkProgram(programOf(pair, body, null), ['inductor'])).toBeNull();
  });

  it('a rounding to 16 bits within a derivative', async () => {
    const args = [
      made('bfloat16', [1.20703125, 0.8203125, 0.20703125]),
      made('float32', [0.09765625, 1.1015625, -0.3359375], true),
    ];
    const body: Stmt[] = [op('t0', 'a0', 'pow', { t: 'a1' }), { do: 'return', of: ['t0'] }];
    expect(await checkProgram(programOf(args, body, 'sum'), ['inductor'])).toBeNull();
  });

  // Exactly 0 where nothing is rounded; a mean that is rounded is off by 1 / sqrt(eps) times as much.
  it('the gradient of a bias that a batch norm of equal rows takes away', async () => {
    const plain = programOf(
      [made('float32', new Array<number>(9).fill(0))],
      [
        op('t0', 'a0', 'view', [3, 3]),
        { do: 'module', out: 't1', of: 't0' },
        { do: 'return', of: ['t1'] },
      ],
      'sum',
    );
    const edits: readonly ModuleEdit[] = [
      { edit: 'insert', at: 1, child: 'batchNorm', seed: 23 },
      { edit: 'append', child: 'linear', seed: 22 },
    ];
    const calls = plain.calls.map((call) => ({ ...call, edits }));
    const program: Program = { ...plain, net: 'chain', calls };
    expect(await checkProgram(program, ['inductor'])).toBeNull();
  });

  it('whether gradients that grad() returns share memory', async () => {
    const args = [made('float32', [1, 2], true), made('float32', [3, 4], true)];
    const body: Stmt[] = [
      op('t0', null, 'stack', [{ t: 'a0' }, { t: 'a1' }], 0),
      { do: 'return', of: ['t0'] },
    ];
    expect(await checkProgram(programOf(args, body, 'grad'), ['inductor'])).toBeNull();
  });
});
