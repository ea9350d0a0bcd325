/**
 * @file Dynamic shapes through the backends: a training step and a transformer block at many sizes.
 */
import { describe, expect, it } from 'vitest';
import { Linear, ReLU, Sequential, optim } from '@tessera/nn';
import { type Tensor, linear, manualSeed, ones, randn, softmax } from '@tessera/tensor';
import { type Backend, compile, compiledFunctionOf, explain, useFreezing } from '../src/index.js';

useFreezing();

describe.each(['eager', 'aot_eager', 'inductor'])('dynamic shapes with backend %s', (backend) => {
  it('a training step whose last batch is smaller compiles twice', () => {
    manualSeed(1);
    const make = (): { step: (x: Tensor, y: Tensor) => number; model: Sequential } => {
      manualSeed(2);
      const model = new Sequential(new Linear(4, 8), new ReLU(), new Linear(8, 2));
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
      const step = (x: Tensor, y: Tensor): number => {
        optimizer.zeroGrad();
        const loss = model.call(x).sub(y).pow(2).sum().div(x.shape[0]!);
        loss.backward();
        optimizer.step();
        return loss.item();
      };
      return { step, model };
    };
    const eager = make();
    const compiled = make();
    const step = compile(compiled.step, { backend });
    for (const n of [8, 8, 5, 8, 3, 7, 5]) {
      const [x, y] = [randn([n, 4]), randn([n, 2])];
      expect(step(x, y)).toBeCloseTo(eager.step(x, y), 4);
    }
    expect(compiledFunctionOf(step).captures.length).toBeLessThanOrEqual(3);
    const got = [...compiled.model.parameters()].map((p) => p.flatten().toArray() as number[]);
    [...eager.model.parameters()].forEach((p, i) =>
      (p.flatten().toArray() as number[]).forEach((v, j) => expect(got[i]![j]).toBeCloseTo(v, 4)),
    );
  });

  it('attention over sequences of many lengths, forward and backward', () => {
    manualSeed(3);
    const proj = new Linear(8, 24);
    const fn = (x: Tensor): Tensor => {
      const [b, t, c] = x.shape as [number, number, number];
      const [q, k, v] = proj
        .call(x)
        .split(c, 2)
        .map((part) => part.view([b, t, 2, c / 2]).transpose(1, 2)) as [Tensor, Tensor, Tensor];
      const att = softmax(q.matmul(k.transpose(2, 3)).div(Math.sqrt(c / 2)), -1);
      return att.matmul(v).transpose(1, 2).reshape([b, t, c]);
    };
    const call = compile(fn, { backend });
    for (const [b, t] of [
      [2, 4],
      [2, 6],
      [3, 5],
      [4, 7],
      [2, 9],
    ] as const) {
      const x = randn([b, t, 8]);
      const a = x.clone().requiresGrad_(true);
      const e = x.clone().requiresGrad_(true);
      const [out, want] = [call(a), fn(e)];
      out.sum().backward();
      want.sum().backward();
      const near = (p: Tensor, q: Tensor): void =>
        expect(Math.max(...(p.sub(q).abs().flatten().toArray() as number[]))).toBeLessThan(1e-4);
      near(out, want);
      near(a.grad!, e.grad!);
    }
    const explanation = explain(call)(randn([2, 11, 8], { requiresGrad: true }));
    expect(explanation.traceCount).toBeLessThanOrEqual(4);
    expect(explanation.graphs.at(-1)!.specializations.length).toBeGreaterThan(0);
    expect(String(explanation)).toMatch(/also compiled for s\d+ = /);
  });
});

it.each(['float32', 'float16'] as const)(
  'the last step of sequences of many lengths, times weights of %s',
  (dtype) => {
    manualSeed(4);
    const weight = randn([24, 64]).to(dtype);
    for (const images of [1, 2, 5, 12]) {
      const fn = (x: Tensor): Tensor => linear(x.tanh().select(1, -1), weight.to('float32')).tanh();
      const call = compile(fn);
      for (const steps of [6, 9, 6, 3, 11]) {
        const x = randn([images, steps, 64]);
        const [got, want] = [call(x), fn(x)];
        expect(got.sub(want).abs().max().item(), `${images}, ${steps}`).toBeLessThan(1e-4);
      }
    }
  },
);

it('a backend under options is told for which sizes a graph comes again', () => {
  const asked: (readonly string[] | null | undefined)[] = [];
  const backend: Backend = (module, _examples, request) => {
    asked.push(request?.sizes);
    return (inputs) => module.forward(...inputs) as Tensor[];
  };
  const run = (x: Tensor): Tensor => x.mul(2);
  for (const options of [undefined, { freezing: true }]) {
    asked.length = 0;
    const fn = compile(run, { backend, dynamic: true, ...(options && { options }) });
    for (const n of [4, 6, 6]) expect(fn(ones([n])).toArray()).toEqual(Array(n).fill(2));
    expect(asked).toEqual([null, [expect.stringMatching(/^s\d+ = 6/)]]);
  }
});
