import type { Node } from '@tessera/graph';
import { isTesseraError } from '@tessera/shared';
import {
  type Tensor,
  callOp,
  fromTypedArray,
  getOp,
  manualSeed,
  setRngState,
  getRngState,
  tensor,
} from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  EagerProvider,
  compileToExecutable,
  interpretKernel,
  registerLowering,
} from '../src/index.js';
import { elementwise } from '../src/lower/ops/elementwise.js';
import { GraphBuilder } from './graph-builder.js';
import { interpreterBackend, readData } from './interpreter-backend.js';

function values(t: unknown): number[] {
  return Array.from(readNumbers(t as Tensor));
}

function f32(...data: number[]): Tensor {
  return fromTypedArray(Float32Array.from(data), [data.length]);
}

describe('compileToExecutable', () => {
  it('takes tensors and runtime numbers in placeholder order and hands constants through', () => {
    const b = new GraphBuilder();
    const [x, lr, y] = [b.input([3]), b.scalar(0.5), b.input([3])];
    const call = compileToExecutable(
      b.done(b.op('add.Tensor', y, b.op('mul.Tensor', x, lr)), null, 7),
      interpreterBackend(),
    );
    const [sum, none, seven] = call([f32(1, 2, 3), 0.25, f32(10, 20, 30)]);
    expect(values(sum)).toEqual([10.25, 20.5, 30.75]);
    expect([none, seven]).toEqual([null, 7]);
    expect(() => call([f32(1, 2, 3)])).toThrow(/takes 3 inputs, got 1/);
  });

  it('updates inputs in place', () => {
    const b = new GraphBuilder();
    const [p, g] = [b.input([3]), b.input([3])];
    b.mutate(p, b.op('sub.Tensor', p, b.op('mul.Tensor', g, 0.5)));
    const param = f32(1, 2, 3);
    compileToExecutable(b.done(), interpreterBackend())([param, f32(2, 2, 2)]);
    expect(values(param)).toEqual([0, 1, 2]);
  });

  it('supplies constant tensors of the module as inputs of the plan', () => {
    const b = new GraphBuilder();
    const x = b.input([2]);
    const c = b.graph.getAttr('weight');
    c.meta.val = x.meta.val!;
    const module = b.done(b.op('mul.Tensor', x, c));
    module.setAttribute('weight', f32(3, 4));
    const call = compileToExecutable(module, interpreterBackend());
    expect(call.plan.numInputs).toBe(2);
    expect(values(call([f32(1, 2)])[0])).toEqual([3, 8]);
  });

  it.each<[string, (b: GraphBuilder, x: Node) => Node]>([
    ['rand', (b) => b.op('rand', [6], 'float32', null, 'cpu', null)],
    ['randn', (b) => b.op('randn', [6], 'float32', null, 'cpu', null)],
    ['rand_like', (b, x) => b.op('rand_like', x)],
    ['randint', (b) => b.op('randint.low', 3, 9, [6], 'int64', null, 'cpu', null)],
    ['bernoulli', (b, x) => b.op('bernoulli', b.op('sigmoid', x))],
    ['bernoulli.p', (b, x) => b.op('bernoulli.p', x, 0.3)],
    ['uniform', (b, x) => b.op('uniform', x, -2, 5)],
    ['normal', (b, x) => b.op('normal_functional', x, 1, 3)],
    ['dropout', (b, x) => b.item(b.op('native_dropout', x, 0.4, true), 0)],
    ['dropout mask', (b, x) => b.item(b.op('native_dropout', x, 1, true), 1)],
  ])('draws the numbers that eager draws: %s', (_, draw) => {
    const b = new GraphBuilder();
    const x = b.input([6]);
    // Two draws: the second continues the stream.
    const first = draw(b, x);
    const module = b.done(first, draw(b, x));
    const input = f32(0.5, -1, 2, 0, 1, -0.25);
    const call = compileToExecutable(module, interpreterBackend());
    manualSeed(42);
    const eager = module.forward(input) as Tensor[];
    const state = getRngState();
    manualSeed(42);
    const compiled = call([input]);
    // Eager computes in double precision; scaled draws may differ in the last bit of float32.
    compiled
      .flatMap(values)
      .forEach((value, i) => expect(value).toBeCloseTo(eager.flatMap(values)[i]!, 5));
    expect(getRngState()).toEqual(state);
    setRngState(state);
  });

  it('lowers operators that a third party registers, before the built-in lowering', () => {
    const b = new GraphBuilder();
    const module = b.done(b.op('trunc', b.input([2])));
    registerLowering('aten::trunc', (lowering, [self], call) =>
      elementwise(lowering, [self], call.dtype, (x) =>
        lowering.ir.op('mul', [x, lowering.ir.const('float32', 2)]),
      ),
    );
    expect(values(compileToExecutable(module, interpreterBackend())([f32(1.5, 2.25)])[0])).toEqual([
      3, 4.5,
    ]);
    registerLowering('aten::trunc', (lowering, [self], call) =>
      elementwise(lowering, [self], call.dtype, (x) => lowering.ir.op('trunc', [x])),
    );
    expect(values(compileToExecutable(module, interpreterBackend())([f32(1.5, 2.25)])[0])).toEqual([
      1, 2,
    ]);
  });

  it('calls the reference kernel of an operator without a lowering, on strided views', () => {
    const b = new GraphBuilder();
    const x = b.input([3, 2]);
    const second = b.op('kthvalue', b.op('permute', b.op('mul.Tensor', x, 2), [1, 0]), 2, 1, false);
    const module = b.done(b.op('neg', b.item(second, 0)), b.item(second, 1));
    const call = compileToExecutable(
      module,
      interpreterBackend({ extern: true }, (kernel, buffers) => {
        const [self] = kernel.args as [Extract<(typeof kernel.args)[number], { kind: 'buffer' }>];
        const flat = fromTypedArray(Float32Array.from(buffers.get(self.name) as Float32Array), [6]);
        const view = callOp(getOp('aten::as_strided'), [
          flat,
          self.sizes,
          self.strides,
          self.offset,
        ]);
        const results = callOp(getOp(kernel.op), [view, 2, 1, false]) as Tensor[];
        results.forEach((result, i) => {
          const data = buffers.get(kernel.outputs[i]!.name)!;
          readData(result).forEach((value, at) => {
            data[at] = value as never;
          });
        });
      }),
    );
    const [negated, order] = call([fromTypedArray(Float32Array.of(3, 0, 1, 5, 2, 4), [3, 2])]);
    expect(values(negated)).toEqual([-4, -8]);
    expect(values(order)).toEqual([2, 2]);
  });

  it('names the operator and device when there is neither a lowering nor a reference kernel', () => {
    const b = new GraphBuilder();
    const module = b.done(b.op('nonzero_static', b.input([3]), 2, -1));
    try {
      compileToExecutable(module, interpreterBackend());
      expect.unreachable();
    } catch (error) {
      expect(isTesseraError(error, 'kernel-missing')).toBe(true);
      expect(String(error)).toMatch(/aten::nonzero_static.*device 'cpu'/s);
    }
  });

  it('names the dtype that a device lacks and who makes it', () => {
    const b = new GraphBuilder();
    const module = b.done(b.op('_to_copy', b.input([2]), 'float64'));
    const backend = interpreterBackend({ dtypes: new Set(['float32', 'int64', 'bool']) });
    expect(() => compileToExecutable(module, backend)).toThrow(
      /no float64: .* a result of _to_copy/,
    );
  });

  it('rejects graphs that are not flat, functional and recorded', () => {
    const nested = new GraphBuilder();
    const x = nested.input([2]);
    expect(() => compileToExecutable(nested.done([x]), interpreterBackend())).toThrow(/flat list/);
    const unrecorded = new GraphBuilder();
    const node = unrecorded.op('neg', unrecorded.input([2]));
    delete node.meta.val;
    expect(() => compileToExecutable(unrecorded.done(node), interpreterBackend())).toThrow(
      /no recorded value/,
    );
  });
});

