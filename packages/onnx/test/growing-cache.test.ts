/**
 * @file A cache that grows by a token a call, as `GroupQueryAttention` keeps it: one code from the second length on.
 */
import { compile, counters, observeCompilations } from '@tessera/compile';
import { type Tensor, full, isTensor, noGrad, randn, zeros } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { floats, ints, model, value } from './support/build-model.js';

const [HEADS, SHARED, WIDTH] = [8, 4, 16];
const INT64 = 7;

it('has one code for all lengths of a cache', async () => {
  const angles = (shift: number) =>
    Array.from({ length: 64 * (WIDTH / 2) }, (_, i) => Math.sin(shift + i * 0.37));
  const cache = ['B', SHARED, 'P', WIDTH];
  const bytes = model(
    {
      inputs: [
        value('q', ['B', 'L', HEADS * WIDTH]),
        value('k', ['B', 'L', SHARED * WIDTH]),
        value('v', ['B', 'L', SHARED * WIDTH]),
        value('mask', ['B', 'T'], INT64),
        value('pastKey', cache),
        value('pastValue', cache),
      ],
      outputs: [value('y', []), value('key', []), value('value', [])],
      nodes: [
        { op: 'ReduceSum', in: ['mask', 'one'], out: ['counts'], attributes: { keepdims: 0 } },
        { op: 'Sub', in: ['counts', 'one'], out: ['last'] },
        { op: 'Cast', in: ['last'], out: ['last32'], attributes: { to: 6 } },
        { op: 'Shape', in: ['mask'], out: ['shape'] },
        { op: 'Gather', in: ['shape', 'one'], out: ['length'] },
        { op: 'Cast', in: ['length'], out: ['total'], attributes: { to: 6 } },
        {
          op: 'GroupQueryAttention',
          domain: 'com.microsoft',
          in: ['q', 'k', 'v', 'pastKey', 'pastValue', 'last32', 'total', 'cos', 'sin'],
          out: ['y', 'key', 'value'],
          attributes: { num_heads: HEADS, kv_num_heads: SHARED, do_rotary: 1 },
        },
      ],
      initializers: [
        ints('one', [1], [1]),
        floats('cos', [64, WIDTH / 2], angles(1)),
        floats('sin', [64, WIDTH / 2], angles(2)),
      ],
    },
    17,
    ['com.microsoft'],
  );
  const module = await importOnnx(bytes);
  const run = compile((inputs: Record<string, Tensor>) => noGrad(() => module.call(inputs)));
  let made = 0;
  const stop = observeCompilations((_graph, { isShared }) => (made += isShared ? 0 : 1));
  let [pastKey, pastValue] = [0, 0].map(() => zeros([2, SHARED, 0, WIDTH])) as [Tensor, Tensor];
  const counts: number[] = [];
  for (const length of [5, 1, 1, 1, 1, 1]) {
    const [q, k, v] = [HEADS, SHARED, SHARED].map((heads) => randn([2, length, heads * WIDTH])) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const mask = full([2, pastKey.shape[2]! + length], 1, { dtype: 'int64' });
    const inputs = { q, k, v, mask, pastKey, pastValue };
    made = -counters.get('inductor', 'templates');
    const outputs = run(inputs);
    counts.push(made + counters.get('inductor', 'templates'));
    const eager = noGrad(() => module.call(inputs));
    for (const name of ['y', 'key', 'value'])
      expect(
        isTensor(outputs[name]) && outputs[name].allclose(eager[name]!, { atol: 1e-5 }),
        `${name} behind ${pastKey.shape[2]}`,
      ).toBe(true);
    [pastKey, pastValue] = [eager['key']!, eager['value']!];
  }
  stop();
  // The prompt; a token at one length, then at any.
  expect(counts).toEqual([1, 1, 1, 0, 0, 0]);
});
