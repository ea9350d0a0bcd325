/**
 * @file Rows about raw data of FakeTensors: there is none.
 */
import { compile } from '@tessera/compile';
import { makeFx } from '@tessera/graph';
import {
  Function,
  type FunctionContext,
  type Tensor,
  fakeFromMeta,
  library,
  randn,
  withFakeTensors,
} from '@tessera/tensor';
import { expect } from 'vitest';

const MESSAGE = /Cannot access data pointer/;

/** A FakeTensor can be copied. */
export function copiesFakes(): void {
  const copy = withFakeTensors(() => {
    const x = randn([3]);
    expect(x.isFake).toBe(true);
    return fakeFromMeta(x);
  });
  expect(copy.sizes).toEqual([3]);
  expect(withFakeTensors(() => randn([3]).clone()).shape).toEqual([3]);
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
