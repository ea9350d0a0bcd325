/**
 * @file Steps run at once, or in slices between which the tasks of others come.
 */
import { describe, expect, it } from 'vitest';
import { type Steps, atOnce, inScope, inSlices } from '../src/index.js';

/** Keeps the thread for a while. */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

function* working(steps: number): Steps<string> {
  for (let i = 0; i < steps; i++) {
    work(1);
    yield;
  }
  return 'done';
}

/** The longest time that a message waited while `run` went on, and how many came. */
async function messagesDuring(
  run: () => Promise<unknown>,
): Promise<{ longest: number; count: number }> {
  const { port1, port2 } = new MessageChannel();
  const seen = { longest: 0, count: 0 };
  let last = performance.now();
  port1.addEventListener('message', () => {
    seen.longest = Math.max(seen.longest, performance.now() - last);
    seen.count++;
    last = performance.now();
    port2.postMessage(0);
  });
  port1.start();
  port2.postMessage(0);
  await run();
  port1.close();
  return seen;
}

describe('steps', () => {
  it('run at once without a pause, and do not begin what pauses wait for', () => {
    let begun = 0;
    const steps = function* (): Steps<number> {
      yield;
      yield () => Promise.resolve(begun++);
      return 3;
    };
    expect(atOnce(steps())).toBe(3);
    expect(begun).toBe(0);
  });

  it('run in slices between which every message of others comes that was waiting', async () => {
    const { count } = await messagesDuring(() => inSlices(working(40)));
    expect(count).toBeGreaterThanOrEqual(8);
  });

  it('begin and end in tasks of their own', async () => {
    const order: string[] = [];
    const steps = function* (): Steps<void> {
      order.push('steps');
      yield;
    };
    const done = inSlices(steps()).then(() => order.push('done'));
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => order.push('message'));
    port1.start();
    port2.postMessage(0);
    order.push('caller');
    await done;
    port1.close();
    expect(order.slice(0, 2)).toEqual(['caller', 'steps']);
    expect(order.indexOf('message')).toBeLessThan(order.indexOf('done'));
  });

  it('wait for what a pause begins', async () => {
    const steps = function* (): Steps<number> {
      let value = 0;
      yield async () => {
        await Promise.resolve();
        value = 7;
      };
      return value;
    };
    expect(await inSlices(steps())).toBe(7);
  });

  it('run in a scope that is entered once where no pause is made', () => {
    let entered = 0;
    const scope = <T>(fn: () => T): T => {
      entered++;
      return fn();
    };
    const steps = function* (): Steps<number> {
      for (let i = 0; i < 100; i++) yield;
      return 5;
    };
    expect(atOnce(inScope(scope, inScope(scope, steps())))).toBe(5);
    expect(entered).toBe(2);
  });

  it('run in a scope, which pauses leave, also when they throw', async () => {
    let depth = 0;
    const scope = <T>(fn: () => T): T => {
      depth++;
      try {
        return fn();
      } finally {
        depth--;
      }
    };
    const steps = function* (): Steps<number> {
      expect(depth).toBe(1);
      yield () => Promise.resolve(expect(depth).toBe(0));
      throw new RangeError(`depth ${depth}`);
    };
    await expect(inSlices(inScope(scope, steps()))).rejects.toThrow('depth 1');
    expect(depth).toBe(0);
  });
});
