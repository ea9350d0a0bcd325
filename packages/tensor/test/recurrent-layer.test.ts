import { describe, expect, it } from 'vitest';
import { type Tensor, allclose, grad, manualSeed, randn, stack, unbind } from '../src/index.js';
import { type CellKind, GATES, recurrentLayer, recurrentStep } from '../src/internal.js';

interface Call {
  readonly gates: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor;
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

function call(kind: CellKind, steps = 3, rows = 2, hidden = 3): Call {
  const width = GATES[kind] * hidden;
  const leaf = (sizes: readonly number[]): Tensor =>
    randn(sizes, { dtype: 'float64' }).requiresGrad_();
  return {
    gates: leaf([steps, rows, width]),
    weight: leaf([width, hidden]),
    bias: leaf([width]),
    hidden: leaf([rows, hidden]),
    cell: kind === 'lstm' ? leaf([rows, hidden]) : null,
  };
}

function whole(
  kind: CellKind,
  { gates, weight, bias, ...state }: Call,
  reverse: boolean,
): Tensor[] {
  const { output, cells } = recurrentLayer(
    kind,
    gates,
    state,
    { weightHh: weight, biasHh: bias },
    reverse,
  );
  return cells === null ? [output] : [output, cells];
}

function stepByStep(
  kind: CellKind,
  { gates, weight, bias, ...initial }: Call,
  reverse: boolean,
): Tensor[] {
  const inputs = unbind(gates, 0);
  let state = initial;
  const states: (typeof state)[] = [];
  for (let i = 0; i < inputs.length; i++) {
    const t = reverse ? inputs.length - 1 - i : i;
    states[t] = state = recurrentStep(kind, inputs[t]!, state, { weightHh: weight, biasHh: bias });
  }
  const output = stack(states.map(({ hidden }) => hidden));
  return kind === 'lstm' ? [output, stack(states.map(({ cell }) => cell!))] : [output];
}

const leaves = (given: Call): Tensor[] =>
  Object.values(given).filter((x: Tensor | null) => x !== null);
/** Weighs every element differently. */
const loss = (outs: readonly Tensor[]): Tensor =>
  outs
    .map((out, i) =>
      out
        .pow(2)
        .mul(i + 1)
        .sum()
        .add(out.sin().sum()),
    )
    .reduce((a, b) => a.add(b));

const CASES = (Object.keys(GATES) as CellKind[]).flatMap((kind) =>
  [false, true].map((reverse) => [kind, reverse] as const),
);

describe.each(CASES)('a layer of kind %s as one op, reverse %s', (kind, reverse) => {
  it('gives what its steps give, with their gradients and those of the gradients', () => {
    manualSeed(7);
    const given = call(kind);
    const results = [whole, stepByStep].map((run) => {
      const outs = run(kind, given, reverse);
      const grads = grad(loss(outs), leaves(given), { createGraph: true }) as Tensor[];
      const plain = grad(loss(run(kind, given, reverse)), leaves(given)) as Tensor[];
      const second = grad(loss(grads), leaves(given)) as Tensor[];
      return [...outs, ...grads, ...plain, ...second];
    });
    expect(results[0]).toHaveLength(results[1]!.length);
    for (const [i, found] of results[0]!.entries())
      expect(allclose(found, results[1]![i]!, { rtol: 1e-9, atol: 1e-11 }), `${i}`).toBe(true);
  });
});

describe('a layer as one op', () => {
  it('says which sizes do not fit, and that a sequence has steps', () => {
    const { gates, weight, bias, hidden, cell } = call('lstm');
    const weights = { weightHh: weight, biasHh: bias };
    expect(() =>
      recurrentLayer('lstm', gates.narrow(2, 0, 8), { hidden, cell }, weights, false),
    ).toThrow(/gates \[3, 2, 8\] and weights \[12, 3\] do not fit/);
    expect(() =>
      recurrentLayer('lstm', gates.narrow(0, 0, 0), { hidden, cell }, weights, false),
    ).toThrow(/at least one step/);
    expect(() => recurrentLayer('lstm', gates, { hidden, cell: null }, weights, false)).toThrow(
      /only an LSTM has a cell state/,
    );
    expect(() =>
      recurrentLayer('lstm', gates, { hidden: hidden.narrow(0, 0, 1), cell }, weights, false),
    ).toThrow(/expected a state \[2, 3\], got \[1, 3\]/);
  });
});
