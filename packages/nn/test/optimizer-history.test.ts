/**
 * @file Numbers that one update leaves for the next, when options change between steps and parameters skip some:
 * against what PyTorch 2.13 computed.
 */
import { describe, expect, it } from 'vitest';
import { tensor } from '@tessera/tensor';
import { Parameter, optim } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

interface History {
  readonly make: (params: Parameter[]) => optim.Optimizer;
  /** What changes in the group after an update. */
  readonly change: (group: Record<string, unknown>, step: number) => void;
  readonly after: readonly [number[], number[]];
  readonly state: readonly Record<string, number>[];
}

const histories: Record<string, History> = {
  'ASGD with a falling rate': {
    make: (params) => new optim.ASGD(params, { lr: 0.1, lambd: 0.5, t0: 2, alpha: 0.5 }),
    change: (group) => (group.lr = (group.lr as number) * 0.5),
    after: [[0.5545083778270371, -1.4508799751183366], [0.3111494529195305]],
    state: [
      { step: 6, eta: 0.0031104537192732096, mu: 0.25 },
      { step: 4, eta: 0.003115279832854867, mu: 0.5 },
    ],
  },
  'NAdam with a falling beta': {
    make: (params) => new optim.NAdam(params, { lr: 0.1, betas: [0.9, 0.99] }),
    change: (group, step) => (group.betas = [0.9 - 0.1 * step, 0.99]),
    after: [[0.25400464412528273, -1.434126329465799], [0.09386019109751625]],
    state: [
      { step: 6, mu_product: 0.0009482436580583453 },
      { step: 4, mu_product: 0.0060097998939454556 },
    ],
  },
};

/** Six updates; the second parameter has no gradient in the first and the third. */
function follow(
  { make, change }: History,
  compiled: boolean,
  savedAfter: number,
): { readonly params: Parameter[]; readonly optimizer: optim.Optimizer } {
  const params = [[1, -2], [0.5]].map((v) => new Parameter(tensor(v, { dtype: 'float64' })));
  let optimizer = make(params);
  const stepOf = (): (() => void) => {
    const own = optimizer;
    const plain = (): void => void own.step();
    return compiled ? compileForTest(plain).call : plain;
  };
  let step = stepOf();
  for (let t = 1; t <= 6; t++) {
    params[0]!.grad = tensor([t * 0.5, -1], { dtype: 'float64' });
    params[1]!.grad = t === 1 || t === 3 ? null : tensor([t - 2], { dtype: 'float64' });
    step();
    change(optimizer.paramGroups[0] as unknown as Record<string, unknown>, t);
    if (t === savedAfter) {
      const saved = optimizer.stateDict();
      optimizer = make(params);
      optimizer.loadStateDict(saved);
      step = stepOf();
    }
  }
  return { params, optimizer };
}

describe.each([
  ['eager', false],
  ['compiled', true],
] as const)('numbers carried from update to update, %s', (_, compiled) => {
  it.each(Object.entries(histories))("%s: PyTorch's values, resumed or not", (__, history) => {
    for (const savedAfter of [0, 4]) {
      const { params, optimizer } = follow(history, compiled, savedAfter);
      params.forEach((param, i) =>
        (param.toArray() as number[]).forEach((value, j) =>
          expect(value).toBeCloseTo(history.after[i]![j]!, 12),
        ),
      );
      const { state } = optimizer.stateDict();
      history.state.forEach((numbers, i) =>
        Object.entries(numbers).forEach(([name, value]) =>
          expect(state[i]![name], name).toBeCloseTo(value, 12),
        ),
      );
    }
  });
});
