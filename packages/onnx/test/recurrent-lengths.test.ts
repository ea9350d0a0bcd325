/**
 * @file Recurrent operators with the default equations are a layer: one code for sequences of all lengths, those that end
 * before others included.
 */
import { compile, observeCompilations } from '@tessera/compile';
import { type Tensor, isTensor, noGrad, ones, randint, randn, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { type Contrib, given, noise } from './support/beside-onnxruntime.js';
import { type Attributes, floats, model, value } from './support/build-model.js';
import { type Case, describeLikeOnnxruntime } from './support/like-onnxruntime.js';

const F32 = 'float32' as const;
type Op = 'LSTM' | 'GRU' | 'RNN';
const GATES: Readonly<Record<Op, number>> = { LSTM: 4, GRU: 3, RNN: 1 };
const [INPUT, HIDDEN] = [3, 2];

/** Five steps of four sequences. */
function layer(
  op: Op,
  direction: string,
  lengths: readonly number[] | null,
  state: boolean,
  attributes: Attributes = {},
): Contrib {
  const count = direction === 'bidirectional' ? 2 : 1;
  const rows = GATES[op] * HIDDEN;
  const initial = (seed: number) => (state ? noise([count, 4, HIDDEN], seed) : null);
  return {
    op,
    domain: '',
    inputs: [
      noise([5, 4, INPUT], 1),
      noise([count, rows, INPUT], 2),
      noise([count, rows, HIDDEN], 3),
      noise([count, 2 * rows], 4),
      lengths && given('int32', [4], lengths),
      initial(5),
      ...(op === 'LSTM' ? [initial(6)] : []),
    ],
    attributes: { hidden_size: HIDDEN, direction, ...attributes },
    outputs: op === 'LSTM' ? [F32, F32, F32] : [F32, F32],
  };
}

const lengthsOf: Readonly<Record<string, readonly number[] | null>> = {
  'full sequences': null,
  'sequences that end before': [5, 2, 1, 4],
};
const cases: Case[] = (['reverse', 'bidirectional'] as const).flatMap((direction) =>
  Object.entries(lengthsOf).flatMap(([title, lengths]) =>
    (
      [
        ['LSTM', {}],
        ['GRU', { linear_before_reset: 1 }],
        ['GRU', {}],
        ['RNN', {}],
        [
          'RNN',
          {
            activations: Array.from(
              { length: direction === 'bidirectional' ? 2 : 1 },
              () => 'Relu',
            ),
          },
        ],
      ] as [Op, Attributes][]
    ).map(([op, attributes], i): Case => [
      `${op} ${i}: ${title}, ${direction}`,
      layer(op, direction, lengths, i % 2 === 0, attributes),
    ]),
  ),
);
describeLikeOnnxruntime({ 'recurrent layers': cases });

it.each(['LSTM', 'GRU', 'RNN'] as const)('%s: one code for all lengths', async (op) => {
  const rows = GATES[op] * HIDDEN;
  const weights = (name: string, dims: readonly number[]) => {
    const { data } = noise(dims, name.length);
    return floats(name, dims, data);
  };
  const bytes = model({
    inputs: [value('x', ['T', 'N', INPUT]), value('lengths', ['N'], 6)],
    outputs: [value('y', ['T', 2, 'N', HIDDEN]), value('last', [2, 'N', HIDDEN])],
    nodes: [
      {
        op,
        in: ['x', 'W', 'Recurrence', 'Bias', 'lengths'],
        out: ['y', 'last'],
        attributes: { hidden_size: HIDDEN, direction: 'bidirectional', linear_before_reset: 1 },
      },
    ],
    initializers: [
      weights('W', [2, rows, INPUT]),
      weights('Recurrence', [2, rows, HIDDEN]),
      weights('Bias', [2, 2 * rows]),
    ],
  });
  const module = await importOnnx(bytes);
  const run = compile((x: Tensor, lengths: Tensor) => noGrad(() => module.call(x, lengths)));
  let made = 0;
  const stop = observeCompilations((_graph, { isShared }) => (made += isShared ? 0 : 1));
  const counts: number[] = [];
  for (const [steps, rows] of [
    [4, 3],
    [5, 2],
    [7, 5],
    [9, 4],
    [3, 6],
  ] as const) {
    const inputs = [
      randn([steps, rows, INPUT]),
      randint(1, steps + 1, [rows]).to('int32'),
    ] as const;
    made = 0;
    const outputs = run(...inputs);
    counts.push(made);
    const eager = noGrad(() => module.call(...inputs));
    for (const name of ['y', 'last'])
      expect(isTensor(outputs[name]) && outputs[name].allclose(eager[name]!, { atol: 1e-5 })).toBe(
        true,
      );
  }
  stop();
  expect(counts.slice(3)).toEqual([0, 0]);
});

it('RNN: states that grow behind the end of a sequence reach no gradient', async () => {
  const twos = (name: string, dims: readonly number[]) => {
    const count = dims.reduce((all, n) => all * n, 1);
    return floats(
      name,
      dims,
      Array.from({ length: count }, () => 2),
    );
  };
  const bytes = model({
    inputs: [value('x', ['T', 'N', INPUT]), value('lengths', ['N'], 6)],
    outputs: [value('y', ['T', 1, 'N', HIDDEN])],
    nodes: [
      {
        op: 'RNN',
        in: ['x', 'W', 'Recurrence', '', 'lengths'],
        out: ['y'],
        attributes: { hidden_size: HIDDEN, activations: ['Relu'] },
      },
    ],
    initializers: [twos('W', [1, HIDDEN, INPUT]), twos('Recurrence', [1, HIDDEN, HIDDEN])],
  });
  const module = await importOnnx(bytes);
  // A state is four times the one before: beyond float32 long before the end.
  const x = ones([80, 2, INPUT]);
  const lengths = tensor([3, 2], { dtype: 'int32' });
  (module.call(x, lengths)['y'] as Tensor).sum().backward();
  for (const [name, { grad }] of module.namedParameters())
    expect(Boolean(grad?.isfinite().all().item()), name).toBe(true);
});
