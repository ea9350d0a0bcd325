/**
 * @file What all ranks must have in common.
 */
import { describe, expect, it } from 'vitest';
import { type TaskName, makeTask } from '../src/tasks.js';

describe.each<TaskName>(['digits', 'gpt'])('%s', (name) => {
  it('begins alike wherever it is made, with batches that four ranks can share', () => {
    const [a, b] = [makeTask(name), makeTask(name)];
    expect(a.model.parameters().map((p) => p.sum().item())).toEqual(
      b.model.parameters().map((p) => p.sum().item()),
    );
    const [x, y] = a.batch(3);
    expect(x.sizes[0]! % 4).toBe(0);
    expect(y.sizes[0]).toBe(x.sizes[0]);
    expect(a.batch(3)[0].toArray()).toEqual(b.batch(3)[0].toArray());
    expect(a.loss(a.model.call(x as never) as typeof x, y).item()).toBeGreaterThan(1);
  });
});
