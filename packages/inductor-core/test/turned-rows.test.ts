/**
 * Columns of a row that are turned, as rotary embeddings turn a token's key: one kernel with their product.
 */
import { makeFx } from '@tessera/graph';
import { type DType, type Tensor, cat, manualSeed, randn, tensor } from '@tessera/tensor';
import { multilabelMarginLoss, readNumbers, weightInt8packMm } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  type Capabilities,
  type ExecutionPlan,
  compileGraph,
  compileToExecutable,
  FACTORED_ROWS,
  printKernel,
  turnedRows,
  verifyPlan,
} from '../src/index.js';
import { target } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';

const WIDTH = 48;
const HEADS = 3;
const HEAD = 8;
const PLAIN: Partial<Capabilities> = { factoredRows: FACTORED_ROWS, maxBuffersPerKernel: 12 };
const TURNED: Partial<Capabilities> = { ...PLAIN, rewriteLowered: turnedRows };

type Program = (...inputs: Tensor[]) => Tensor[];

/** A row, the weight of its norm, a matrix, cosines, sines. */
function given(dtype: DType = 'float32', rows = 1): Tensor[] {
  manualSeed(3);
  const sizes = [[rows, WIDTH], [WIDTH], [HEADS * HEAD, WIDTH], [HEAD], [HEAD]];
  return sizes.map((each) => randn(each).to(dtype));
}

function norm(x: Tensor, weight: Tensor): Tensor {
  const wide = x.to('float32');
  const scale = wide.mul(wide).mean(-1, { keepdim: true }).add(1e-5).rsqrt();
  return wide.mul(scale).mul(weight.to('float32')).to(x.dtype);
}

const heads = (x: Tensor): Tensor => x.reshape([-1, 1, HEADS, HEAD]).transpose(1, 2);

/** The first elements behind the last ones, which are negative: a turn by half if there are as many of both. */
function turn(x: Tensor, cos: Tensor, sin: Tensor, first = HEAD / 2): Tensor {
  const other = cat([x.narrow(-1, first, HEAD - first).neg(), x.narrow(-1, 0, first)], -1);
  return x.mul(cos).add(other.mul(sin));
}

const key: Program = (x, weight, matrix, cos, sin) => [
  turn(heads(norm(x!, weight!).mm(matrix!.t())), cos!, sin!),
];

function plan(program: Program, inputs: readonly Tensor[], overrides = TURNED): ExecutionPlan {
  const made = compileGraph(makeFx(program)(...inputs), {
    backend: target(overrides),
    name: 'turned',
  });
  verifyPlan(made);
  return made;
}

const launches = (...args: Parameters<typeof plan>): number => plan(...args).launches.length;

/** Expects what eager gives, within a few units of the dtype. */
function expectEager(program: Program, inputs: readonly Tensor[], error: number): void {
  const graph = makeFx(program)(...inputs);
  const made = compileToExecutable(graph, interpreterBackend(TURNED))([...inputs]) as Tensor[];
  const eager = program(...inputs);
  for (const [i, each] of made.entries()) {
    const wanted = readNumbers(eager[i]!.contiguous());
    for (const [at, x] of [...readNumbers(each.contiguous())].entries()) {
      const size = 1 + Math.abs(Number(wanted[at]));
      expect(Math.abs(Number(x) - Number(wanted[at])) / size).toBeLessThan(error);
    }
  }
}

describe('columns of a row that are turned', () => {
  it('are turned by the kernel of their product, which sums them twice', () => {
    expect(launches(key, given(), PLAIN)).toBe(2);
    const made = plan(key, given());
    expect(made.launches).toHaveLength(1);
    expect(printKernel(made.kernels[0]!)).toContain('((i1 + 4) mod 8)');
  });

  it.each([
    ['float32', 1e-5],
    ['float16', 4e-3],
  ] as const)('are what eager gives in %s', (dtype, error) => {
    expectEager(key, given(dtype), error);
  });

  it('are turned with what is computed of the product before', () => {
    const scaled: Program = (x, weight, matrix, cos, sin) => {
      const product = norm(x!, weight!).mm(matrix!.t());
      return [turn(heads(product.mul(matrix!.select(1, 0)).sigmoid()), cos!, sin!)];
    };
    expect(launches(scaled, given())).toBe(1);
    expectEager(scaled, given(), 1e-5);
  });

  it('are the same with packed weights', () => {
    const packed: Program = (x, weight, words, cos, sin, scale) => [
      turn(heads(weightInt8packMm(norm(x!, weight!), words!, scale!)), cos!, sin!),
    ];
    const [x, weight, , cos, sin] = given();
    const numbers = Array.from({ length: HEADS * HEAD }, (_, n) =>
      Array.from({ length: WIDTH / 4 }, (_unused, i) => Math.imul(64 * n + i + 1, 0x9e3779b1)),
    );
    const words = tensor(numbers, { dtype: 'int32' });
    const inputs = [x!, weight!, words, cos!, sin!, randn([HEADS * HEAD])];
    expect(launches(packed, inputs, PLAIN)).toBe(2);
    expect(launches(packed, inputs)).toBe(1);
    expectEager(packed, inputs, 1e-4);
  });

  it('are not looked for in rows that are read with other dimensions', () => {
    const loss: Program = (x, target) => [multilabelMarginLoss(x!, target!)];
    expectEager(loss, [tensor(0.5), tensor(0, { dtype: 'int64' })], 1e-6);
  });

  it('stay a kernel of their own where they are read otherwise', () => {
    const quarter: Program = (x, weight, matrix, cos, sin) => [
      turn(heads(norm(x!, weight!).mm(matrix!.t())), cos!, sin!, HEAD / 4),
    ];
    expect(launches(quarter, given())).toBe(2);
    expectEager(quarter, given(), 1e-5);
    const kept: Program = (...inputs) => {
      const product = norm(inputs[0]!, inputs[1]!).mm(inputs[2]!.t());
      return [product, turn(heads(product), inputs[3]!, inputs[4]!)];
    };
    expect(launches(kept, given())).toBe(2);
    expectEager(kept, given(), 1e-5);
    expect(launches(key, given('float32', 2))).toBe(launches(key, given('float32', 2), PLAIN));
    expectEager(key, given('float32', 2), 1e-5);
  });
});
