/**
 * @file Two models as exporters write them: a convolutional network and a block of a transformer.
 */
import { type NodeSpec, floats, ints, model, value } from './build-model.js';

/** Numbers without a pattern, the same every time. */
function noise(count: number, seed: number): number[] {
  return Array.from({ length: count }, (_, i) => Math.sin(seed + i * 12.9898) * 0.5);
}

/** Conv, BatchNormalization, Relu, a reshape computed from the shape, Gemm: x [N, 2, 4, 4] → y [N, 3]. */
export function convolutional(): Uint8Array {
  return model({
    inputs: [value('x', ['N', 2, 4, 4])],
    outputs: [value('y', ['N', 3])],
    initializers: [
      floats('conv.weight', [3, 2, 3, 3], noise(54, 1)),
      floats('conv.bias', [3], noise(3, 2)),
      floats('bn.weight', [3], [1, 0.5, 2]),
      floats('bn.bias', [3], [0.1, 0, -0.1]),
      floats('bn.running_mean', [3], [0.1, 0.2, 0.3]),
      floats('bn.running_var', [3], [1, 2, 3]),
      floats('fc.weight', [3, 48], noise(144, 3)),
      floats('fc.bias', [3], noise(3, 4)),
      ints('zero', [], [0]),
      ints('rest', [1], [-1]),
    ],
    nodes: [
      {
        op: 'Conv',
        in: ['x', 'conv.weight', 'conv.bias'],
        out: ['c'],
        attributes: { kernel_shape: [3, 3], pads: [1, 1, 1, 1] },
      },
      {
        op: 'BatchNormalization',
        in: ['c', 'bn.weight', 'bn.bias', 'bn.running_mean', 'bn.running_var'],
        out: ['b'],
      },
      { op: 'Relu', in: ['b'], out: ['r'] },
      { op: 'Shape', in: ['r'], out: ['shape'] },
      { op: 'Gather', in: ['shape', 'zero'], out: ['n'], attributes: { axis: 0 } },
      { op: 'Constant', in: [], out: ['axes0'], attributes: { value: ints('', [1], [0]) } },
      { op: 'Unsqueeze', in: ['n', 'axes0'], out: ['n1'] },
      { op: 'Concat', in: ['n1', 'rest'], out: ['target'], attributes: { axis: 0 } },
      { op: 'Reshape', in: ['r', 'target'], out: ['flat'] },
      {
        op: 'Gemm',
        in: ['flat', 'fc.weight', 'fc.bias'],
        out: ['y'],
        attributes: { transB: 1 },
      },
    ],
  });
}

/** Attention whose heads are split by computed shapes: x [B, L, 8] → y [B, L, 8], two heads. */
export function transformer(): Uint8Array {
  const projection = (name: string): NodeSpec[] => [
    { op: 'MatMul', in: ['x', `${name}.weight`], out: [`${name}.out`] },
    { op: 'Reshape', in: [`${name}.out`, 'split'], out: [`${name}.split`] },
    {
      op: 'Transpose',
      in: [`${name}.split`],
      out: [`${name}.heads`],
      attributes: { perm: name === 'k' ? [0, 2, 3, 1] : [0, 2, 1, 3] },
    },
  ];
  return model({
    inputs: [value('x', ['B', 'L', 8])],
    outputs: [value('y', ['B', 'L', 8])],
    initializers: [
      ...['q', 'k', 'v', 'o'].map((name, i) => floats(`${name}.weight`, [8, 8], noise(64, i))),
      floats('norm.weight', [8], noise(8, 9)),
      floats('norm.bias', [8], noise(8, 10)),
      ints('dims', [2], [0, 1]),
      ints('heads', [2], [2, 4]),
      ints('width', [1], [8]),
      ints('end', [1], [3]),
    ],
    nodes: [
      { op: 'Shape', in: ['x'], out: ['shape'] },
      { op: 'Gather', in: ['shape', 'dims'], out: ['bl'], attributes: { axis: 0 } },
      { op: 'Concat', in: ['bl', 'heads'], out: ['split'], attributes: { axis: 0 } },
      { op: 'Concat', in: ['bl', 'width'], out: ['joined'], attributes: { axis: 0 } },
      ...['q', 'k', 'v'].flatMap(projection),
      { op: 'MatMul', in: ['q.heads', 'k.heads'], out: ['scores'] },
      { op: 'Shape', in: ['q.split'], out: ['split.shape'] },
      { op: 'Constant', in: [], out: ['four'], attributes: { value: ints('', [1], [4]) } },
      { op: 'Slice', in: ['split.shape', 'end', 'four'], out: ['size'] },
      { op: 'Cast', in: ['size'], out: ['size.float'], attributes: { to: 1 } },
      { op: 'Sqrt', in: ['size.float'], out: ['root'] },
      { op: 'Div', in: ['scores', 'root'], out: ['scaled'] },
      { op: 'Softmax', in: ['scaled'], out: ['weights'], attributes: { axis: -1 } },
      { op: 'MatMul', in: ['weights', 'v.heads'], out: ['mixed'] },
      { op: 'Transpose', in: ['mixed'], out: ['back'], attributes: { perm: [0, 2, 1, 3] } },
      { op: 'Reshape', in: ['back', 'joined'], out: ['together'] },
      { op: 'MatMul', in: ['together', 'o.weight'], out: ['projected'] },
      { op: 'Add', in: ['x', 'projected'], out: ['sum'] },
      {
        op: 'LayerNormalization',
        in: ['sum', 'norm.weight', 'norm.bias'],
        out: ['y'],
        attributes: { axis: -1 },
      },
    ],
  });
}
