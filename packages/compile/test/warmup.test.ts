import { config, counters } from '@tessera/shared';
import { LayerNorm, Linear, Module, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, manualSeed, noGrad, randn, tensor, zeros } from '@tessera/tensor';
import { afterEach, describe, expect, it } from 'vitest';
import {
  compile,
  compileAsync,
  compiledFunctionOf,
  graphBreak,
  reset,
  warmup,
} from '../src/index.js';

afterEach(() => reset());

class Block extends Module {
  readonly norm = new LayerNorm([8]);
  readonly up = new Linear(8, 16);
  readonly down = new Linear(16, 8);

  override forward(x: Tensor): Tensor {
    return x.add(this.down.call(F.gelu(this.up.call(this.norm.call(x)))));
  }
}

function network(): Sequential {
  manualSeed(3);
  return new Sequential(new Block(), new Block(), new Linear(8, 4));
}

/** A training step on a network of its own, which keeps state in JavaScript too. */
function training(): { step: (x: Tensor, y: Tensor) => Tensor; model: Sequential } {
  const model = network();
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const step = (x: Tensor, y: Tensor): Tensor => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(x) as Tensor, y);
    loss.backward();
    optimizer.step();
    return loss;
  };
  return { step, model };
}

const numbers = (x: Tensor): unknown => x.detach().toArray();
const stateOf = (model: Module): unknown => model.parameters().map(numbers);

function batch(): [Tensor, Tensor] {
  manualSeed(5);
  return [randn([6, 8]), tensor([0, 1, 2, 3, 0, 1], { dtype: 'int64' })];
}

/** Kernels compiled while `fn` ran. */
async function compiledGraphs(fn: () => unknown): Promise<number> {
  const before = counters.get('inductor', 'graphs');
  await fn();
  return counters.get('inductor', 'graphs') - before;
}

describe('warmup', () => {
  it('makes the call that it stands for, once: state is as after the same calls without it', async () => {
    const [x, y] = batch();
    const [one, other] = [training(), training()];
    const plain = compile(one.step);
    const wanted = [plain(x, y), plain(x, y), plain(x, y)].map(numbers);
    const warmed = compile(other.step);
    const losses = [await warmup(warmed, x, y)];
    expect(await compiledGraphs(() => losses.push(warmed(x, y), warmed(x, y)))).toBe(0);
    expect(losses.map(numbers)).toEqual(wanted);
    expect(stateOf(other.model)).toEqual(stateOf(one.model));
    const { captures } = compiledFunctionOf(warmed);
    expect(captures.map(({ segments }) => segments.map(({ runs }) => runs))).toEqual([[3]]);
  });

  it('lets others run between its steps', async () => {
    const [x, y] = batch();
    const warmed = compile(training().step);
    let ticks = 0;
    let ended = false;
    const tick = (): void => {
      ticks++;
      if (!ended) setTimeout(tick, 0);
    };
    setTimeout(tick, 0);
    await warmup(warmed, x, y);
    ended = true;
    expect(ticks).toBeGreaterThan(5);
  });

  it('runs the JavaScript of the function at once', () => {
    const seen: string[] = [];
    const f = compile((x: Tensor) => {
      seen.push('called');
      return x.add(1);
    });
    const done = warmup(f, zeros([2]));
    expect(seen).toEqual(['called']);
    return done;
  });

  it('compiles what is left of a function that breaks the graph', async () => {
    const f = compile((x: Tensor) => {
      const y = x.mul(2);
      graphBreak();
      return y.add(1);
    });
    const x = tensor([1, 2]);
    expect(numbers(await warmup(f, x))).toEqual([3, 5]);
    expect(await compiledGraphs(() => f(x))).toBe(0);
  });

  it('takes async functions', async () => {
    const f = compile(async (x: Tensor) => {
      const y = x.mul(3);
      await Promise.resolve();
      return y.sub(1);
    });
    const x = tensor([1, 2]);
    expect(numbers(await warmup(f, x))).toEqual([2, 5]);
    expect(await compiledGraphs(async () => numbers(await f(x)))).toBe(0);
  });

  it('calls a function that is compiled already', async () => {
    const f = compile((x: Tensor) => x.add(1));
    f(zeros([2]));
    expect(numbers(await warmup(f, zeros([2])))).toEqual([1, 1]);
  });

  it('takes several functions at once, which work on the same parameters', async () => {
    const { step, model } = training();
    const same = training();
    const [x, y] = batch();
    const [train, evaluate] = [
      compile(step),
      compile((a: Tensor) => noGrad(() => model.call(a)) as Tensor),
    ];
    const [loss, out] = await Promise.all([warmup(train, x, y), warmup(evaluate, x)]);
    expect(numbers(loss)).toEqual(numbers(same.step(x, y)));
    const wanted = numbers(noGrad(() => same.model.call(x)) as Tensor) as number[][];
    (numbers(out) as number[][]).forEach((row, i) =>
      row.forEach((value, j) => expect(value).toBeCloseTo(wanted[i]![j]!, 5)),
    );
  });

  it('compiles under the options of the function', async () => {
    const f = compile((x: Tensor) => x.sin().sum(), {
      options: { 'inductor.checkIndices': false },
    });
    await warmup(f, zeros([4]));
    expect(config.get('inductor.checkIndices')).toBe(true);
  });

  it('refuses a function that compile did not make', async () => {
    await expect(warmup((x: Tensor) => x, zeros([1]))).rejects.toMatchObject({
      code: 'invalid-argument',
    });
  });
});

