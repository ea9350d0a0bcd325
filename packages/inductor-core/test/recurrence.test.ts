import type { GraphModule } from '@tessera/graph';
import { type Tensor, callOp, getOp, manualSeed, randn, tensor } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  type RecurrenceKernel,
  compileGraph,
  compileToExecutable,
  planFromJson,
  planToJson,
  printKernel,
  verifyKernel,
} from '../src/index.js';
import { fitsWorkgroup } from '../src/lower/fits-workgroup.js';
import { target } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';
import {
  BACKWARD,
  backwardGraph,
  CASES,
  CTC,
  type Case,
  ctcGraph,
  FORWARD,
  forwardGraph,
  shapesOf,
} from './recurrent-graph.js';

/** Arguments of both ops, null where the kind of cell has none. */
function forwardArgs({ kind, ...item }: Case): (Tensor | null)[] {
  const { gates, weight, bias, state } = shapesOf({ kind, ...item });
  return [
    randn(gates),
    randn(weight),
    randn(bias),
    randn(state),
    kind === 'lstm' ? randn(state) : null,
  ];
}

function backwardArgs(item: Case): (Tensor | null)[] {
  const { weight, all, kept, cells } = shapesOf(item);
  const ofCells = (): Tensor | null => (item.kind === 'lstm' ? randn(all) : null);
  return [
    ...[randn(all), ofCells(), randn(weight), randn(all), ofCells()],
    ...[all, cells, kept].map((sizes) => randn(sizes).sigmoid()),
  ];
}

function kernelsOf(graph: GraphModule): RecurrenceKernel[] {
  const plan = compileGraph(graph, {
    backend: target({ recurrences: 'registers' }),
    name: 'layer',
  });
  return plan.kernels.filter((kernel) => kernel.kind === 'recurrence');
}

const DIRECTIONS = [
  ['forward', FORWARD, forwardGraph, forwardArgs],
  ['backward', BACKWARD, backwardGraph, backwardArgs],
] as const;

describe.each(DIRECTIONS)('recurrence kernels, %s', (_, op, graphOf, argsOf) => {
  it.each(CASES.map((item) => [JSON.stringify(item), item] as const))(
    'compute what eager does: %s',
    (__, item) => {
      manualSeed(4);
      const args = argsOf(item);
      const wanted = callOp(getOp(op), [...args, item.kind, item.reverse]) as Tensor[];
      const backend = interpreterBackend({ recurrences: 'registers' });
      const graph = graphOf(item);
      const given = args.filter((arg) => arg !== null);
      const results = compileToExecutable(graph, backend)(given) as Tensor[];
      for (const [i, result] of results.entries())
        for (const [at, x] of readNumbers(result).entries())
          expect(x, `result ${i} at ${at}`).toBeCloseTo(readNumbers(wanted[i]!)[at]!, 4);
    },
  );

  it('are one kernel for all steps, which verifies and comes back from JSON', () => {
    for (const item of CASES) {
      const kernels = kernelsOf(graphOf(item));
      expect(kernels).toHaveLength(1);
      verifyKernel(kernels[0]!);
      const plan = compileGraph(graphOf(item), {
        backend: target({ recurrences: 'registers' }),
        name: 'p',
      });
      expect(planFromJson(planToJson(plan))).toEqual(plan);
    }
  });
});

describe.each(CTC)('recurrence kernels, %s', (op, inputs) => {
  it('compute what eager does, in one kernel', () => {
    manualSeed(4);
    const graph = ctcGraph([op, inputs]);
    const reach = tensor([0, 1, 1, 2, 1, 1, 1, 2]).expand([3, 8]);
    const given = inputs.map((sizes, i) =>
      op === 'tessera::ctc_alphas' && i === 1 ? reach.contiguous() : randn(sizes),
    );
    const wanted = readNumbers(callOp(getOp(op), given) as Tensor);
    const backend = interpreterBackend({ recurrences: 'registers' });
    const [result] = compileToExecutable(graph, backend)(given) as Tensor[];
    for (const [at, x] of readNumbers(result!).entries())
      expect(Math.abs(x - wanted[at]!), `${at}`).toBeLessThan(1e-5 * Math.max(1, Math.abs(x)));
    const kernels = kernelsOf(graph);
    expect(kernels).toHaveLength(1);
    verifyKernel(kernels[0]!);
  });
});

describe('recurrence kernels', () => {
  it('print', () => {
    const [kernel] = kernelsOf(forwardGraph({ kind: 'tanh', reverse: true, hidden: 6 }));
    expect(printKernel(kernel!)).toMatchInlineSnapshot(`
      "recurrence fused_recurrent_layer_0(in0: f32, in1: f32, in2: f32, in3: f32, write out0: f32)
        batch [b0:3] step [t0:4] n [n0:6] k [k0:6] acc f32
        initial0:
          t0: f32 = in0[6*b0 + n0]
          initial0 = t0
        vector0:
          vector0 = acc0
        product0 of vector0:
          t0: f32 = in3[6*n0 + k0]
          product0 of vector0 = t0
        next0:
          t0: f32 = in1[-18*t0 + 6*b0 + n0 + 54]
          t1: f32 = in2[n0]
          t2: f32 = acc1 + t1
          t3: f32 = t0 + t2
          t4: f32 = tanh(t3)
          next0 = t4
        each step:
          t0: f32 = in1[-18*t0 + 6*b0 + n0 + 54]
          t1: f32 = in2[n0]
          t2: f32 = acc1 + t1
          t3: f32 = t0 + t2
          t4: f32 = tanh(t3)
          out0[-18*t0 + 6*b0 + n0 + 54] = t4"
    `);
  });

  it('are not made for devices without them', () => {
    const plan = compileGraph(forwardGraph(CASES[0]!), {
      backend: target({ extern: true }),
      name: 'layer',
    });
    expect(plan.kernels.map(({ kind }) => kind)).toEqual(['extern']);
  });

  it('of weights too many for registers read those of neighbours next to each other', () => {
    const backend = target({ extern: true, recurrences: 'registers' });
    const plan = compileGraph(forwardGraph({ kind: 'lstm', reverse: false, hidden: 128 }), {
      backend,
      name: 'layer',
    });
    expect(plan.kernels.map(({ kind }) => kind)).toEqual(['loop', 'recurrence']);
    const text = printKernel(plan.kernels[1]!);
    expect(/product1 of vector0:\n {4}t0: f32 = (.*)/.exec(text)![1]).toBe(
      'in4[512*k0 + n0 + 128]',
    );
    const later = backwardGraph({ kind: 'lstm', reverse: false, hidden: 128 });
    expect(compileGraph(later, { backend, name: 'layer' }).kernels).toHaveLength(1);
  });

  it('keep weights in registers where they are few', () => {
    expect(fitsWorkgroup(4, 64)).toBe(true);
    expect(fitsWorkgroup(4, 96)).toBe(true);
    expect(fitsWorkgroup(4, 128)).toBe(false);
    expect(fitsWorkgroup(1, 192)).toBe(true);
    expect(fitsWorkgroup(3, 512)).toBe(false);
  });

  it('are refused where a term has no vector, and where k is not as long as n', () => {
    const [kernel] = kernelsOf(forwardGraph(CASES[0]!));
    const products = [[{ ...kernel!.products[0]![0]!, vector: 1 }]];
    expect(() => verifyKernel({ ...kernel!, products })).toThrow(/there is no vector 1/);
    const k = [{ ...kernel!.k[0]!, size: 4 }];
    expect(() => verifyKernel({ ...kernel!, k })).toThrow(/k is not as long as n/);
  });
});
