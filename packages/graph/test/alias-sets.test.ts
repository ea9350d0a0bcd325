import { Graph } from '@tessera/graph';
import { getOp } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { AliasSets } from '../src/index.js';

describe('AliasSets', () => {
  it('follows views, in-place ops and merges', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const v = graph.callFunction(getOp('aten::view'), [x, [-1]]);
    const fresh = graph.callFunction(getOp('aten::neg'), [v]);
    const written = graph.callFunction(getOp('aten::mul_.Tensor'), [fresh, 2]);
    graph.output(v);
    const sets = new AliasSets(graph);
    expect(sets.root(v)).toBe(sets.root(x));
    expect(sets.root(written)).toBe(sets.root(fresh));
    expect(
      [x, fresh].map((node) => [sets.isWritten(node), sets.escapes(node), sets.isExternal(node)]),
    ).toEqual([
      [false, true, true],
      [true, false, false],
    ]);
    sets.merge(fresh, x);
    expect(sets.isWritten(v)).toBe(true);
  });
});
