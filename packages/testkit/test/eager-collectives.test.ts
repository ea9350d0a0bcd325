/**
 * Eager collectives beside the compiler: in compiled functions, and on tensors of a GPU.
 */
import { compile, initWebGpu } from '@tessera/compile';
import {
  Work,
  type Communicator,
  allGather,
  allReduce,
  broadcast,
  destroyProcessGroup,
  initProcessGroup,
  soloCommunicator,
} from '@tessera/distributed';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, download, tensor, zeros } from '@tessera/tensor';
import { toDevice } from '@tessera/tensor/internal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

/** One rank whose sums are as if there were two. */
function doubling(): Communicator {
  const solo = soloCommunicator();
  return {
    ...solo,
    allReduce: (buffer) => {
      const values = new Float32Array(buffer.view().slice().buffer).map((value) => 2 * value);
      buffer.view().set(new Uint8Array(values.buffer));
      return solo.barrier();
    },
  };
}

beforeAll(async () => {
  await initProcessGroup({ backend: doubling() });
});
afterAll(() => destroyProcessGroup());

describe('in a compiled function', () => {
  const step = (x: Tensor): Tensor => {
    const y = x.mul(3);
    const work = allReduce(y, { async: true });
    work.waitSync();
    return y.add(1);
  };

  it('they end the graph, and run at every call', () => {
    const compiled = compile(step);
    for (const value of [1, 2, 3])
      expect(compiled(tensor([value])).toArray()).toEqual([6 * value + 1]);
  });

  it('with fullgraph they are an error', () => {
    const compiled = compile(step, { fullgraph: true });
    try {
      compiled(tensor([1]));
      expect.unreachable();
    } catch (error) {
      expect(isTesseraError(error, 'trace-full-graph')).toBe(true);
    }
  });
});

if (wantsGpu) await initWebGpu();

describe.skipIf(!wantsGpu)('on a GPU', () => {
  it('tensors go through CPU memory and back, in the order of the calls', async () => {
    const x = toDevice(
      tensor([
        [1, 2],
        [3, 4],
      ]),
      'wgpu',
    );
    const onCpu = tensor([5]);
    const first = allReduce(x.t(), { async: true });
    const second = allReduce(onCpu, { async: true });
    expect(first).toBeInstanceOf(Work);
    expect(() => first.waitSync()).toThrow(/asynchronously/);
    await second.wait();
    await first.wait();
    expect((await download(x)).toArray()).toEqual([
      [2, 4],
      [6, 8],
    ]);
    expect(onCpu.toArray()).toEqual([10]);
    const list = [toDevice(zeros([2, 2]), 'wgpu')];
    await allGather(list, x);
    await broadcast(x, 0);
    expect((await download(list[0]!)).toArray()).toEqual([
      [2, 4],
      [6, 8],
    ]);
  });
});
