import { type GraphModule, makeFx } from '@tessera/graph';
import { SymScalar, setLogSink, setLogs } from '@tessera/shared';
import { type Tensor, getOp, noGrad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  type AotCompiled,
  aotCompileCaptured,
  aotModuleSimplified,
  runEagerly,
} from '../src/index.js';
import { expectClose, op, recording } from './support/compare.js';

/** `backward()` as a capture records it. */
function autogradGrad(outputs: Tensor[], inputs: Tensor[]): Tensor[] {
  return op(
    'tessera::autograd_grad',
    outputs,
    outputs.map(() => null),
    inputs,
  ) as unknown as Tensor[];
}

const capture = (fn: (...inputs: Tensor[]) => unknown, ...examples: unknown[]): GraphModule =>
  makeFx(fn as (...inputs: unknown[]) => unknown, { preDispatch: true })(...examples);

function compile(module: GraphModule, ...examples: (Tensor | number)[]): AotCompiled {
  return aotCompileCaptured(module, examples, { fwCompiler: recording().compiler });
}

interface Model {
  readonly x: Tensor;
  readonly target: Tensor;
  readonly w: Tensor;
  readonly b: Tensor;
  readonly momentum: Tensor;
}

function model(): Model {
  return {
    x: tensor([
      [1, 2],
      [3, -1],
      [0.5, 0.25],
    ]),
    target: tensor([0, 2, 1], { dtype: 'int64' }),
    w: tensor([
      [0.1, 0.2],
      [0.3, -0.4],
      [0.5, 0.6],
    ]).requiresGrad_(),
    b: tensor([0.1, 0, -0.1]).requiresGrad_(),
    momentum: tensor([
      [0, 0],
      [0, 0],
      [0, 0],
    ]),
  };
}

/** Forward, backward, and an update with momentum, all in one program. */
function step(
  x: Tensor,
  target: Tensor,
  w: Tensor,
  b: Tensor,
  momentum: Tensor,
  lr: Tensor,
): Tensor {
  const logits = op('linear', x, w, b);
  const loss = op('cross_entropy_loss', logits, target, null, 1, -100, 0);
  const [gw, gb] = autogradGrad([loss], [w, b]);
  noGrad(() => {
    momentum.mul_(0.9).add_(gw);
    op('sub_.Tensor', w, momentum, lr);
    op('sub_.Tensor', b, gb, lr);
  });
  return loss;
}

