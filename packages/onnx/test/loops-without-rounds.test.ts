/**
 * @file Loops and scans of no rounds: what they carry stays, and what they collect has no elements, in the
 * sizes of their bodies.
 */
import { compile } from '@tessera/compile';
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { resultsOf } from './support/beside-onnxruntime.js';
import { graph, model, value } from './support/build-model.js';

const [INT64, BOOL] = [7, 9];

const round = [
  { op: 'Tanh', in: ['h'], out: ['next'] },
  { op: 'Concat', in: ['next', 'h'], out: ['both'], attributes: { axis: -1 } },
];

const loop = model(
  {
    inputs: [value('x', ['b', 4]), value('n', [], INT64)],
    outputs: [value('last', ['b', 4]), value('all', ['k', 'b', 8])],
    nodes: [
      {
        op: 'Loop',
        in: ['n', '', 'x'],
        out: ['last', 'all'],
        attributes: {
          body: graph({
            inputs: [value('i', [], INT64), value('c', [], BOOL), value('h', ['b', 4])],
            outputs: [value('on', [], BOOL), value('next', ['b', 4]), value('both', [2, 8])],
            nodes: [{ op: 'Identity', in: ['c'], out: ['on'] }, ...round],
          }),
        },
      },
    ],
  },
  17,
);

const scan = model(
  {
    inputs: [value('x', [2, 4]), value('steps', [2, 'k', 4])],
    outputs: [value('last', [2, 4]), value('all', [2, 'k', 8])],
    nodes: [
      {
        op: 'Scan',
        in: ['x', 'steps'],
        out: ['last', 'all'],
        attributes: {
          num_scan_inputs: 1,
          scan_input_axes: [1],
          scan_output_axes: [1],
          body: graph({
            inputs: [value('h', [2, 4]), value('step', [2, 4])],
            outputs: [value('sum', [2, 4]), value('both', [2, 8])],
            nodes: [...round, { op: 'Add', in: ['next', 'step'], out: ['sum'] }],
          }),
        },
      },
    ],
  },
  17,
);

const x = [0.5, -1, 2, 0.25, 1, -2, 0.75, 3];
const counts = [3, 0, 2];

async function theirs(
  file: Uint8Array,
  more: (ort: typeof import('onnxruntime-node')) => object,
): Promise<Record<string, { dims: number[]; data: number[] }>> {
  const ort = await import('onnxruntime-node');
  const session = await ort.InferenceSession.create(file, { logSeverityLevel: 4 });
  const found = await session.run({
    x: new ort.Tensor('float32', Float32Array.from(x), [2, 4]),
    ...(more(ort) as Record<string, never>),
  });
  return Object.fromEntries(
    Object.entries(found).map(([name, { dims, data }]) => [
      name,
      { dims: [...dims], data: Array.from(data as Float32Array, Number) },
    ]),
  );
}

describe.each(['eager', 'compiled'])('%s', (mode) => {
  const runner = async (file: Uint8Array): Promise<(inputs: Record<string, Tensor>) => unknown> => {
    const loaded = await importOnnx(file);
    const call = (inputs: Record<string, Tensor>): unknown => loaded.call(inputs);
    return mode === 'eager' ? call : compile(call);
  };
  const same = (
    ours: unknown,
    wanted: Record<string, { dims: number[]; data: number[] }>,
  ): void => {
    const own = resultsOf(ours as Record<string, unknown>);
    expect(Object.keys(own)).toEqual(Object.keys(wanted));
    for (const [name, { dims, data }] of Object.entries(wanted)) {
      expect(own[name]!.dims).toEqual(dims);
      data.forEach((value, i) => expect(own[name]!.data[i]).toBeCloseTo(value, 5));
    }
  };

  it('Loop', async () => {
    const run = await runner(loop);
    for (const n of counts)
      same(
        run({ x: tensor(x).reshape([2, 4]), n: tensor(n, { dtype: 'int64' }) }),
        await theirs(loop, (ort) => ({
          n: new ort.Tensor('int64', BigInt64Array.of(BigInt(n)), []),
        })),
      );
  });

  it('Scan', async () => {
    const run = await runner(scan);
    for (const k of counts) {
      const steps = Array.from({ length: 8 * k }, (_, i) => Math.fround(Math.sin(i)));
      const ours = run({ x: tensor(x).reshape([2, 4]), steps: tensor(steps).reshape([2, k, 4]) });
      // Over nothing, onnxruntime ends the process.
      const wanted =
        k === 0
          ? { last: { dims: [2, 4], data: x }, all: { dims: [2, 0, 8], data: [] } }
          : await theirs(scan, (ort) => ({
              steps: new ort.Tensor('float32', Float32Array.from(steps), [2, k, 4]),
            }));
      same(ours, wanted);
    }
  });
});