describe('while a call is warming up', () => {
  it('who reads what it modifies sees it modified', async () => {
    const w = tensor([1, 2]);
    const f = compile((x: Tensor) => {
      w.add_(x);
      return w.mul(2);
    });
    const pending = warmup(f, tensor([10, 20]));
    expect(numbers(w)).toEqual([11, 22]);
    expect(numbers(await pending)).toEqual([22, 44]);
    expect(numbers(f(tensor([1, 1])))).toEqual([24, 46]);
  });

  it('who modifies what it reads comes after it', async () => {
    const x = tensor([1, 2]);
    const f = compile((a: Tensor) => a.mul(10));
    const pending = warmup(f, x);
    x.add_(100);
    expect(numbers(await pending)).toEqual([10, 20]);
    expect(numbers(f(x))).toEqual([1010, 1020]);
  });

  it('operators of others on its tensors are not its own', async () => {
    const x = tensor([1, 2]);
    const f = compile((a: Tensor) => a.mul(10));
    const pending = warmup(f, x);
    const other = x.add(5);
    expect(numbers(await pending)).toEqual([10, 20]);
    expect(numbers(other)).toEqual([6, 7]);
    expect(compiledFunctionOf(f).captures[0]!.segments.at(-1)!.graphModule.print()).not.toContain(
      'add',
    );
  });

  it('the function itself can be called', async () => {
    const f = compile((a: Tensor) => a.mul(10));
    const pending = warmup(f, tensor([1]));
    expect(numbers(f(tensor([2])))).toEqual([20]);
    expect(numbers(await pending)).toEqual([10]);
  });
});

describe('a warmup that fails', () => {
  it('rejects with what the function throws, and leaves it usable', async () => {
    let fails = true;
    const f = compile((x: Tensor) => {
      if (fails) throw new RangeError('not now');
      return x.add(1);
    });
    await expect(warmup(f, zeros([1]))).rejects.toThrow('not now');
    fails = false;
    expect(numbers(await warmup(f, zeros([1])))).toEqual([1]);
  });

  it('rejects with what the backend throws, and holds nothing open', async () => {
    const w = zeros([1]);
    const f = compile((x: Tensor) => w.add_(x), {
      backend: () => {
        throw new RangeError('no code');
      },
    });
    await expect(warmup(f, zeros([1]))).rejects.toThrow('no code');
    const g = compile((x: Tensor) => x.add(1));
    expect(numbers(g(w))).toEqual([1]);
  });
});

describe('compileAsync', () => {
  it('gives a function whose next call compiles nothing', async () => {
    const [x, y] = batch();
    const step = await compileAsync(training().step, [x, y]);
    expect(await compiledGraphs(() => step(x, y))).toBe(0);
  });

  it('takes modules', async () => {
    const model = new Sequential(new Linear(8, 8), new ReLU());
    const x = randn([2, 8]);
    const forward = await compileAsync(model, [x]);
    expect(numbers(forward(x) as Tensor)).toEqual(numbers(model.call(x) as Tensor));
  });
});
