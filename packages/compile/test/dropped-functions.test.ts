/**
 * @file Compiled functions that nobody holds any more give everything back: code, arenas, guards, and the
 * custom functions and hooks that their graphs called.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Linear } from '@tessera/nn';
import {
  Function,
  type FunctionContext,
  type Tensor,
  cpuHeap,
  ones,
  tensor,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { fullTests } from '../../../tooling/full-tests.js';
import { compile } from '../src/index.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Waits until what is unreachable has been collected, and finalizers have run. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** How much JavaScript and WebAssembly memory grows over the second half of `count` rounds. */
async function growth(
  count: number,
  round: (i: number) => void,
): Promise<{ readonly heap: number; readonly wasm: number }> {
  const measure = async (from: number, to: number): Promise<[number, number]> => {
    for (let i = from; i < to; i++) {
      round(i);
      if (i % 1000 === 999) await settle();
    }
    await settle();
    return [process.memoryUsage().heapUsed, cpuHeap().stats().committedBytes];
  };
  const [heap, wasm] = await measure(0, count / 2);
  const [lateHeap, lateWasm] = await measure(count / 2, count);
  return { heap: lateHeap - heap, wasm: lateWasm - wasm };
}

const MIB = 2 ** 20;
const CLOSURES = fullTests ? 10_000 : 4000;
const x = tensor([1, 2, 3]);

describe('memory of compiled functions that were dropped', () => {
  it(`is given back: ${CLOSURES} closures`, { timeout: 300_000 }, async () => {
    const { heap, wasm } = await growth(CLOSURES, (i) => {
      const call = compile((t: Tensor) => t.mul(i).add(1), { backend: 'eager' });
      call(x);
    });
    // Some 200 bytes each.
    expect(heap).toBeLessThan((CLOSURES / 5000) * MIB);
    expect(wasm).toBe(0);
  });

  it('is given back: compiled kernels, with a backward', { timeout: 300_000 }, async () => {
    const w = tensor([1, 2, 3], { requiresGrad: true });
    const { heap, wasm } = await growth(300, (i) => {
      const call = compile((t: Tensor) => {
        const loss = w.mul(t).mul(i).sum();
        loss.backward();
        return loss;
      });
      call(x);
      call(x);
      w.grad = null;
    });
    expect(heap).toBeLessThan(3 * MIB);
    expect(wasm).toBe(0);
  });

  it('is given back: shapes that do not come again', { timeout: 300_000 }, async () => {
    const { heap } = await growth(1_000, (i) => {
      compile((t: Tensor) => t.add(1), { backend: 'eager' })(ones([1 + (i % 50), 1 + i]));
    });
    expect(heap).toBeLessThan(2 * MIB);
  });

  /** Objects made by `make` that are still there after `count` rounds. */
  const survivors = async (count: number, make: () => object): Promise<number> => {
    const refs: WeakRef<object>[] = [];
    for (let i = 0; i < count; i++) refs.push(new WeakRef(make()));
    await settle();
    return refs.filter((ref) => ref.deref() !== undefined).length;
  };

  it('holds no custom function, nor what its context held', { timeout: 300_000 }, async () => {
    class Setting {
      constructor(readonly scale: number) {}
    }
    class Scale extends Function {
      static forward(ctx: FunctionContext, t: Tensor, setting: Setting): Tensor {
        ctx.setting = setting;
        return t.mul(setting.scale);
      }
      static backward(ctx: FunctionContext, grad: Tensor): (Tensor | null)[] {
        return [grad.mul((ctx.setting as Setting).scale), null];
      }
    }
    const settings = await survivors(100, () => {
      const setting = new Setting(2);
      const call = compile((t: Tensor) => Scale.apply(t, setting).sum(), { backend: 'aot_eager' });
      const t = tensor([1, 2], { requiresGrad: true });
      call(t).backward();
      expect(t.grad!.toArray()).toEqual([2, 2]);
      return setting;
    });
    expect(settings).toBeLessThan(10);
    const classes = await survivors(50, () => {
      class Twice extends Function {
        static forward(_: FunctionContext, t: Tensor): Tensor {
          return t.mul(2);
        }
        static backward(_: FunctionContext, grad: Tensor): Tensor {
          return grad.mul(2);
        }
      }
      const call = compile((t: Tensor) => Twice.apply(t).sum(), { backend: 'aot_eager' });
      call(tensor([1, 2], { requiresGrad: true })).backward();
      return Twice;
    });
    expect(classes).toBeLessThan(10);
  });

  it('holds no module with backward hooks', { timeout: 300_000 }, async () => {
    const modules = await survivors(50, () => {
      const layer = new Linear(2, 2);
      layer.registerFullBackwardHook(() => undefined);
      const call = compile((t: Tensor) => layer.call(t).sum(), { backend: 'aot_eager' });
      call(ones([1, 2])).backward();
      return layer;
    });
    expect(modules).toBeLessThan(10);
  });

  it('but a graph keeps what it calls', async () => {
    const call = ((): ((t: Tensor) => Tensor) => {
      class Twice extends Function {
        static forward(_: FunctionContext, t: Tensor): Tensor {
          return t.mul(2);
        }
        static backward(_: FunctionContext, grad: Tensor): Tensor {
          return grad.mul(20);
        }
      }
      const twice = compile((t: Tensor) => Twice.apply(t).sum(), { backend: 'eager', pure: true });
      twice(tensor([1, 2], { requiresGrad: true })).backward();
      return twice;
    })();
    await settle();
    const t = tensor([1, 2], { requiresGrad: true });
    call(t).backward();
    expect(t.grad!.toArray()).toEqual([20, 20]);
  });
});
