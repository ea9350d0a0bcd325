/**
 * @file Templates of graphs whose sizes are rounded quotients: two sizes say what all others are.
 */
import { type Tensor, pad, zeros } from '@tessera/tensor';
import { avgPool2d, conv2d, im2col, maxPool2d, maxPool3d } from '@tessera/tensor/internal';
import { describe, expect, it, vi } from 'vitest';
import { Graph, type GraphModule, GraphTemplate, makeFx } from '../src/index.js';

type Program = (x: Tensor) => Tensor;

const weight = (kernel: number): Tensor => zeros([2, 2, kernel, kernel]);

const traced = (program: Program, sizes: readonly number[]): GraphModule =>
  makeFx((x: Tensor) => program(x).relu(), { tracingMode: 'fake' })(zeros(sizes));

const PROGRAMS: Readonly<Record<string, Program>> = {
  'five convolutions and pools with stride 2': (x) => {
    const stem = conv2d(x, weight(7), { stride: 2, padding: 3 });
    const pooled = maxPool2d(stem, 3, { stride: 2, padding: 1 });
    const deep = [1, 2, 3].reduce<Tensor>((y) => {
      const branch = conv2d(y, weight(1), { stride: 2 });
      return conv2d(y, weight(3), { stride: 2, padding: 1 }).add(branch);
    }, pooled);
    return deep.relu();
  },
  'dilated convolutions without padding': (x) =>
    conv2d(conv2d(x, weight(3), { dilation: 2, stride: 3 }), weight(2), { stride: 2 }),
  'views between convolutions': (x) => {
    const down = conv2d(x, weight(3), { stride: 4 });
    return conv2d(
      down.flatten(0, 1).unsqueeze(0).expand([2, -1, -1, -1]).narrow(1, 0, 2),
      weight(2),
      { stride: 2 },
    );
  },
  'means, rounded down and up': (x) =>
    avgPool2d(avgPool2d(x, 3, { stride: 2, ceilMode: true, padding: 1 }), 2),
  'largest values, rounded up beyond the padding': (x) =>
    maxPool2d(x, 2, { stride: 5, padding: 1, ceilMode: true }),
  volumes: (x) => maxPool3d(x.unsqueeze(2).expand([-1, -1, 5, -1, -1]), 3, { stride: 2 }),
  patches: (x) => im2col(x, [3, 2], { stride: [4, 3], padding: 1 }),
};

describe('the template of two graphs', () => {
  it.each(Object.entries(PROGRAMS))('is that of all other sizes: %s', (_, program) => {
    const at = (size: number): GraphModule => traced(program, [2, 2, size, size]);
    const template = GraphTemplate.of([at(216), at(224)])!;
    for (let size = 64; size < 100; size++)
      expect(template.match(at(size)), `${size}`).toEqual([size]);
  });

  it('lists the nodes of a graph as often, however many it has', () => {
    const ofSteps = (steps: number): number => {
      const [a, b, c] = [64, 80, 96].map((size) =>
        traced((x) => Array.from({ length: steps }).reduce<Tensor>((y) => y.neg(), x), [2, size]),
      );
      const lists = vi.spyOn(Graph.prototype, 'nodes', 'get');
      expect(GraphTemplate.of([a!, b!])!.match(c!)).toEqual([96]);
      const count = lists.mock.calls.length;
      lists.mockRestore();
      return count;
    };
    expect(ofSteps(40)).toBe(ofSteps(20));
  });

  const ROWS: Readonly<Record<string, Program>> = {
    'rows of windows': (x) => {
      const down = conv2d(x, weight(3), { stride: 3 });
      const rows = down.permute([0, 2, 3, 1]).reshape([-1, 2]);
      return rows.reshape([down.shape[0]!, -1, 2]);
    },
    'all windows but the last, in pairs': (x) => {
      const down = conv2d(x, weight(4), { stride: 5, padding: 2 });
      const cut = down.narrow(3, 0, down.shape[3]! - 1);
      return cut.permute([2, 3, 0, 1]).reshape([-1, 4]);
    },
  };

  it('takes what a program computes of sizes for a size', () => {
    const at = (rows: number, batch: number): GraphModule =>
      traced((x) => pad(x, [0, 0, 0, (8 - (x.shape[0]! % 8)) % 8]), [rows, batch]);
    const template = GraphTemplate.of([at(9, 4), at(18, 7)])!;
    for (const rows of [9, 13, 25, 31]) expect(template.match(at(rows, 5))?.[0]).toBe(rows);
  });

  it.each(Object.entries(ROWS))('multiplies batches and windows: %s', (_, program) => {
    const at = (batch: number, size: number): GraphModule =>
      traced(program, [batch, 2, size, 2 * size + 3]);
    const template = GraphTemplate.of([at(6, 70), at(4, 91)])!;
    for (let size = 64; size < 80; size++)
      expect(template.match(at(8, size)), `${size}`).toEqual([8, size, 2 * size + 3]);
  });
});
