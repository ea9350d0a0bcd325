/**
 * @file `grad(createGraph: true)` captured with `autograd.captureCreateGraph`: what trains through a gradient.
 */
import { Linear, optim } from '@tessera/nn';
import { config } from '@tessera/shared';
import { type Tensor, grad, manualSeed, rand, randn, sigmoid, tanh } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type CompileOptions, compile, compiledFunctionOf } from '../src/index.js';

type Step = (...args: Tensor[]) => Tensor;

/** Learns weights from which two steps of descent lead to a small error (MAML). */
function adapting(): { step: Step; data: () => Tensor[]; weight: Tensor } {
  const weight = randn([3, 1]).requiresGrad_();
  const step: Step = (x, y) => {
    const lossOf = (w: Tensor): Tensor => x!.matmul(w).sub(y!).pow(2).mean();
    let fast: Tensor = weight;
    for (let i = 0; i < 2; i++) {
      const [slope] = grad(lossOf(fast), [fast], { createGraph: true });
      fast = fast.sub(slope!.mul(0.1));
    }
    weight.grad = null;
    const loss = lossOf(fast);
    loss.backward();
    return loss.detach();
  };
  return { step, data: () => [randn([5, 3]), randn([5, 1])], weight };
}

/** Fits u'' = -u through two derivatives by the input. */
function solving(): { step: Step; data: () => Tensor[]; weight: Tensor } {
  const [hidden, out] = [new Linear(1, 8), new Linear(8, 1)];
  const adam = new optim.Adam([...hidden.parameters(), ...out.parameters()], { lr: 0.01 });
  const step: Step = (x) => {
    const u = out.call(tanh(hidden.call(x!)));
    const [slope] = grad(u.sum(), [x!], { createGraph: true });
    const [bend] = grad(slope!.sum(), [x!], { createGraph: true });
    const loss = bend!.add(u).pow(2).mean();
    adam.zeroGrad();
    loss.backward();
    adam.step();
    return loss.detach();
  };
  return { step, data: () => [rand([6, 1]).requiresGrad_()], weight: hidden.weight };
}

/** Penalises slopes that are not 1, as a Wasserstein critic does. */
function penalising(): { step: Step; data: () => Tensor[]; weight: Tensor } {
  const critic = new Linear(2, 1);
  const step: Step = (x) => {
    const [slope] = grad(sigmoid(critic.call(x!)).sum(), [x!], { createGraph: true });
    const penalty = slope!.norm(2, 1).sub(1).pow(2).mean();
    critic.zeroGrad();
    penalty.backward();
    return penalty.detach();
  };
  return { step, data: () => [randn([4, 2]).requiresGrad_()], weight: critic.weight };
}

/** Losses, weights and gradients of four steps. */
function trained(
  make: typeof adapting,
  wrap: (step: Step) => Step,
): { loss: number; weight: unknown; slope: unknown }[] {
  manualSeed(3);
  const { step, data, weight } = make();
  const run = wrap(step);
  return Array.from({ length: 4 }, () => ({
    loss: run(...data()).item() as number,
    weight: weight.toArray(),
    slope: weight.grad!.toArray(),
  }));
}

const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, v: unknown) =>
    typeof v === 'number' ? Number(v.toPrecision(4)) : v,
  );

describe.each(['eager', 'aot_eager', 'inductor'])('second derivatives with %s', (backend) => {
  it.each([
    ['of an inner training loop', adapting],
    ['of a differential equation', solving],
    ['of a gradient penalty', penalising],
  ])('%s are those of eager mode, in one graph', (_, make) => {
    config.patch({ 'autograd.captureCreateGraph': true }, () => {
      const options: CompileOptions = { backend, fullgraph: true };
      let compiled: Step | null = null;
      const got = trained(make, (step) => (compiled = compile(step, options)));
      expect(rounded(got)).toEqual(rounded(trained(make, (step) => step)));
      const { captures } = compiledFunctionOf(compiled!);
      expect(captures.flatMap(({ segments }) => segments).length).toBe(1);
    });
  });
});
