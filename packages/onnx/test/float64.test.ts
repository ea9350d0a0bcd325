/**
 * @file Models in float64: operators that compute in float32 where they are given less do not round to it.
 */
import { compile } from '@tessera/compile';
import { type Tensor, noGrad, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { type NodeSpec, floats, model, value } from './support/build-model.js';

/** Far from zero, so that float32 knows nothing of the differences. */
const FAR = 1e9;
const x = tensor(
  [
    [FAR, FAR + 1],
    [FAR + 2, FAR + 5],
  ],
  { dtype: 'float64' },
);

async function run(node: NodeSpec): Promise<Tensor> {
  const module = await importOnnx(
    model({
      inputs: [value('x', [2, 2])],
      outputs: [value('y', [2, 2])],
      initializers: [
        floats('one', [2], [1, 1]),
        floats('none', [2], [0, 0]),
        floats('step', [], [0.1]),
      ],
      nodes: [node],
    }),
  );
  return noGrad(() => module.to('float64').call(x).y!);
}

const close = (y: Tensor, wanted: number[]): void => {
  expect(y.dtype).toBe('float64');
  for (const [i, each] of (y.flatten().toArray() as number[]).entries())
    expect(each).toBeCloseTo(wanted[i]!, 4);
};

it('a batch norm in training mode', async () => {
  const node: NodeSpec = {
    op: 'BatchNormalization',
    in: ['x', 'one', 'none', 'none', 'one'],
    out: ['y', 'mean', 'variance'],
    attributes: { training_mode: 1 },
  };
  close(await run(node), [-0.999995, -0.99999875, 0.999995, 0.99999875]);
});

it('a layer norm whose mean is wanted', async () => {
  const node: NodeSpec = {
    op: 'LayerNormalization',
    in: ['x', 'one', 'none'],
    out: ['y', 'mean', 'inverse'],
  };
  close(await run(node), [-0.99998, 0.99998, -0.9999978, 0.9999978]);
});

it('the quantized LSTM of onnxruntime takes float64', async () => {
  const size = 2;
  const module = await importOnnx(
    model(
      {
        inputs: [value('x', [3, 1, size])],
        outputs: [value('y', [3, 1, 1, size])],
        initializers: [
          floats(
            'w',
            [1, size, 4 * size],
            Array.from({ length: 8 * size }, (_, i) => (i % 5) - 2),
          ),
          floats('step', [1], [0.1]),
          floats('zero', [1], [0]),
        ],
        nodes: [
          {
            op: 'Cast',
            in: ['w'],
            out: ['whole'],
            attributes: { to: 3 },
          },
          {
            op: 'Cast',
            in: ['zero'],
            out: ['none'],
            attributes: { to: 3 },
          },
          {
            op: 'DynamicQuantizeLSTM',
            domain: 'com.microsoft',
            in: ['x', 'whole', 'whole', '', '', '', '', '', 'step', 'none', 'step', 'none'],
            out: ['y'],
            attributes: { hidden_size: size },
          },
        ],
      },
      17,
      ['com.microsoft'],
    ),
  );
  const input = tensor([[[1, -1]], [[0.5, 2]], [[0, 1]]]);
  const wanted = module.call(input).y!;
  const got = module.to('float64').call(input.to('float64')).y!;
  close(got, wanted.flatten().toArray() as number[]);
});

it('constants of the file are float64, too', async () => {
  const module = await importOnnx(
    model({
      inputs: [value('x', [2, 2])],
      outputs: [value('y', [2, 2])],
      initializers: [floats('w', [2, 2], [1, 0, 0, 1])],
      nodes: [
        {
          op: 'Constant',
          in: [],
          out: ['c'],
          attributes: { value: floats('', [2, 2], [3, 1, 2, 1]) },
        },
        { op: 'MatMul', in: ['c', 'w'], out: ['places'] },
        { op: 'Sub', in: ['x', 'places'], out: ['y'] },
      ],
    }),
  );
  const call = compile((input: Tensor) => noGrad(() => module.to('float64').call(input).y!));
  const wanted = [FAR - 3, FAR, FAR, FAR + 4];
  close(call(x), wanted);
  close(
    noGrad(() => module.call(x).y!),
    wanted,
  );
});

it('what the file casts to float32 is float64, in a call and a compiled one', async () => {
  const module = await importOnnx(
    model({
      inputs: [value('x', [2, 2])],
      outputs: [value('y', [2, 2])],
      initializers: [floats('w', [2, 2], [1, 0, 0, 1])],
      nodes: [
        { op: 'Cast', in: ['x'], out: ['wide'], attributes: { to: 1 } },
        { op: 'ReduceMean', in: ['wide'], out: ['mean'], attributes: { axes: [1] } },
        { op: 'Sub', in: ['wide', 'mean'], out: ['centred'] },
        { op: 'MatMul', in: ['centred', 'w'], out: ['y'] },
      ],
    }),
  );
  const call = compile((input: Tensor) => noGrad(() => module.call(input).y!));
  expect(call(x.to('float32')).dtype).toBe('float32');
  module.to('float64');
  const wanted = [-0.5, 0.5, -1.5, 1.5];
  close(module.call(x).y!.detach(), wanted);
  close(call(x), wanted);
  module.to('float32');
  expect(call(x.to('float32')).dtype).toBe('float32');
});
