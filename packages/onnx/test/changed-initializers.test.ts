/**
 * @file Numbers that decide something are those that the initialiser has now, eagerly and compiled.
 */
import { compile } from '@tessera/compile';
import { type Tensor, noGrad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type OnnxModule, importOnnx } from '../src/index.js';
import { floats, ints, model, value } from './support/build-model.js';

/** x [1, 1, 2, 2] resized by float scales, an initialiser and so a parameter. */
const resizing = (): Promise<OnnxModule> =>
  importOnnx(
    model({
      inputs: [value('x', [1, 1, 2, 2])],
      outputs: [value('y', [1, 1, 'H', 'W'])],
      initializers: [floats('scales', [4], [1, 1, 2, 2])],
      nodes: [
        { op: 'Resize', in: ['x', '', 'scales'], out: ['y'], attributes: { mode: 'nearest' } },
      ],
    }),
  );

/** x [6] reshaped to a shape that is an initialiser of whole numbers. */
const reshaping = (): Promise<OnnxModule> =>
  importOnnx(
    model({
      inputs: [value('x', [6])],
      outputs: [value('y', ['A', 'B'])],
      initializers: [ints('target', [2], [2, 3])],
      nodes: [{ op: 'Reshape', in: ['x', 'target'], out: ['y'] }],
    }),
  );

const cases = [
  {
    title: 'float scales',
    make: resizing,
    x: ones([1, 1, 2, 2]),
    before: [1, 1, 4, 4],
    name: 'scales',
    changed: tensor([1, 1, 3, 1]),
    after: [1, 1, 6, 2],
  },
  {
    title: 'a whole-number shape',
    make: reshaping,
    x: ones([6]),
    before: [2, 3],
    name: 'target',
    changed: tensor([3, 2], { dtype: 'int64' }),
    after: [3, 2],
  },
];

const modes = [
  { mode: 'eagerly', wrap: (fn: (x: Tensor) => Tensor) => fn },
  { mode: 'compiled', wrap: (fn: (x: Tensor) => Tensor) => compile(fn) as typeof fn },
];

describe.each(cases)('$title', ({ make, x, before, name, changed, after }) => {
  describe.each(modes)('$mode', ({ wrap }) => {
    it('changed in place, by a loaded state or by new data: the next call follows', async () => {
      const module = await make();
      const held = module.stateDict()[name]!;
      const run = wrap((input) => module.call(input).y!);
      expect(run(x).shape).toEqual(before);
      const original = held.clone();
      noGrad(() => held.copy_(changed));
      expect(run(x).shape).toEqual(after);
      module.loadStateDict({ [name]: original });
      expect(run(x).shape).toEqual(before);
      module.loadStateDict({ [name]: changed });
      expect(run(x).shape).toEqual(after);
    });

    it('changed in place within the call: what follows in it sees that', async () => {
      const module = await make();
      const held = module.stateDict()[name]!;
      const run = wrap((input) => {
        noGrad(() => held.copy_(changed));
        return module.call(input).y!;
      });
      expect(run(x).shape).toEqual(after);
      expect(run(x).shape).toEqual(after);
    });
  });

  it('one graph as long as it does not change', async () => {
    const module = await make();
    const run = compile((input: Tensor) => module.call(input).y!, { fullgraph: true });
    expect(run(x).shape).toEqual(before);
  });
});

describe.each(modes)('a constant that is an output, $mode', ({ wrap }) => {
  it.each([4, 2000])('is not what a caller has written to it (%d elements)', async (count) => {
    const module = await importOnnx(
      model({
        inputs: [value('x', [count])],
        outputs: [value('y', [count]), value('z', [count])],
        nodes: [
          {
            op: 'Constant',
            in: [],
            out: ['y'],
            attributes: { value: floats('', [count], Array<number>(count).fill(1)) },
          },
          { op: 'Add', in: ['x', 'y'], out: ['z'] },
        ],
      }),
    );
    const x = ones([count]);
    const { y } = module.call(x);
    y!.add_(5);
    const run = wrap((input) => module.call(input).z!);
    expect(run(x).max().item()).toBe(2);
    module.call(x).y!.add_(5);
    expect(run(x).max().item()).toBe(2);
  });
});
