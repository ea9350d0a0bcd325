/**
 * @file Compiled functions that make generators, sync and async, whose bodies run eagerly; and functions that throw.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, add, mul, tensor } from '@tessera/tensor';
import { compileEager } from './compile-for-test.js';

const x = tensor([1, 2]);
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

async function* doubling(t: Tensor, n: number): AsyncGenerator<Tensor, string> {
  let y = t;
  for (let i = 0; i < n; i++) {
    y = mul(y, 2);
    await tick();
    y = add(y, 1);
    yield y;
  }
  return 'done';
}

async function collect(steps: AsyncIterable<Tensor>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const t of steps) seen.push(t.toArray());
  return seen;
}

describe('generators', () => {
  it('look like what the function returns', () => {
    function* fn(t: Tensor): Generator<Tensor, Tensor> {
      yield mul(t, 2);
      return mul(t, 3);
    }
    const { call } = compileEager(fn);
    const [made, expected] = [call(x), fn(x)];
    expect(made instanceof fn).toBe(true);
    expect(String(made)).toBe(String(expected));
    expect(Object.keys(made)).toEqual([]);
    expect(made.next().done).toBe(false);
    expect(Object.keys(made.next())).toEqual(Object.keys((expected.next(), expected.next())));
  });

  it('run eagerly, and are a graph break of the call that makes them', () => {
    const {
      call,
      graphs,
      function: compiled,
    } = compileEager(function* (t: Tensor) {
      yield mul(t, 2);
      throw new Error('stop');
    });
    for (let i = 0; i < 3; i++) {
      const seen: unknown[] = [];
      expect(() => {
        for (const t of call(x)) seen.push(t.toArray());
      }).toThrow('stop');
      expect(seen).toEqual([[2, 4]]);
    }
    expect(compiled.captures.map(({ breaks }) => breaks.map(({ code }) => code))).toEqual([
      ['GB0006'],
    ]);
    expect(graphs.length).toBe(0);
  });

  it('are an error where no break is allowed', () => {
    const { call } = compileEager(
      function* (t: Tensor) {
        yield mul(t, 2);
      },
      { fullgraph: true },
    );
    expect(() => call(x)).toThrow(expect.objectContaining({ code: 'trace-full-graph' }));
  });
});

describe('functions that always throw', () => {
  it('run what they computed before as compiled code', () => {
    const state = tensor([0, 0]);
    const {
      call,
      graphs,
      function: compiled,
    } = compileEager((t: Tensor) => {
      state.add_(t);
      const sum = state.sum().item();
      state.mul_(2);
      throw new Error(`sum ${sum}`);
    });
    for (const sum of [3, 9, 21, 45]) expect(() => call(x)).toThrow(`sum ${sum}`);
    expect(state.toArray()).toEqual([30, 60]);
    expect(compiled.reasons).toEqual([]);
    expect(graphs.length).toBe(1);
  });
});

describe('async generators', () => {
  it('run eagerly, across their waits', async () => {
    const { call, graphs, function: compiled } = compileEager(doubling);
    const expected = await collect(doubling(x, 3));
    for (let i = 0; i < 4; i++) expect(await collect(call(x, 3))).toEqual(expected);
    expect(compiled.captures[0]!.breaks.map(({ code }) => code)).toEqual(['GB0006']);
    expect(graphs.length).toBe(0);
  });

  it('take steps that are asked for at once one after the other', async () => {
    const { call } = compileEager(doubling);
    for (let i = 0; i < 3; i++) {
      const steps = call(x, 2);
      const items = await Promise.all([steps.next(), steps.next(), steps.next(), steps.next()]);
      expect(
        items.map(({ done, value }) => [done, typeof value === 'object' ? value.toArray() : value]),
      ).toEqual([
        [false, [3, 5]],
        [false, [7, 11]],
        [true, 'done'],
        [true, undefined],
      ]);
    }
  });

  it('interleave, end early and take errors as in eager', async () => {
    async function* fn(t: Tensor): AsyncGenerator<Tensor> {
      try {
        yield mul(t, 2);
        await tick();
        yield mul(t, 3);
      } catch (error) {
        yield add(t, Number((error as Error).message));
      } finally {
        yield add(t, 100);
      }
    }
    const outcome = async (make: typeof fn): Promise<unknown[]> => {
      const [a, b] = [make(tensor([1])), make(tensor([2]))];
      const items = [await a.next(), await b.next(), await a.next()];
      items.push(await b.throw(new Error('7')), await a.return(undefined), await b.next());
      // What `finally` yielded was not the end.
      items.push(await a.next(), await b.next());
      return items.map(({ done, value }) => [done, (value as Tensor | undefined)?.toArray()]);
    };
    const { call } = compileEager(fn);
    const expected = await outcome(fn);
    for (let i = 0; i < 3; i++) expect(await outcome(call)).toEqual(expected);
  });
});
