import { describe, expect, it } from 'vitest';
import { type Tensor, grad, inferenceMode, noGrad, tensor } from '../src/index.js';

const withoutGradients: [string, <R>(fn: () => R) => R][] = [
  ['noGrad', noGrad],
  ['inferenceMode', inferenceMode],
];

describe('a view that was made without gradients of what has a history', () => {
  it('is refused by in-place operators that would have to be recorded, and by no others', () => {
    const leaf = tensor([1, 2]).requiresGrad_();
    const base = leaf.mul(1);
    const view = noGrad(() => base.view([2, 1]));
    expect(() => view.mul_(2)).toThrow('A view was created in no_grad mode and is being modified');
    noGrad(() => view.mul_(2));
    expect(base.toArray()).toEqual([2, 4]);
    base.mul_(3);
    base.sum().backward();
    expect(leaf.grad!.toArray()).toEqual([3, 3]);
  });
});

// The values are those of PyTorch 2.13.
describe.each(withoutGradients)('a view made under %s', (_, run) => {
  const leafAndView = (): [Tensor, Tensor] => {
    const leaf = tensor([1, 2, 3]).requiresGrad_();
    return [leaf, run(() => leaf.slice(0, 1))];
  };

  it('takes gradients where its base does, though it leads them nowhere', () => {
    const [leaf, view] = leafAndView();
    const nonLeaf = leaf.mul(2);
    for (const v of [view, run(() => view.slice(0, 1)), run(() => nonLeaf.unbind(0)[0]!)])
      expect([v.requiresGrad, v.isLeaf, v.gradFn]).toEqual([true, true, null]);
    for (const v of [view.slice(0, 1), view.mul(2)])
      expect([v.requiresGrad, v.isLeaf]).toEqual([true, false]);
    for (const v of [view.detach(), run(() => leaf.detach().slice(0, 1)), run(() => view.mul(2))])
      expect([v.requiresGrad, v.isLeaf]).toEqual([false, true]);
    view.mul(3).sum().backward();
    expect([leaf.grad, view.grad]).toEqual([null, null]);
    const loss = view.mul(3).sum().add(leaf.mul(5).sum());
    const [ofLeaf, ofView] = grad(loss, [leaf, view], { allowUnused: true });
    expect([ofLeaf!.toArray(), ofView]).toEqual([[5, 5, 5], null]);
    expect(() => run(() => leaf.select(0, 0)).backward()).toThrow(
      'element 0 of tensors does not require grad and does not have a grad_fn',
    );
  });

  it('allows to be watched, in vain', () => {
    const [leaf, view] = leafAndView();
    const seen: Tensor[] = [];
    view.registerHook((gradient) => void seen.push(gradient)).remove();
    view.registerHook((gradient) => void seen.push(gradient));
    view.retainGrad();
    view.mul(2).sum().backward();
    expect([seen, view.grad, leaf.grad]).toEqual([[], null, null]);
  });

  it('is a leaf of its own once it is told so', () => {
    const [leaf, view] = leafAndView();
    view.requiresGrad_();
    view.mul(2).sum().backward();
    expect([view.grad!.toArray(), leaf.grad]).toEqual([[2, 2], null]);
    leaf.requiresGrad_(false);
    expect(run(() => leaf.slice(0, 1)).requiresGrad).toBe(false);
  });

  it('has a history that cannot be read after a write', () => {
    const [leaf, view] = leafAndView();
    noGrad(() => leaf.add_(1));
    expect(view.requiresGrad).toBe(true);
    for (const read of [() => view.isLeaf, () => view.gradFn, () => view.mul(2)])
      expect(read).toThrow('and its base or another view of its base has been modified inplace');
    expect(noGrad(() => view.mul(2)).toArray()).toEqual([6, 8]);
  });
});

describe('a view of a view', () => {
  const messageOf = (view: Tensor, base: Tensor): string => {
    noGrad(() => base.add_(1));
    try {
      view.mul(1);
    } catch (error) {
      return /no_grad mode|inference mode|multiple views/.exec((error as Error).message)![0];
    }
    return 'none';
  };
  const x = (): Tensor => tensor([[[1, 2]]]).requiresGrad_();

  it('is told to be made as it was, in inference mode as soon as one of them was', () => {
    const first = [
      (t: Tensor) => t.select(0, 0),
      (t: Tensor) => t.unbind(0)[0]!,
      (t: Tensor) => noGrad(() => t.select(0, 0)),
      (t: Tensor) => inferenceMode(() => t.unbind(0)[0]!),
    ];
    const table = first.map((outer) =>
      first.map((inner) => {
        const base = x();
        return messageOf(inner(outer(base)), base);
      }),
    );
    expect(table).toEqual([
      ['none', 'multiple views', 'no_grad mode', 'inference mode'],
      ['multiple views', 'multiple views', 'no_grad mode', 'inference mode'],
      ['no_grad mode', 'multiple views', 'no_grad mode', 'inference mode'],
      ['inference mode', 'inference mode', 'inference mode', 'inference mode'],
    ]);
  });

  it('made before its base took gradients follows it from the next write on', () => {
    const base = tensor([1, 2]);
    noGrad(() => base.mul_(2));
    const view = base.select(0, 0);
    base.requiresGrad_();
    expect([view.requiresGrad, view.isLeaf]).toEqual([true, true]);
    view.mul(3).backward();
    expect(base.grad).toBe(null);
    noGrad(() => base.add_(1));
    expect(view.isLeaf).toBe(false);
    view.mul(3).backward();
    expect(base.grad!.toArray()).toEqual([3, 0]);
    expect(() => view.mul_(2)).toThrow(
      'a view of a leaf Variable that requires grad is being used',
    );
  });
});

describe('detach_ in inference mode', () => {
  it('does nothing, to views neither', () => {
    const leaf = tensor([1, 2]).requiresGrad_();
    inferenceMode(() => [leaf.detach_(), leaf.select(0, 0).detach_()]);
    expect(leaf.requiresGrad).toBe(true);
    expect(() => noGrad(() => leaf.select(0, 0)).detach_()).toThrow("Can't detach views in-place");
  });
});
