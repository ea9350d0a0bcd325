/**
 * @file Views whose history cannot follow writes to their memory are refused as eagerly: one of several results of
 * an operator, one made under noGrad, one made in inference mode. Values and texts are PyTorch's.
 */
import { type Tensor, callOp, getOp, inferenceMode, noGrad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const MULTIPLE =
  'This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace the inplace operation by an out-of-place one.';
const AMBIGUOUS = 'Given that this use case is ambiguous and error-prone, it is forbidden.';
const INDIRECT = 'and its base or another view of its base has been modified inplace';

const leaf = (): Tensor =>
  tensor([
    [1, 2],
    [3, 4],
  ]).requiresGrad_();
const made = (w: Tensor): Tensor => w.mul(1);
const itself = (w: Tensor): Tensor => w;
const plain = (): Tensor => ones([2, 2]);
const unbound = (b: Tensor): Tensor => b.unbind()[1]!;
const viewed = (b: Tensor): Tensor => noGrad(() => b.view([4]));
const torch = (name: string, b: Tensor, n: number): Tensor[] =>
  callOp(getOp(name), [b, n, 0]) as Tensor[];
const twice = (v: Tensor): unknown => v.mul_(2);
const byGrad = (v: Tensor): unknown => v.mul_(ones([...v.shape]).requiresGrad_());

/** What is refused: the base, a view of it, a write to either, what is read then, and PyTorch's words. */
const REFUSED: Record<
  string,
  [(w: Tensor) => Tensor, (b: Tensor) => Tensor, (b: Tensor, v: Tensor) => unknown, string]
> = {
  unbind: [
    made,
    unbound,
    (_, v) => v.mul_(2),
    `Output 1 of Unbind is a view and is being modified inplace. ${MULTIPLE}`,
  ],
  split: [
    made,
    (b) => b.split(1)[1]!,
    (_, v) => twice(v),
    `Output 1 of Split is a view and is being modified inplace. ${MULTIPLE}`,
  ],
  chunk: [
    made,
    (b) => b.chunk(2)[1]!,
    (_, v) => twice(v),
    'Output 1 of Split is a view and is being',
  ],
  splitWithSizes: [
    made,
    (b) => b.split([1, 1])[1]!,
    (_, v) => twice(v),
    'Output 1 of SplitWithSizes is a view and is being',
  ],
  'a view of one': [
    made,
    (b) => unbound(b).view([2, 1]),
    (_, v) => twice(v),
    `Output 0 of View is a view and is being modified inplace. ${MULTIPLE}`,
  ],
  'of a leaf': [itself, unbound, (_, v) => twice(v), 'Output 1 of Unbind is a view and is being'],
  filled: [made, unbound, (_, v) => v.fill_(2), 'Output 1 of Unbind is a view and is being'],
  'given another layout': [
    made,
    unbound,
    (_, v) => v.unsqueeze_(0),
    'Output 1 of Unbind is a view and is being',
  ],
  'read after a write to the base': [
    made,
    unbound,
    (b, v) => [b.mul_(2), v.mul(2)],
    `Output 1 of Unbind is a view ${INDIRECT}. ${MULTIPLE}`,
  ],
  'of what takes no gradients': [
    plain,
    unbound,
    (_, v) => byGrad(v),
    `A view was created in no_grad mode and is being modified inplace with grad mode enabled. ${MULTIPLE}`,
  ],
  'read after what gave the base gradients': [
    plain,
    unbound,
    (b, v) => [byGrad(b), v.mul(2)],
    `A view was created in no_grad mode ${INDIRECT} with grad mode enabled. ${MULTIPLE}`,
  ],
  'without gradients': [
    made,
    viewed,
    (_, v) => twice(v),
    `A view was created in no_grad mode and is being modified inplace with grad mode enabled. ${AMBIGUOUS}`,
  ],
  'without gradients of a leaf': [
    itself,
    viewed,
    (_, v) => twice(v),
    'A view was created in no_grad mode and is being',
  ],
  'a view of one without': [
    made,
    (b) => viewed(b).view([2, 2]),
    (_, v) => byGrad(v),
    'is being modified inplace with grad mode enabled',
  ],
  'without, of what takes none': [
    plain,
    viewed,
    (_, v) => byGrad(v),
    'A view was created in no_grad mode and is being',
  ],
  'without, read after a write': [
    made,
    viewed,
    (b, v) => [b.mul_(2), v.mul(2)],
    `A view was created in no_grad mode ${INDIRECT} with grad mode enabled. ${AMBIGUOUS}`,
  ],
  'without, read after a write that gave gradients': [
    plain,
    viewed,
    (b, v) => [byGrad(b), v.mul(2)],
    `A view was created in no_grad mode ${INDIRECT}`,
  ],
  'in inference mode': [
    made,
    (b) => inferenceMode(() => b.view([4])),
    (_, v) => twice(v),
    'A view was created in inference mode and is being modified inplace in normal mode. Given that',
  ],
};

/** What is not, with the result and the gradients of the leaf. */
const PERMITTED: Record<
  string,
  [(w: Tensor) => Tensor, (b: Tensor) => Tensor, (b: Tensor, v: Tensor) => unknown]
> = {
  tensorSplit: [made, (b) => b.tensorSplit(2)[1]!, (_, v) => twice(v)],
  hsplit: [made, (b) => b.hsplit(2)[1]!, (_, v) => twice(v)],
  unsafeSplit: [made, (b) => torch('aten::unsafe_split.Tensor', b, 1)[1]!, (_, v) => twice(v)],
  unsafeChunk: [made, (b) => torch('aten::unsafe_chunk', b, 2)[1]!, (_, v) => twice(v)],
  'no gradients at all': [plain, unbound, (_, v) => twice(v)],
  'no gradients, without': [plain, viewed, (_, v) => twice(v)],
  'under noGrad': [made, unbound, (_, v) => noGrad(() => twice(v))],
  'views without, under noGrad': [made, viewed, (_, v) => noGrad(() => twice(v))],
  'the base': [made, unbound, (b) => twice(b)],
};

describe('views whose history cannot follow writes', () => {
  for (const [name, [base, view, act, text]] of Object.entries(REFUSED)) {
    const inside = (b: Tensor): unknown => act(b, view(b));
    it(`are refused: ${name}`, () => {
      expect(() => inside(base(leaf()))).toThrow(text);
    });
    for (const backend of ['eager', 'aot_eager', 'inductor'] as const) {
      // Graphs know no inference mode, only that nothing is recorded.
      it.skipIf(name === 'in inference mode')(`are refused inside, ${backend}: ${name}`, () => {
        const fn = compile(inside, { backend });
        for (let i = 0; i < 2; i++) expect(() => fn(base(leaf()))).toThrow(text);
      });
      it(`are refused as arguments, ${backend}: ${name}`, () => {
        // The function is compiled for a view that may be written.
        const fn = compile((b: Tensor, v: Tensor) => act(b, v), { backend });
        for (let i = 0; i < 2; i++) {
          const b = base(leaf());
          const { shape, strides, storageOffset } = view(b);
          // A leaf may not be written at all.
          if (base !== itself) fn(b, b.asStrided(shape, strides, storageOffset));
          const c = base(leaf());
          const v = view(c);
          expect(() => fn(c, v)).toThrow(text);
        }
      });
    }
  }

  it('are not those whose base takes gradients only later', () => {
    const base = plain();
    base.mul_(2);
    const view = viewed(base);
    base.requiresGrad_();
    expect(view.isLeaf).toBe(true);
  });

  it('have a code of their own', () => {
    const refused = expect.objectContaining({ code: 'inplace-view' });
    expect(() => twice(unbound(made(leaf())))).toThrow(refused);
  });

  for (const [name, [base, view, act]] of Object.entries(PERMITTED)) {
    const program = (b: Tensor): Tensor => {
      act(b, view(b));
      return b.mul(b).sum();
    };
    it(`are as any others: ${name}`, () => {
      const play = (fn: typeof program): unknown => {
        const w = leaf();
        const loss = fn(base(w));
        if (loss.requiresGrad) loss.backward();
        return [loss.item(), loss.requiresGrad, w.grad?.toArray()];
      };
      const expected = play(program);
      const fn = compile(program);
      for (let i = 0; i < 2; i++) expect(play(fn)).toEqual(expected);
    });
  }
});
