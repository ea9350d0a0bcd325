/**
 * @file Derivatives of derivatives inside one compiled function: every call, one graph, what eager gives.
 */
import { Linear, Sequential, optim } from '@tessera/nn';
import { counters } from '@tessera/shared';
import {
  type Tensor,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  manualSeed,
  rand,
  randn,
  sigmoid,
  stack,
  tanh,
  vhp,
  vjp,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, compiledFunctionOf, explain } from '../src/index.js';

type Step = (...args: Tensor[]) => Tensor | readonly Tensor[];

/** A program with state of its own; what it returns and `state` are compared. */
interface Program {
  readonly step: Step;
  /** Arguments of a call, for `n` rows. */
  readonly data: (n: number) => Tensor[];
  readonly state?: () => (Tensor | null)[];
  /** What the caller does with the result. */
  readonly after?: (result: Tensor) => void;
}

const cubes = (x: Tensor): Tensor => x.pow(3).mul(x.sum()).sum();
const waves = (x: Tensor): Tensor => x.sin().mul(x.exp()).cumsum(0);

/** The functions of autograd.functional. */
const FUNCTIONAL: Record<string, Step> = {
  hessian: (x) => hessian(cubes, x!),
  'hessian of two inputs': (x, v) =>
    hessian((a: Tensor, b: Tensor) => a.mul(b).pow(2).sum(), [x!, v!]).flat(),
  jacobian: (x) => jacobian(waves, x!),
  vjp: (x, v) => vjp(waves, x!, v!),
  jvp: (x, v) => jvp(waves, x!, v!),
  hvp: (x, v) => hvp(cubes, x!, v!),
  vhp: (x, v) => vhp(cubes, x!, v!),
  'hessian of a function of a part': (x) => hessian((y: Tensor) => y.select(0, 0).pow(4), x!),
  'jacobian of a hessian': (x) =>
    jacobian((y: Tensor) => hessian(cubes, y, { createGraph: true }), x!),
  'jvp by differentiating a vjp by its vector': (x, v) => {
    const [leaf] = [x!.mul(1)];
    const y = waves(leaf);
    const seed = y.mul(0);
    const [g] = grad(y, leaf, { gradOutputs: seed, createGraph: true });
    return grad(g!, seed, { gradOutputs: v! })[0]!;
  },
};

const onVectors = (step: Step, takesGrad: boolean): Program => ({
  step,
  data: (n) => [randn([n]).requiresGrad_(takesGrad), randn([n])],
});

/** Learns weights from which two steps of descent lead to a small error (MAML). */
function adapting(): Program {
  const weight = randn([3, 1]).requiresGrad_();
  return {
    step: (x, y) => {
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
    },
    data: (n) => [randn([n, 3]), randn([n, 1])],
    state: () => [weight.grad],
  };
}

/** Fits u'' = -u through two derivatives by the input, and steps an optimizer. */
function solving(): Program {
  const [hidden, out] = [new Linear(1, 8), new Linear(8, 1)];
  const adam = new optim.Adam([...hidden.parameters(), ...out.parameters()], { lr: 0.01 });
  return {
    step: (x) => {
      const u = out.call(tanh(hidden.call(x!)));
      const [slope] = grad(u.sum(), [x!], { createGraph: true });
      const [bend] = grad(slope!.sum(), [x!], { createGraph: true });
      const loss = bend!.add(u).pow(2).mean();
      adam.zeroGrad();
      loss.backward();
      adam.step();
      return loss.detach();
    },
    data: (n) => [rand([n, 1]).requiresGrad_()],
    state: () => [...hidden.parameters()],
  };
}

/** Penalises slopes that are not 1, as a Wasserstein critic does. */
function penalising(): Program {
  const critic = new Linear(2, 1);
  return {
    step: (x) => {
      const [slope] = grad(sigmoid(critic.call(x!)).sum(), [x!], { createGraph: true });
      const penalty = slope!.norm(2, 1).sub(1).pow(2).mean();
      critic.zeroGrad();
      penalty.backward();
      return penalty.detach();
    },
    data: (n) => [randn([n, 2]).requiresGrad_()],
    state: () => [...critic.parameters()].map((parameter) => parameter.grad),
  };
}

/** The same with `backward()` for the first derivative, by the weights. */
function flattening(): Program {
  const weight = randn([2, 3]).t().requiresGrad_();
  return {
    step: (x) => {
      weight.grad = null;
      x!.matmul(weight).tanh().pow(2).mean().backward(null, { createGraph: true });
      const slope = weight.grad!;
      weight.grad = null;
      const penalty = slope.pow(2).sum();
      penalty.backward();
      return penalty.detach();
    },
    data: (n) => [randn([n, 3])],
    state: () => [weight.grad],
  };
}

