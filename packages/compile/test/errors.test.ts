/**
 * @file Errors of compiling: each is triggered, names what was wrong and says what to do, and no failing
 * call changes what a later call computes.
 */
import { type ErrorCode, TesseraError } from '@tessera/shared';
import {
  type Tensor,
  callOp,
  cpuHeap,
  fromTypedArray,
  getOp,
  library,
  mm,
  ones,
  tensor,
  zeros,
} from '@tessera/tensor';
import { reclaimNow } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  type CompileOptions,
  compile,
  compiledFunctionOf,
  config,
  graphBreak,
  kernelBackend,
  lookupBackend,
  registerBackend,
} from '../src/index.js';

function thrownBy(fn: () => unknown): TesseraError {
  try {
    fn();
  } catch (error) {
    if (error instanceof TesseraError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}

function expectError(fn: () => unknown, code: ErrorCode, ...parts: (string | RegExp)[]): void {
  const error = thrownBy(fn);
  expect(error.code).toBe(code);
  for (const part of parts) expect(error.message).toMatch(part);
  expect(error.hints.length).toBeGreaterThan(0);
}

describe('compile()', () => {
  it('names the registered backends, and the nearest one', () => {
    expectError(
      () => compile((x: Tensor) => x.mul(2), { backend: 'inductr' }),
      'unknown-backend',
      "'inductr'",
      /Registered: eager, aot_eager, inductor/,
      "Did you mean 'inductor'",
    );
  });

  it('names the function that it did not make', () => {
    expectError(
      () => compiledFunctionOf(function plain() {}),
      'invalid-argument',
      'plain was not made by compile()',
    );
    expectError(() => compile(3 as unknown as () => void), 'invalid-argument', 'not number');
  });

  it('refuses a backend that returns no function', () => {
    const broken = (() => 3) as unknown as CompileOptions['backend'];
    expectError(
      () => compile((x: Tensor) => x.mul(2), { backend: broken })(ones([2])),
      'unknown-backend',
      'returned number',
    );
  });

  it('takes the backend of the page', () => {
    registerBackend('mine', (graph) => (inputs) => graph.forward(...inputs) as Tensor[]);
    const f = compile((x: Tensor) => x.mul(2), { backend: 'mine' });
    expect(f(ones([2])).toArray()).toEqual([2, 2]);
    expect(lookupBackend('mine')).toBeTypeOf('function');
  });

  it('says how a device becomes available', () => {
    expectError(() => kernelBackend('wgpu'), 'device-unavailable', "'wgpu'", 'initWebGpu');
    expectError(
      // @ts-expect-error no device of that name
      () => ones([2], { device: 'cuda' }),
      'device-unavailable',
      "'cuda'",
      'Available: cpu',
    );
  });

  it('names the option that does not exist and the one that was meant', () => {
    expectError(
      () => config.set({ 'trace.recompilLimit': 3 }),
      'unknown-config-key',
      'trace.recompilLimit',
      'trace.recompileLimit',
    );
    expectError(
      () => config.set({ 'trace.recompileLimit': 0 }),
      'invalid-config-value',
      'trace.recompileLimit',
    );
  });
});

describe('graph breaks with fullgraph', () => {
  const branching = (x: Tensor): Tensor => ((x.sum().item() as number) > 0 ? x.add(1) : x.neg());

  it('are errors that name the function and the line', () => {
    const f = compile(branching, { fullgraph: true });
    const error = thrownBy(() => f(ones([2])));
    expect(error.code).toBe('trace-full-graph');
    expect(error.message).toContain(
      'Graph break in branching (fullgraph: true): the value of a tensor was read',
    );
    expect(String(error.location ?? error.message)).toContain('errors.test.ts');
    expectError(
      () =>
        compile(
          (x: Tensor) => {
            const y = x.mul(2);
            graphBreak();
            return y;
          },
          { fullgraph: true },
        )(ones([2])),
      'trace-full-graph',
      'graphBreak() was called',
    );
  });

  it('are errors on every call, and none without fullgraph', () => {
    const f = compile(branching, { fullgraph: true });
    for (let i = 0; i < 3; i++)
      expect(() => f(ones([2]))).toThrow(expect.objectContaining({ code: 'trace-full-graph' }));
    const g = compile(branching);
    expect(g(ones([2])).toArray()).toEqual([2, 2]);
    expect(g(ones([2]).neg()).toArray()).toEqual([1, 1]);
  });
});

describe('pure functions', () => {
  const pure = { pure: true };

  it('may not print, read a clock or a random number', () => {
    const printing = compile(function printing(x: Tensor) {
      console.log('called');
      return x.mul(2);
    }, pure);
    expectError(() => printing(ones([2])), 'pure-side-effect', 'printing', 'console.log()');
    expectError(
      () => compile((x: Tensor) => x.mul(Math.random()), pure)(ones([2])),
      'pure-side-effect',
      'Math.random()',
    );
    expectError(
      () => compile((x: Tensor) => x.mul(Date.now()), pure)(ones([2])),
      'pure-side-effect',
      'Date.now()',
    );
    expect(Math.random()).not.toBe(Math.random());
  });

  it('may not break the graph', () => {
    expectError(
      () => compile((x: Tensor) => x.mul(x.sum().item() as number), pure)(ones([2])),
      'pure-side-effect',
      'breaks the graph',
    );
  });
});

describe('tensors that leave a compiled function unseen', () => {
  let hidden: Tensor | null = null;
  let keep = false;
  const step = compile((x: Tensor, w: Tensor) => {
    const product = x.mul(w);
    if (keep) hidden = product;
    const y = product.sum();
    w.add_(1);
    return y;
  });

  it('are computed again while the inputs are unchanged', () => {
    const f = compile((x: Tensor) => {
      const y = x.mul(2);
      if (keep) hidden = y;
      return y.sum();
    });
    const x = tensor([1, 2]);
    keep = false;
    f(x);
    keep = true;
    f(x);
    expect(hidden!.toArray()).toEqual([2, 4]);
  });

  it('are a clear error once their inputs were overwritten, and later calls go on', () => {
    const w = ones([2]);
    keep = false;
    expect(step(ones([2]), w).item()).toBe(2);
    keep = true;
    expect(step(ones([2]), w).item()).toBe(4);
    expectError(
      () => hidden!.toArray(),
      'trace-escape',
      "The result of mul was kept by a compiled function without being returned, and cannot be computed now: L['w'] was overwritten since",
      'Return it from the function',
    );
    expect(step(ones([2]), w).item()).toBe(6);
    expect(hidden!.toArray()).toEqual([3, 3]);
  });
});

describe('a failing call', () => {
  it('leaves later calls right: wrong shapes while capturing and while replaying', () => {
    const f = compile((x: Tensor, w: Tensor) => mm(x, w).relu());
    expectError(() => f(ones([2, 3]), ones([2, 3])), 'shape-mismatch', 'mm', '2x3 and 2x3');
    expect(f(ones([2, 3]), ones([3, 1])).toArray()).toEqual([[3], [3]]);
    expectError(() => f(ones([2, 3]), ones([2, 3])), 'shape-mismatch', '2x3 and 2x3');
    expect(f(ones([1, 2]), ones([2, 1])).toArray()).toEqual([[2]]);
    expect(f(ones([2, 3]), ones([3, 1])).toArray()).toEqual([[3], [3]]);
  });

  it('is that of eager code for arguments of another structure, and leaves later calls right', () => {
    const total = (pair: { a: Tensor; b?: Tensor }): Tensor => pair.a.add(pair.b!.mul(1));
    const f = compile(total);
    expect(f({ a: ones([2]), b: ones([2]) }).toArray()).toEqual([2, 2]);
    expect(() => f({ a: ones([2]) })).toThrow(TypeError);
    expect(f({ a: ones([2]), b: ones([2]) }).toArray()).toEqual([2, 2]);
  });

  it('leaves later calls right: an exception of the function itself', () => {
    let fail = false;
    const f = compile((x: Tensor) => {
      const y = x.mul(2);
      if (fail) throw new RangeError('stop');
      return y.add(1);
    });
    expect(f(ones([2])).toArray()).toEqual([3, 3]);
    fail = true;
    expect(() => f(ones([2]))).toThrow(RangeError);
    fail = false;
    expect(f(tensor([2, 3])).toArray()).toEqual([5, 7]);
  });

  it('names an operator without a kernel, eager and compiled', () => {
    library('errors_test').define('nowhere(Tensor self) -> Tensor');
    const nowhere = (x: Tensor): Tensor => callOp(getOp('errors_test::nowhere'), [x]) as Tensor;
    expectError(() => nowhere(ones([2])), 'kernel-missing', 'errors_test::nowhere', "'cpu'");
    library('errors_test').impl('nowhere', 'meta', ((self: Tensor) => self.mul(1)) as never);
    const f = compile((x: Tensor) => nowhere(x).add(1));
    expectError(() => f(ones([2])), 'kernel-missing', 'errors_test::nowhere');
    expect(compile((x: Tensor) => x.add(1))(ones([2])).toArray()).toEqual([2, 2]);
  });
});

describe('running out of memory', () => {
  it('names the largest live tensors, eager and compiled, and later calls work', () => {
    const f = compile((x: Tensor) => x.expand([64, 16384]).add(1));
    const x = ones([1, 16384]);
    f(x).dispose();
    const held = zeros([3, 131072]);
    reclaimNow();
    cpuHeap().setBudget(cpuHeap().stats().liveBytes + 1024 * 1024);
    try {
      for (const call of [() => f(x), () => zeros([64, 16384])]) {
        const error = thrownBy(call);
        expect(error.code).toBe('out-of-memory');
        expect(error.message).toMatch(/cannot allocate 4\.0 MiB/);
        expect(error.message).toMatch(
          /Largest live tensors:\n {2}float32\[3, 131072\] on cpu: 1\.5 MiB/,
        );
        expect(error.message).toContain('dispose()');
      }
    } finally {
      cpuHeap().setBudget(Infinity);
    }
    expect(f(x).sum().item()).toBe(64 * 16384 * 2);
    expect(held.sum().item()).toBe(0);
  });
});

describe('NaN and infinity', () => {
  const special = (): Tensor =>
    fromTypedArray(Float32Array.of(NaN, Infinity, -Infinity, -0, 0, 1, -1, 88.8, -104), [9]);
  const functions: Record<string, (x: Tensor) => Tensor> = {
    arithmetic: (x) => x.mul(0).add(1).sub(x),
    quotient: (x) => x.div(x),
    relu: (x) => x.relu(),
    clamp: (x) => x.clamp(-1, 1),
    exponential: (x) => x.exp().log(),
    root: (x) => x.sqrt(),
    tanh: (x) => x.tanh().add(x.sigmoid()),
    softmax: (x) => x.softmax(0),
    sum: (x) => x.sum(),
    maximum: (x) => x.amax(),
    argmax: (x) => x.argmax(),
    comparison: (x) => x.gt(0).to('float32').add(x.eq(x).to('float32')),
    product: (x) => mm(x.reshape([3, 3]), ones([3, 2])),
    gelu: (x) => x.abs().add(1).gelu(),
  };

  it.each(Object.entries(functions))('flow through compiled %s as in eager', (_name, fn) => {
    const expected = config.patch({ 'eager.kernels': 'reference' }, () => fn(special()));
    const actual = compile(fn)(special());
    const [a, b] = [actual, expected].map((t) => t.reshape([-1]).toTypedArray()) as [
      Float32Array,
      Float32Array,
    ];
    expect(a.length).toBe(b.length);
    b.forEach((value, i) => {
      if (Number.isFinite(value)) expect(a[i]).toBeCloseTo(Number(value), 4);
      else expect(a[i]).toBe(value);
    });
  });

  it('reach the gradients as in eager', () => {
    const gradient = (fn: (x: Tensor) => Tensor): number[] => {
      const x = special().requiresGrad_();
      fn(x).backward();
      return x.grad!.toArray() as number[];
    };
    const fn = (x: Tensor): Tensor => x.mul(x).relu().sum();
    expect(gradient(compile(fn))).toEqual(gradient(fn));
  });
});
