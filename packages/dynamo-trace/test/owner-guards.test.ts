/**
 * @file Guards on the owner of a region: they hold for every object that is built like it, and for no other.
 */
import { type Tensor, tensor, track } from '@tessera/tensor';
import { trackClass } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { OwnerGuards } from '../src/guards/owner-guards.js';

class Leaf {
  training = true;
  rate = 0.5;
  weight: Tensor | null = tensor([1, 2]);
  act: (t: Tensor) => Tensor = identity;
}
class Other extends Leaf {}
class Tree {
  training = true;
  left: Leaf = new Leaf();
  right: Leaf = new Leaf();
  sizes: number[] = [1, 2];
  options: Record<string, unknown> = { mode: 'sum' };
  names: Map<string, number> = new Map([['a', 1]]);
  seen: Set<string> = new Set(['a']);
  _scratch = 0;
}
trackClass(Leaf);
trackClass(Tree);

function identity(t: Tensor): Tensor {
  return t;
}

const changes: Record<string, [(tree: Tree) => void, string]> = {
  'a constant': [(t) => (t.left.rate = 0.25), "G['Tree'].left.rate == 0.5"],
  'a flag of one child': [(t) => (t.right.training = false), "G['Tree'].right.training == True"],
  'a child of another class': [(t) => (t.left = new Other()), "type(G['Tree'].left) is Leaf"],
  'a function': [(t) => (t.left.act = (x) => x.mul(2)), "G['Tree'].left.act is the same function"],
  'a tensor that is gone': [
    (t) => (t.left.weight = null),
    "expected type of 'G['Tree'].left.weight' to be a tensor type, ' but found <class 'NoneType'>",
  ],
  'a new attribute': [
    (t) => Object.assign(t.left, { extra: 1 }),
    "list(G['Tree'].left.__dict__.keys()) == ['training', 'rate', 'weight', 'act']",
  ],
  'a longer list': [(t) => t.sizes.push(3), "len(G['Tree'].sizes) == 2"],
  'an option': [(t) => (t.options.mode = 'mean'), "G['Tree'].options.mode == 'sum'"],
  'a new option': [(t) => (t.options.extra = 1), "list(G['Tree'].options.keys()) == ['mode']"],
  'a value of a Map': [(t) => t.names.set('a', 2), "G['Tree'].names.get('a') == 1"],
  'a key of a Map': [
    (t) => (t.names = new Map([['b', 1]])),
    "list(G['Tree'].names.keys())[0] == 'a'",
  ],
  'an element of a Set': [(t) => (t.seen = new Set(['b'])), "list(G['Tree'].seen)[0] == 'a'"],
};

describe('the guards of an owner', () => {
  it('hold for another object that is built alike, whichever tensors it has', () => {
    const guards = new OwnerGuards(new Tree(), "G['Tree']");
    const alike = new Tree();
    alike.left.weight = tensor([3, 4, 5]);
    alike._scratch = 7;
    Object.assign(alike, { _more: 1 });
    expect(guards.check(alike)).not.toBeNull();
    expect(guards.reason(alike)).toBeNull();
  });

  it.each(Object.entries(changes))('notice %s', (_, [change, reason]) => {
    const guards = new OwnerGuards(new Tree(), "G['Tree']");
    for (const tree of [new Tree(), new Tree()]) {
      expect(guards.check(tree)).not.toBeNull();
      change(tree);
      expect([guards.check(tree), guards.reason(tree)]).toEqual([null, reason]);
    }
  });

  it('notice objects in another order', () => {
    const make = (): Record<string, Leaf> => track({ a: new Leaf(), b: new Leaf() });
    const guards = new OwnerGuards(make(), 'G');
    const owner = make();
    const { a } = owner;
    delete owner.a;
    owner.a = a!;
    expect(guards.check(owner)).toBeNull();
    expect(guards.reason(owner)).toBe("list(G.__dict__.keys()) == ['a', 'b']");
  });

  it('notice that one child, or one tensor, at two places came apart', () => {
    const shared = new Tree();
    shared.right = shared.left;
    const guards = new OwnerGuards(shared, 'G');
    const alike = new Tree();
    alike.right = alike.left;
    expect(guards.check(alike)).not.toBeNull();
    expect(guards.check(new Tree())).toBeNull();
    expect(guards.reason(new Tree())).toBe('G.left is G.right');

    const tied = new Tree();
    tied.right.weight = tied.left.weight;
    const tiedGuards = new OwnerGuards(tied, 'G');
    expect(tiedGuards.check(tied)).not.toBeNull();
    expect(tiedGuards.reason(new Tree())).toBe('G.left.weight is G.right.weight');
  });

  it('find tensors by their place', () => {
    const tree = new Tree();
    const guards = new OwnerGuards(tree, 'G');
    expect(guards.ask(tensor([1]))).toBeUndefined();
    expect([guards.ask(tree.right.weight!), guards.ask(tree.left.weight!)]).toEqual([0, 1]);
    const alike = new Tree();
    expect(guards.check(alike)).toEqual([alike.right.weight, alike.left.weight]);
  });
});