/** A gradient penalty that the caller differentiates. */
function penaltyOutside(): Program {
  const critic = new Linear(2, 1);
  return {
    step: (x) => {
      const [slope] = grad(tanh(critic.call(x!)).sum(), x!, { createGraph: true });
      return slope!.norm(2, 1).sub(1).pow(2).mean();
    },
    after: (penalty) => {
      critic.zeroGrad();
      penalty.backward();
    },
    data: (n) => [randn([n, 2]).requiresGrad_()],
    state: () => [critic.weight.grad],
  };
}

/** The product of the Hessian of a loss over all parameters of a model with a vector. */
function modelHessian(): Program {
  const model = new Sequential(new Linear(3, 4), new Linear(4, 1));
  const parameters = [...model.parameters()];
  const vectors = parameters.map(({ sizes }) => randn([...sizes]));
  return {
    step: (x) => {
      const loss = model.call(x!).tanh().pow(2).mean();
      const grads = grad(loss, parameters, { createGraph: true });
      const dot = grads.map((g, i) => g.mul(vectors[i]!).sum()).reduce((a, b) => a.add(b));
      return grad(dot, parameters);
    },
    data: (n) => [randn([n, 3])],
  };
}

/** Three derivatives, each of the one before. */
function thrice(): Program {
  return {
    step: (x) => {
      const [first] = grad(x!.pow(5).sum(), x!, { createGraph: true });
      const [second] = grad(first!.sum(), x!, { createGraph: true });
      return [first!.detach(), second!.detach(), ...grad(second!.sum(), x!)];
    },
    data: (n) => [randn([n]).requiresGrad_()],
  };
}

/** The gradient of each sample's loss, one by one. */
function perSample(): Program {
  const model = new Linear(3, 1);
  const parameters = [...model.parameters()];
  return {
    step: (x) => {
      const losses = model.call(x!).pow(2).squeeze(1).unbind(0);
      return stack(losses.map((loss) => grad(loss, parameters, { retainGraph: true })[0]!));
    },
    data: (n) => [randn([n, 3])],
  };
}

const PROGRAMS: readonly (readonly [string, () => Program])[] = [
  ...Object.entries(FUNCTIONAL).map(
    ([name, step]) => [name, () => onVectors(step, name.includes('by its vector'))] as const,
  ),
  ['an inner training loop', adapting],
  ['a differential equation', solving],
  ['a gradient penalty', penalising],
  ['a gradient penalty that the caller differentiates', penaltyOutside],
  ['a penalty on what backward() with createGraph gives', flattening],
  ['a Hessian-vector product of a model', modelHessian],
  ['three derivatives', thrice],
  ['gradients per sample', perSample],
];

/** What ten calls give, the eighth and ninth with another number of rows. */
function outcomes(make: () => Program, wrap: (step: Step) => Step): (Tensor | null)[][] {
  manualSeed(5);
  const { step, data, state, after } = make();
  const run = wrap(step);
  return Array.from({ length: 10 }, (_, i) => {
    const result = run(...data(i === 7 || i === 8 ? 2 : 3));
    after?.(result as Tensor);
    const kept = (state?.() ?? []).map((tensor) => tensor?.detach().clone() ?? null);
    return [...[result].flat(), ...kept] as (Tensor | null)[];
  });
}

/** The largest difference, relative to what is above 1. */
function distance(a: Tensor, b: Tensor): number {
  const [x, y] = [a, b].map((tensor) => tensor.detach().reshape([-1]).toArray() as number[]);
  return Math.max(
    ...x!.map((value, i) => Math.abs(value - y![i]!) / Math.max(1, Math.abs(y![i]!))),
  );
}

describe.each(['eager', 'aot_eager', 'inductor'])(
  'inside a compiled function, with %s',
  (backend) => {
    it.each(PROGRAMS)('%s is what it is in eager, on every call, in one graph', (_, make) => {
      const refused = counters.get('aot_autograd', 'eager_fallback');
      const expected = outcomes(make, (step) => step);
      let compiled: Step | null = null;
      const got = outcomes(
        make,
        (step) => (compiled = compile(step, { backend, fullgraph: true })),
      );
      got.forEach((values, call) =>
        values.forEach((value, i) => {
          const wanted = expected[call]![i]!;
          if (wanted === null || value === null) expect(value).toBe(wanted);
          else {
            expect(value.sizes).toEqual(wanted.sizes);
            expect(value.requiresGrad).toBe(wanted.requiresGrad);
            expect(distance(value, wanted)).toBeLessThan(1e-4);
          }
        }),
      );
      const { captures } = compiledFunctionOf(compiled!);
      expect(captures.map(({ segments }) => segments.length)).toEqual(captures.map(() => 1));
      // Loops over rows are recorded anew for another number of them, and again where sizes have become symbols.
      expect(captures.length).toBeLessThanOrEqual(3);
      expect(counters.get('aot_autograd', 'eager_fallback')).toBe(refused);
    });
  },
);

describe('explain', () => {
  it.each(PROGRAMS)('shows one graph and no break for %s', (_, make) => {
    const { step, data } = make();
    const { graphCount, graphBreakCount } = explain(step)(...data(3));
    expect([graphCount, graphBreakCount]).toEqual([1, 0]);
  });
});