describe('EagerProvider', () => {
  it('compiles a call once per layout and runs numbers as runtime scalars', () => {
    const provider = new EagerProvider(interpreterBackend());
    const op = getOp('aten::mul.Tensor');
    const run = (x: Tensor, by: number): number[] => {
      const out = f32(...new Array<number>(x.numel).fill(0));
      expect(provider.run(op, [x, by], [out])).toBe(true);
      return values(out);
    };
    expect(run(f32(1, 2), 2.5)).toEqual([2.5, 5]);
    expect(run(f32(1, 2), 3.5)).toEqual([3.5, 7]);
    expect(provider.size).toBe(1);
    expect(run(f32(1, 2, 3), 0.5)).toEqual([0.5, 1, 1.5]);
    expect(provider.size).toBe(2);
  });

  it('writes in place and declines what it cannot compile', () => {
    const provider = new EagerProvider(interpreterBackend());
    const x = f32(1, 2, 3);
    expect(provider.run(getOp('aten::neg'), [x], [x])).toBe(true);
    expect(values(x)).toEqual([-1, -2, -3]);
    const places = tensor([[0], [0]], { dtype: 'int64' });
    expect(provider.run(getOp('aten::nonzero_static'), [x, 2, -1], [places])).toBe(false);
  });
});

describe('interpreter', () => {
  it('reports a load outside its buffer', () => {
    const b = new GraphBuilder();
    const call = compileToExecutable(b.done(b.op('neg', b.input([4]))), interpreterBackend());
    const kernel = call.plan.kernels[0]!;
    expect(() =>
      interpretKernel(kernel, { in0: new Float32Array(2), out0: new Float32Array(4) }),
    ).toThrow(/in0\[2\] is outside its 2 elements/);
  });
});
