/**
 * @file `Frame`: slots belong to a call, whatever other calls do with the same tensors.
 */
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { SymbolTable } from '../src/dynamic/symbol-table.js';
import { Frame, isCallOpen } from '../src/frame/frame.js';
import { type OutSpec, specOf } from '../src/trace/step.js';

const frame = (): Frame => new Frame(new SymbolTable().bindings.root);

describe('slots', () => {
  it('are found by tensor, and gone when unbound', () => {
    const one = frame();
    const [x, y] = [tensor([1]), tensor([2])];
    one.bind(3, x);
    expect([one.slotOf(x), one.slotOf(y)]).toEqual([3, -1]);
    one.unbind(3);
    expect([one.slotOf(x), one.slots[3]]).toEqual([-1, undefined]);
  });

  it('stay when calls inside bind the same tensor, and theirs stay theirs', () => {
    const [outer, inner, innermost] = [frame(), frame(), frame()];
    const x = tensor([1]);
    outer.begin();
    inner.begin();
    innermost.begin();
    outer.bind(0, x);
    inner.bind(7, x);
    innermost.bind(9, x);
    expect([outer, inner, innermost].map((f) => f.slotOf(x))).toEqual([0, 7, 9]);
    innermost.end();
    inner.end();
    expect(outer.slotOf(x)).toBe(0);
    outer.unbind(0);
    expect(outer.slotOf(x)).toBe(-1);
    outer.end();
    expect(isCallOpen()).toBe(false);
  });

  it('of a call that has ended are not those of the next', () => {
    const [first, second] = [frame(), frame()];
    const x = tensor([1]);
    first.begin();
    first.bind(0, x);
    first.end();
    second.begin();
    expect(second.slotOf(x)).toBe(-1);
    second.end();
  });
});

describe('memory that the library dropped', () => {
  const isThere = ({ storage }: Tensor): boolean => storage.state === 'real';

  it('goes at once where nothing recorded reads it', () => {
    const x = tensor([1, 2]);
    frame().drop(x, false);
    expect(isThere(x)).toBe(false);
  });

  it('goes when the recorded operators that read it have run', () => {
    const one = frame();
    const x = tensor([1, 2]);
    one.drop(x, true);
    expect(isThere(x)).toBe(true);
    one.segmentRan();
    expect(isThere(x)).toBe(false);
  });
});

describe('lazy tensors', () => {
  it('end the graph when they are read while the call runs', () => {
    const one = frame();
    const spec: OutSpec = specOf(tensor([1, 2]), 4);
    const lazy = one.produce(spec);
    expect([lazy.isLazy, one.slotOf(lazy), lazy.sizes]).toEqual([true, 4, [2]]);
    const reasons: string[] = [];
    one.pending = {
      flush({ code }) {
        reasons.push(code);
        lazy.setStorage(tensor([5, 6]).storage, 0);
      },
    };
    expect(lazy.toArray()).toEqual([5, 6]);
    expect(reasons).toEqual(['GB0001']);
    expect([...one.reads]).toEqual([4]);
  });

  it('of a call that failed are a clear error', () => {
    const lazy = frame().produce(specOf(tensor([1, 2]), 0));
    expect(() => lazy.toArray()).toThrow(/trace-escape|never computed/);
  });
});

describe('symbols', () => {
  it('are bound along a tree and taken back', () => {
    const one = frame();
    const { shapes } = one;
    one.bindSymbol(0, 5);
    one.bindSymbol(1, 7);
    expect([one.symbols, one.shapes.point]).toEqual([
      [5, 7],
      [0, 5, 1, 7],
    ]);
    one.unbindSymbols(shapes);
    expect([one.symbols, one.shapes === shapes]).toEqual([[undefined, undefined], true]);
  });
});
