import { SymScalar } from '@tessera/shared';
import {
  type Tensor,
  arange,
  full,
  getOp,
  noGrad,
  ones,
  setDefaultDType,
  tensor,
  zeros,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type GraphModule, Interpreter, makeFx, tensorVal } from '../src/index.js';

describe('makeFx', () => {
  it('records primitive ops with shapes, named after the parameters', () => {
    const module = makeFx((x: Tensor, cfg: { w: Tensor; scale: number }) =>
      x.reshape([3, 2]).mm(cfg.w).mul(cfg.scale),
    )(ones([2, 3]), { w: ones([2, 4]), scale: 2 });
    module.lint();
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 3] */, cfg_w: Tensor /* f32[2, 4] */) {
        const view = aten.view.default(x, [3, 2]); // f32[3, 2]
        const mm = aten.mm.default(view, cfg_w); // f32[3, 4]
        const mul = aten.mul.Tensor(mm, 2); // f32[3, 4]
        return mul;
      }
      "
    `);
    expect((module.forward(ones([2, 3]), ones([2, 4])) as Tensor).toArray()).toEqual([
      [4, 4, 4, 4],
      [4, 4, 4, 4],
      [4, 4, 4, 4],
    ]);
  });

  it('computes nothing in fake mode and the values in real mode', () => {
    const x = tensor([1, 2]);
    let seen: Tensor | undefined;
    const f = (a: Tensor): Tensor => (seen = a.mul(3));
    makeFx(f)(x);
    expect(seen?.isFake).toBe(true);
    const real = makeFx(f, { tracingMode: 'real' })(x);
    expect(seen?.toArray()).toEqual([3, 6]);
    const node = real.graph.nodes[1];
    expect(tensorVal(node)?.isFake).toBe(true);
    expect(tensorVal(node)?.sizes).toEqual([2]);
  });

  it('makes tensors from elsewhere constants, once', () => {
    const w = tensor([2, 3]);
    const module = makeFx((x: Tensor) => x.mul(w).add(w))(tensor([1, 1]));
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2] */) {
        const _tensor_constant0 = self._tensor_constant0; // f32[2]
        const mul = aten.mul.Tensor(x, _tensor_constant0); // f32[2]
        const add = aten.add.Tensor(mul, _tensor_constant0, 1); // f32[2]
        return add;
      }
      "
    `);
    expect(module.tensors).toEqual([['_tensor_constant0', w]]);
    expect((module.forward(tensor([1, 1])) as Tensor).toArray()).toEqual([4, 6]);
  });

  it('drops constants and ops that nothing uses', () => {
    const w = tensor([2, 3]);
    const module = makeFx((x: Tensor) => {
      x.mul(w);
      return x.neg();
    })(tensor([1, 1]));
    expect(module.attributes.size).toBe(0);
    expect(module.graph.size).toBe(3);
  });

  it('records the backward pass, its ops numbered like their forward ops', () => {
    const module = makeFx((x: Tensor, w: Tensor) => {
      x.mm(w).sum().backward();
      return [x.grad, w.grad];
    })(ones([2, 3]).requiresGrad_(), ones([3, 2]).requiresGrad_());
    module.lint();
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 3] */, w: Tensor /* f32[3, 2] */) {
        const mm = aten.mm.default(x, w); // f32[2, 2]
        const sum = aten.sum.dim_IntList(mm, null, false, null); // f32[]
        const ones_like = aten.ones_like.default(sum, null, null, null, null, null); // f32[]
        const view = aten.view.default(ones_like, [1, 1]); // f32[1, 1]
        const expand = aten.expand.default(view, [2, 2], false); // f32[2, 2] strides [0, 0]
        const t = aten.t.default(w); // f32[2, 3] strides [1, 2]
        const mm_1 = aten.mm.default(expand, t); // f32[2, 3]
        const t_1 = aten.t.default(x); // f32[3, 2] strides [1, 3]
        const mm_2 = aten.mm.default(t_1, expand); // f32[3, 2]
        const detach = aten.detach.default(mm_1); // f32[2, 3]
        const detach_1 = aten.detach.default(mm_2); // f32[3, 2]
        return [detach, detach_1];
      }
      "
    `);
    const mms = module.graph.nodes.filter((node) => node.target === getOp('aten::mm'));
    const forward = mms.find((node) => node.meta.isBackward !== true);
    const backward = mms.filter((node) => node.meta.isBackward === true);
    expect(backward.length).toBe(2);
    for (const node of backward) expect(node.meta.seqNr).toBe(forward?.meta.seqNr);
    const [gx, gw] = module.forward(ones([2, 3]), ones([3, 2])) as Tensor[];
    expect(gx.toArray()).toEqual([
      [2, 2, 2],
      [2, 2, 2],
    ]);
    expect(gw.toArray()).toEqual([
      [2, 2],
      [2, 2],
      [2, 2],
    ]);
  });

  it('lets later uses of a mutated tensor see the new value', () => {
    const module = makeFx((x: Tensor) => {
      const y = x.neg();
      const before = y.mul(1);
      y.mul_(5);
      return [before, y.add(0)];
    })(tensor([1]));
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1] */) {
        const neg = aten.neg.default(x); // f32[1]
        const mul = aten.mul.Tensor(neg, 1); // f32[1]
        const mul_ = aten.mul_.Tensor(neg, 5); // f32[1]
        const add = aten.add.Tensor(mul_, 0, 1); // f32[1]
        return [mul, add];
      }
      "
    `);
    expect((module.forward(tensor([2])) as Tensor[]).map((t) => t.toArray())).toEqual([
      [-2],
      [-10],
    ]);
  });

  it('gives values that share memory vals that share storage', () => {
    const module = makeFx((x: Tensor) => [x.permute([1, 0]), x.neg()])(ones([2, 3]));
    const [x, view, fresh] = module.graph.nodes.map((node) => tensorVal(node)?.storage);
    expect(view).toBe(x);
    expect(fresh).not.toBe(x);
  });

  it.each([false, true])(
    'writes the dtypes of new tensors into the graph (before dispatch: %s)',
    (preDispatch) => {
      const made = (x: Tensor): Tensor[] => [
        x.add(zeros([2])),
        full([2], 0.5),
        full([2], 3),
        arange(0, 1, 0.5),
        arange(2),
        zeros([2], { dtype: 'float16' }),
      ];
      const module = makeFx(made, { preDispatch })(ones([2]));
      const dtypes = (): string[] => (module.forward(ones([2])) as Tensor[]).map((t) => t.dtype);
      const traced = dtypes();
      expect(traced).toEqual(['float32', 'float32', 'int64', 'float32', 'int64', 'float16']);
      try {
        setDefaultDType('bfloat16');
        expect(
          (module.forward(ones([2], { dtype: 'float32' })) as Tensor[]).map((t) => t.dtype),
        ).toEqual(traced);
      } finally {
        setDefaultDType('float32');
      }
    },
  );

  it('keeps aliasing among the inputs', () => {
    const base = ones([2, 3]);
    const module = makeFx((x: Tensor, y: Tensor) => x.add(y))(
      base.permute([1, 0]).permute([1, 0]),
      base,
    );
    const [x, y] = module.graph.placeholders.map((node) => tensorVal(node)!);
    expect(x.storage).toBe(y.storage);
  });

  it('maps run-time scalars to placeholders', () => {
    const lr = new SymScalar(0.5, 'float', 'lr');
    const module = makeFx((x: Tensor, s: SymScalar) => x.mul(s))(tensor([4]), lr);
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1] */, s: number /* float */) {
        const mul = aten.mul.Tensor(x, s); // f32[1]
        return mul;
      }
      "
    `);
    expect((module.forward(tensor([4]), 0.25) as Tensor).toArray()).toEqual([1]);
    expect(() => makeFx((x: Tensor) => x.mul(lr))(tensor([4]))).toThrow(
      /not an input of this trace/,
    );
  });

  it('decomposes by a table and remembers the original op', () => {
    const neg = getOp('aten::neg');
    const module = makeFx((x: Tensor) => x.neg(), {
      decompositions: new Map([[neg, ([x]) => (x as Tensor).mul(-1)]]),
    })(tensor([4]));
    const node = module.graph.nodes[1];
    expect(node.target).toBe(getOp('aten::mul.Tensor'));
    expect(node.meta.originalAten).toBe(neg);
  });

  it('records composite ops whole with preDispatch', () => {
    const f = (x: Tensor): Tensor => noGrad(() => x.reshape([2]).to('float64'));
    const ops = (module: GraphModule): string[] =>
      module.graph.nodes
        .filter((n) => n.op === 'call_function')
        .map((n) =>
          typeof n.target === 'function'
            ? `${n.target.name}(${String(n.args[0])})`
            : String(n.target),
        );
    expect(ops(makeFx(f, { preDispatch: true })(tensor([[1, 2]])))).toEqual([
      'setGradEnabled(false)',
      'aten.reshape.default',
      'aten.to.dtype',
      'setGradEnabled(true)',
    ]);
    expect(ops(makeFx(f)(tensor([[1, 2]])))).toEqual([
      'aten.view.default',
      'aten._to_copy.default',
    ]);
  });

  it('keeps origins when a graph is traced again through the interpreter', () => {
    const captured = makeFx((x: Tensor) => x.reshape([2]), { preDispatch: true })(tensor([[1, 2]]));
    captured.graph.nodes[1].meta.stackTrace = 'model.ts:10:4 forward';
    const again = makeFx((x: Tensor) => new Interpreter(captured).run(x))(tensor([[1, 2]]));
    const node = again.graph.nodes[1];
    expect(node.target).toBe(getOp('aten::view'));
    expect(node.meta.stackTrace).toBe('model.ts:10:4 forward');
    expect(node.meta.originalAten).toBe(getOp('aten::reshape'));
  });

  it('remembers the line of the test that called the op', () => {
    const module = makeFx((x: Tensor) => x.neg())(tensor([1]));
    expect(module.graph.nodes[1].meta.stackTrace).toMatch(/make-fx\.test\.ts:\d+:\d+/);
  });

  it('rejects values that cannot stand in a graph', () => {
    expect(() => makeFx((x: Tensor) => [x, new Date()])(tensor([1]))).toThrow(
      /A Date cannot stand in a graph/,
    );
  });

  it('traces 10,000 ops in linear time', () => {
    const trace = (n: number): number => {
      const start = performance.now();
      makeFx(
        (x: Tensor) => {
          let y = x;
          for (let i = 0; i < n; i++) y = y.neg();
          return y;
        },
        { stackTraces: false },
      )(tensor([1]));
      return performance.now() - start;
    };
    trace(1000);
    expect(trace(10_000)).toBeLessThan(3000);
  });
});

describe('layouts changed in place', () => {
  it('are recorded as views that the tensor stands for afterwards', () => {
    const module = makeFx((x: Tensor) => {
      const y = x.mul(2);
      y.t_().unsqueeze_(0);
      return y.add(1);
    })(ones([2, 3]));
    expect(module.graph.nodes.map((node) => String(node.target)).slice(1, -1)).toEqual([
      'aten.mul.Tensor',
      'aten.t.default',
      'aten.unsqueeze.default',
      'aten.add.Tensor',
    ]);
    expect(tensorVal(module.graph.nodes[1]!)!.sizes).toEqual([2, 3]);
    expect(module.graph.nodes.at(-2)!.meta.val).toMatchObject({ sizes: [1, 3, 2] });
  });
});