describe('a captured training step', () => {
  const lr = new SymScalar(0.1, 'float', 'lr');
  const m = model();
  const args = [m.x, m.target, m.w, m.b, m.momentum];
  const captured = capture(step as never, ...args, lr);
  const compiled = compile(captured, ...args, 0.1);

  it('comes out as one pure graph with updates at the end', () => {
    expect(compiled.backward).toBeNull();
    const { placeholders, nodes } = compiled.forward.graph;
    expect(placeholders.map((node) => node.name)).toEqual(
      captured.graph.placeholders.map((node) => node.name),
    );
    const writes = nodes.filter((node) => typeof node.target === 'object' && node.target.isMutable);
    expect(writes.map((node) => [String(node.target), String(node.args[0])])).toEqual([
      ['aten.copy_.default', 'w'],
      ['aten.copy_.default', 'b'],
      ['aten.copy_.default', 'momentum'],
    ]);
    expect(nodes.slice(-4, -1)).toEqual(writes);
    expect(compiled.forward.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[3, 2] */, target: Tensor /* i64[3] */, w: Tensor /* f32[3, 2] */, b: Tensor /* f32[3] */, momentum: Tensor /* f32[3, 2] */, lr: number /* float */) {
        const t = aten.t.default(w); // f32[2, 3] strides [1, 2]
        const addmm = aten.addmm.default(b, x, t, 1, 1); // f32[3, 3]
        const _log_softmax = aten._log_softmax.default(addmm, 1, false); // f32[3, 3]
        const nll_loss_forward = aten.nll_loss_forward.default(_log_softmax, target, null, 1, -100); // [f32[], f32[]]
        const getitem = getItem(nll_loss_forward, 0); // f32[]
        const getitem_1 = getItem(nll_loss_forward, 1); // f32[]
        const ones_like = aten.ones_like.default(getitem, null, null, null, null, null); // f32[]
        const nll_loss_backward = aten.nll_loss_backward.default(ones_like, _log_softmax, target, null, 1, -100, getitem_1); // f32[3, 3]
        const _log_softmax_backward_data = aten._log_softmax_backward_data.default(nll_loss_backward, _log_softmax, 1, "float32"); // f32[3, 3]
        const sum = aten.sum.dim_IntList(_log_softmax_backward_data, [0], true, null); // f32[1, 3]
        const view = aten.view.default(sum, [3]); // f32[3]
        const t_1 = aten.t.default(_log_softmax_backward_data); // f32[3, 3] strides [1, 3]
        const mm = aten.mm.default(t_1, x); // f32[3, 2]
        const mul = aten.mul.Tensor(momentum, 0.9); // f32[3, 2]
        const add = aten.add.Tensor(mul, mm, 1); // f32[3, 2]
        const sub = aten.sub.Tensor(w, add, lr); // f32[3, 2]
        const sub_1 = aten.sub.Tensor(b, view, lr); // f32[3]
        const copy_ = aten.copy_.default(w, sub, false); // f32[3, 2]
        const copy__1 = aten.copy_.default(b, sub_1, false); // f32[3]
        const copy__2 = aten.copy_.default(momentum, add, false); // f32[3, 2]
        return [getitem];
      }
      "
    `);
  });

  it('trains like eager, with the learning rate given per call', () => {
    const a = model();
    const b = model();
    for (const rate of [0.1, 0.1, 0.05]) {
      const [loss] = compiled.call([a.x, a.target, a.w, a.b, a.momentum, rate]) as Tensor[];
      const expected = step(b.x, b.target, b.w, b.b, b.momentum, rate as unknown as Tensor);
      expectClose(loss.toArray(), expected.toArray());
      expectClose(
        [a.w, a.b, a.momentum].map((t) => t.toArray()),
        [b.w, b.b, b.momentum].map((t) => t.toArray()),
      );
      expect(loss.requiresGrad).toBe(true);
      expect(() => loss.backward()).toThrow(/backward through the graph a second time/);
    }
  });
});

describe('captured programs', () => {
  it('differentiate through a parameter again after it was updated', () => {
    const program = (x: Tensor, w: Tensor): unknown[] => {
      const losses: Tensor[] = [];
      for (let i = 0; i < 3; i++) {
        const loss = x.mul(w).sub(1).mul(x).sum();
        const square = loss.mul(loss);
        const [g] = autogradGrad([square], [w]);
        noGrad(() => w.sub_(g.mul(0.01)));
        losses.push(square.detach());
      }
      return losses;
    };
    const x = tensor([1, 2]);
    const w = tensor([0.5, 0.5]).requiresGrad_();
    const compiled = compile(capture(program as never, x, w), x, w);
    const w2 = tensor([0.5, 0.5]).requiresGrad_();
    expectClose(
      (compiled.call([x, w]) as Tensor[]).map((t) => t.toArray()),
      (program(x, w2) as Tensor[]).map((t) => t.toArray()),
    );
    expectClose(w.toArray(), w2.toArray());
  });

  it('leave results differentiable that backward() did not pass through', () => {
    const program = (x: Tensor, w: Tensor): unknown[] => {
      const [g] = autogradGrad([x.mul(w).sum()], [w]);
      return [g, w.mul(w), x.mul(w).sum()];
    };
    const x = tensor([1, 2]);
    const w = tensor([3, 4]).requiresGrad_();
    const compiled = compile(capture(program as never, x, w), x, w);
    expect(compiled.backward).not.toBeNull();
    const [g, square] = compiled.call([x, w]) as Tensor[];
    expect([g.toArray(), g.requiresGrad]).toEqual([[1, 2], false]);
    square.sum().backward();
    expect(w.grad?.toArray()).toEqual([6, 8]);
  });

  it('keep grad mode changes inside', () => {
    const captured = capture(
      ((x: Tensor) => [noGrad(() => x.mul(2)), x.mul(3)]) as never,
      ones([2]).requiresGrad_(),
    );
    const x = ones([2]).requiresGrad_();
    const compiled = compile(captured, x);
    const [a, b] = compiled.call([x]) as Tensor[];
    expect([a.requiresGrad, b.requiresGrad]).toEqual([false, true]);
  });

  it('start in the grad mode of the call, or the one that is named', () => {
    const x = ones([2]).requiresGrad_();
    const captured = capture(((a: Tensor) => a.mul(3)) as never, x);
    expect(noGrad(() => compile(captured, x).backward)).toBeNull();
    const named = { fwCompiler: runEagerly, gradEnabled: false };
    expect(aotCompileCaptured(captured, [x], named).backward).toBeNull();
    expect(compile(captured, x).backward).not.toBeNull();
  });

  it('decompose composites and remember where their parts come from', () => {
    const module = capture(
      ((x: Tensor, w: Tensor) => op('layer_norm', x, [2], w, null, 1e-5, true).sum()) as never,
      ones([3, 2]),
      ones([2]).requiresGrad_(),
    );
    module.graph.nodes[2].meta.stackTrace = 'model.ts:3:4 forward';
    module.graph.placeholders[1].meta.source = "L['self'].norm.weight";
    const { forward, backward } = compile(module, ones([3, 2]), ones([2]).requiresGrad_());
    const norm = forward.graph.nodes.find(
      (node) => node.target === getOp('aten::native_layer_norm'),
    );
    expect(norm?.meta.originalAten).toBe(getOp('aten::layer_norm'));
    expect(norm?.meta.stackTrace).toBe('model.ts:3:4 forward');
    expect(forward.graph.placeholders[1].meta.source).toBe("L['self'].norm.weight");
    const gradient = backward?.graph.nodes.find(
      (node) => node.meta.isBackward === true && node.meta.seqNr === norm?.meta.seqNr,
    );
    expect(gradient?.meta.stackTrace).toBe('model.ts:3:4 forward');
  });

  it('pair every backward node with its forward node by sequence number', () => {
    const module = capture(
      ((x: Tensor, w: Tensor) => op('tanh', op('mm', x, w)).sum()) as never,
      ones([2, 2]),
      ones([2, 2]).requiresGrad_(),
    );
    const { forward, backward } = compile(module, ones([2, 2]), ones([2, 2]).requiresGrad_());
    const seqNrs = new Map(
      forward.graph.nodes.map((node) => [String(node.target), node.meta.seqNr]),
    );
    const pairs = backward?.graph.nodes
      .filter((node) => node.op === 'call_function')
      .map((node) => [
        String(node.target),
        [...seqNrs].find(([, seqNr]) => seqNr === node.meta.seqNr)?.[0],
      ]);
    expect(pairs).toMatchInlineSnapshot(`
      [
        [
          "aten.view.default",
          "aten.sum.dim_IntList",
        ],
        [
          "aten.expand.default",
          "aten.sum.dim_IntList",
        ],
        [
          "aten.tanh_backward.default",
          "aten.tanh.default",
        ],
        [
          "aten.t.default",
          "aten.mm.default",
        ],
        [
          "aten.mm.default",
          "aten.mm.default",
        ],
      ]
    `);
  });

  it('note pairs of inputs that are the same tensor', () => {
    const x = ones([2]);
    const { duplicates, forward, call } = compile(
      capture(((a: Tensor, b: Tensor) => a.add(b)) as never, x, ones([2])),
      x,
      x,
    );
    expect(duplicates).toEqual([[1, 0]]);
    expect(forward.graph.placeholders.length).toBe(1);
    expect((call([x, x]) as Tensor[])[0].toArray()).toEqual([2, 2]);
  });

  it('reject a call with the wrong number of inputs', () => {
    const { call } = compile(capture(((a: Tensor) => a.neg()) as never, ones([2])), ones([2]));
    expect(() => call([])).toThrow(expect.objectContaining({ code: 'structure-mismatch' }));
  });

  it('log the joint graph and its halves', () => {
    const seen: string[] = [];
    const sink = setLogSink((artifact) => seen.push(artifact));
    setLogs({ aot_joint: true, aot_graphs: true });
    try {
      compile(capture(((a: Tensor) => a.mul(a)) as never, ones([2])), ones([2]).requiresGrad_());
    } finally {
      setLogs({ aot_joint: false, aot_graphs: false });
      setLogSink(sink);
    }
    expect(seen).toEqual(['aot_joint', 'aot_graphs']);
  });

  it('take thousands of ops', () => {
    const x = ones([2]).requiresGrad_();
    const module = capture(
      ((a: Tensor) => {
        let y = a;
        for (let i = 0; i < 2500; i++) y = y.mul(1.0001);
        return y.sum();
      }) as never,
      x,
    );
    const start = performance.now();
    const { call } = compile(module, x);
    (call([x]) as Tensor[])[0].backward();
    expect(performance.now() - start).toBeLessThan(10_000);
    expectClose(
      (x.grad!.toArray() as number[]).map((g) => Math.round(g * 1000)),
      [1284, 1284],
    );
  });
});

describe('aotModuleSimplified', () => {
  it('returns results in the structure of the module', () => {
    const module = makeFx((x: Tensor) => ({ double: x.mul(2), rest: [x.neg(), 7] }))(ones([1]));
    const f = aotModuleSimplified(module, [ones([1])], { fwCompiler: runEagerly });
    const result = f(tensor([3])) as { double: Tensor; rest: [Tensor, number] };
    expect([result.double.toArray(), result.rest[0].toArray(), result.rest[1]]).toEqual([
      [6],
      [-3],
      7,
    ]);
  });
});
