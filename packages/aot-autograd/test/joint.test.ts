import { type GraphModule, Interpreter } from '@tessera/graph';
import { type Tensor, noGrad, ones, tensor } from '@tessera/tensor';
import { gradMode, requiresGrad } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  type JointTrace,
  type Partition,
  type Partitioner,
  aotFunction,
  defaultPartition,
  functionalize,
  runEagerly,
  traceJoint,
} from '../src/index.js';
import { expectClose, op } from './support/compare.js';

function joint(fn: (...inputs: Tensor[]) => unknown[], ...examples: Tensor[]): JointTrace {
  return traceJoint({
    run: (inputs) => fn(...(inputs as Tensor[])),
    examples,
    infos: examples.map((_, i) => ({ name: 'xyzw'[i] })),
    gradEnabled: gradMode.enabled,
  });
}

describe('traceJoint', () => {
  it('records forward and backward into one graph, with tangents behind the primals', () => {
    const { module, plans, valueGrads, gradPositions } = joint(
      (x, y) => [op('tanh', x.mul(y)), x.detach()],
      ones([2]).requiresGrad_(),
      ones([2]),
    );
    module.lint();
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2] */, y: Tensor /* f32[2] */, tangents_0: Tensor /* f32[2] */) {
        const mul = aten.mul.Tensor(x, y); // f32[2]
        const tanh = aten.tanh.default(mul); // f32[2]
        const tanh_backward = aten.tanh_backward.default(tangents_0, tanh); // f32[2]
        const mul_1 = aten.mul.Tensor(tanh_backward, y); // f32[2]
        return [tanh, mul_1];
      }
      "
    `);
    expect(plans.map((plan) => plan.kind)).toEqual(['value', 'input-view']);
    expect(valueGrads).toEqual([{ kind: 'tangent', index: 0 }]);
    expect(gradPositions).toEqual([0]);
  });

  it('gives the same numbers interpreted as the engine gives in eager', () => {
    const program = (x: Tensor, y: Tensor): Tensor[] => [op('_softmax', x.mm(y), 1, false).mul(x)];
    const make = (): Tensor[] => [
      tensor(
        [
          [1, 2],
          [3, 4],
        ],
        { dtype: 'float64' },
      ).requiresGrad_(),
      tensor(
        [
          [0.1, 0.2],
          [0.3, 0.5],
        ],
        { dtype: 'float64' },
      ).requiresGrad_(),
    ];
    const [x, y] = make();
    const tangent = tensor(
      [
        [1, 0.5],
        [-1, 2],
      ],
      { dtype: 'float64' },
    );
    const { module } = joint(program, x, y);
    const [out, gx, gy] = noGrad(() => new Interpreter(module).run(x, y, tangent)) as Tensor[];
    const [ex, ey] = make();
    const [expected] = program(ex, ey);
    expected.backward(tangent);
    expectClose(
      [out, gx, gy].map((t) => t.toArray()),
      [expected, ex.grad!, ey.grad!].map((t) => t.toArray()),
    );
  });

  it('has no tangents when nothing requires grad', () => {
    const program = (x: Tensor): Tensor[] => [x.mul(2)];
    expect(joint(program, ones([2])).tangents).toEqual([]);
    expect(noGrad(() => joint(program, ones([2]).requiresGrad_())).tangents).toEqual([]);
  });

  it('leaves the examples untouched', () => {
    const x = ones([2]);
    joint((a, b) => [a.mul_(2), b.mul(a)], x, ones([2]).requiresGrad_());
    expect([x.toArray(), x.storage.version, requiresGrad(x)]).toEqual([[1, 1], 0, false]);
  });
});

/** The partition that a function leads to. */
function partitionOf(fn: (...inputs: Tensor[]) => unknown, ...inputs: Tensor[]): Partition {
  let seen: Partition | null = null;
  const partitionFn: Partitioner = (graph) => (seen = defaultPartition(graph));
  aotFunction(fn, { fwCompiler: runEagerly, partitionFn })(...inputs);
  return seen!;
}

const saved = ({ backward, saved: sources }: Partition): string[] =>
  backward.graph.placeholders
    .slice(0, sources.length)
    .map((node, i) => `${node.name}: ${sources[i].kind}`);
const outputsOf = (module: GraphModule): string => String(module.graph.outputNode?.args[0]);

describe('defaultPartition', () => {
  const param = (): Tensor => ones([2, 3]).requiresGrad_();

  it('saves inputs as inputs, results as results, and only what backward reads', () => {
    const partition = partitionOf(
      (x, y) => {
        const hidden = op('tanh', x.mul(y));
        return [op('exp', hidden), hidden.sum()];
      },
      param(),
      ones([2, 3]),
    );
    expect(saved(partition)).toEqual(['y: input', 'tanh: output', 'exp: output']);
    expect(partition.saved).toEqual([
      { kind: 'input', index: 1 },
      { kind: 'output', index: 2 },
      { kind: 'output', index: 0 },
    ]);
    expect(outputsOf(partition.forward)).toBe('exp,sum,tanh');
  });

  it('makes views again in backward instead of saving them', () => {
    const partition = partitionOf(
      (x, w) => op('sin', x).mm(w.permute([1, 0])),
      ones([4, 3]),
      param(),
    );
    expect(saved(partition).join()).not.toContain('permute');
    const weights = partitionOf(
      (x, w) => x.mm(w.permute([1, 0])),
      ones([4, 3]).requiresGrad_(),
      param(),
    );
    expect(saved(weights)).toEqual(['x: input', 'w: input']);
  });

  it('saves a copy of a part rather than keep the whole alive', () => {
    const partition = partitionOf((x) => {
      const part = op('slice.Tensor', op('sin', x.detach()), 0, 0, 1, 1);
      return part.mul(x);
    }, param());
    expect(saved(partition)).toEqual(['clone: output']);
    expect(partition.backward.graph.placeholders[0].meta.val).toMatchObject({ sizes: [1, 3] });
  });

  it('hands gradients through that are tangents already', () => {
    const partition = partitionOf((x, y) => x.add(y), param(), param());
    expect(partition.gradients).toEqual([
      { kind: 'input', index: 0 },
      { kind: 'input', index: 0 },
    ]);
    expect(outputsOf(partition.backward)).toBe('');
  });

  it('computes a gradient once that two inputs share', () => {
    const partition = partitionOf((x, y) => x.add(y).mul(2), param(), param());
    expect(partition.gradients).toEqual([
      { kind: 'output', index: 0 },
      { kind: 'output', index: 0 },
    ]);
  });

  it('saves an input that is updated as it was before', () => {
    const partition = partitionOf(
      (x, y) => {
        const out = x.mul(y.clone());
        y.add_(1);
        return out;
      },
      param(),
      ones([2, 3]),
    );
    expect(saved(partition)).toEqual(['clone: output']);
    const x = param();
    const y = ones([2, 3]);
    const f = aotFunction(
      (a: Tensor, b: Tensor) => {
        const out = a.mul(op('sin', b));
        b.mul_(5);
        return out;
      },
      { fwCompiler: runEagerly },
    );
    f(x, y).sum().backward();
    expectClose((x.grad!.toArray() as number[][])[0][0], Math.fround(Math.sin(1)));
  });

  it('has no gradient for what does not influence the results', () => {
    expect(partitionOf((x, y) => x.mul(y.detach()), param(), param()).gradients[1]).toBeNull();
  });
});

describe('the joint pipeline', () => {
  it('is functional before it is partitioned', () => {
    const { module } = joint(
      (x, y) => {
        const z = x.mul(y);
        op('select.int', z, 0, 0).mul_(2);
        return [z];
      },
      ones([2, 3]).requiresGrad_(),
      ones([2, 3]),
    );
    const functional = functionalize(module, { mayAlias: (index) => index > 0 });
    const writes = functional.module.graph.nodes.filter(
      (node) => typeof node.target === 'object' && node.target.isMutable,
    );
    expect(writes).toEqual([]);
  });
});
