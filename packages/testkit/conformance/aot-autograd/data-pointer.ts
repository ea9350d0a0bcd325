/**
 * @file Rows about raw data of FakeTensors: there is none.
 */
import { compile } from '@tessera/compile';
import { makeFx } from '@tessera/graph';
import { Function, type FunctionContext, type Tensor, library, randn } from '@tessera/tensor';
import { withFakeTensors } from '@tessera/tensor/internal';
import { expect } from 'vitest';

const MESSAGE = /Cannot access data pointer/;

/**
 * A FakeTensor can be copied: as another object of the same memory and as one with memory of its own, which say all
 * that the original says; neither has values. Traced over fakes, a copy has the values of what the graph is given.
 */
export function copiesFakes(): void {
  withFakeTensors(() => {
    const x = randn([2, 3]).t();
    for (const [copy, shares] of [
      [x.detach(), true],
      [x.clone(), false],
    ] as const) {
      expect(copy).not.toBe(x);
      expect(copy.isFake).toBe(true);
      expect(copy.storage === x.storage).toBe(shares);
      for (const key of ['sizes', 'strides', 'dtype', 'device', 'requiresGrad'] as const)
        expect(copy[key], key).toEqual(x[key]);
      expect(() => copy.dataPtr()).toThrow(MESSAGE);
      expect(() => copy.toTypedArray()).toThrow(MESSAGE);
    }
  });
  for (const tracingMode of ['fake', 'symbolic'] as const) {
    const real = randn([3]);
    const traced = makeFx((x: Tensor) => x.clone(), { tracingMode })(real);
    const copy = traced.forward(real) as Tensor;
    expect(copy.storage).not.toBe(real.storage);
    expect(copy.toArray()).toEqual(real.toArray());
  }
}

const lib = library('conformance_data')
  .define('peek(Tensor x) -> Tensor', {
    decompose: ({ x }) => {
      (x as Tensor).dataPtr();
      return (x as Tensor).clone();
    },
  })
  .define('read(Tensor x) -> Tensor', {
    decompose: ({ x }) => {
      (x as Tensor).toTypedArray();
      return (x as Tensor).clone();
    },
  })
  .define('peek_backward(Tensor x) -> Tensor', {
    decompose: ({ x }) => PeekBackward.apply(x as Tensor),
  });

/** A custom op that asks for the address or the values of its argument cannot be traced. */
export function forwardDataAccess(): void {
  for (const name of ['peek', 'read']) {
    const custom = lib.fn<(x: Tensor) => Tensor>(name);
    const onInput = (x: Tensor): Tensor => custom(x);
    const onIntermediate = (x: Tensor): Tensor => custom(x.clone());
    expect(custom(randn([3])).sizes).toEqual([3]);
    for (const fn of [onInput, onIntermediate]) {
      for (const tracingMode of ['fake', 'symbolic'] as const)
        expect(() => makeFx(fn, { tracingMode })(randn([3]))).toThrow(MESSAGE);
      for (const backend of ['eager', 'aot_eager', 'inductor'])
        expect(() => compile(fn, { backend, fullgraph: true })(randn([3]))).toThrow(MESSAGE);
    }
  }
}

let backwardCalls = 0;

class PeekBackward extends Function {
  static forward(_ctx: FunctionContext, x: Tensor): Tensor {
    return x.clone();
  }

  static backward(_ctx: FunctionContext, grad: Tensor): Tensor {
    backwardCalls++;
    grad.dataPtr();
    return grad.clone();
  }
}

/** The same in a backward: it runs while the joint graph is traced, and fails there. */
export function backwardDataAccess(): void {
  backwardCalls = 0;
  const custom = lib.fn<(x: Tensor) => Tensor>('peek_backward');
  const fn = (x: Tensor): Tensor => custom(x);
  const x = randn([3]).requiresGrad_();
  expect(() => compile(fn, { backend: 'aot_eager', fullgraph: true })(x)).toThrow(MESSAGE);
  expect(backwardCalls).toBe(1);
}
