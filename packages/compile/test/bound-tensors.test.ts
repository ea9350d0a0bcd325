/**
 * @file A plan of the CPU takes no memory of another device for its own.
 */
import { makeFx } from '@tessera/graph';
import { compileGraph, hostBackend, type KernelBackend } from '@tessera/inductor-core';
import { type ErrorCode, isTesseraError } from '@tessera/shared';
import { type DeviceRuntime, type Tensor, itemSize, ones, registerDevice } from '@tessera/tensor';
import { emptyFromMeta, fakeFromMeta, readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { cpuBackend } from '@tessera/inductor-cpu';

declare module '@tessera/tensor' {
  interface DeviceTypes {
    readonly shelf: true;
  }
}

/** A device that only holds memory. */
const shelf: DeviceRuntime = {
  type: 'shelf',
  itemSize,
  allocate: (bytes) => new Uint8Array(bytes),
  free: () => undefined,
  upload: () => undefined,
  download: async () => new Uint8Array(),
  copy: () => undefined,
  synchronize: async () => undefined,
};
registerDevice(shelf);

const META = { sizes: [4], strides: [1], dtype: 'float32' } as const;

function codeOf(fn: () => unknown): ErrorCode | null {
  try {
    fn();
  } catch (error) {
    if (isTesseraError(error)) return error.code;
    throw error;
  }
  return null;
}

const backends: readonly KernelBackend[] = [
  cpuBackend,
  hostBackend({
    name: 'interpreted',
  }),
];

describe.each(backends)('$name', (backend) => {
  const graph = makeFx((x: Tensor) => x.add(1), { tracingMode: 'fake' })(ones([4]));
  const executable = backend.load(compileGraph(graph, { backend, name: 'plus_one' }));

  it('runs on tensors of the heap', () => {
    const out = emptyFromMeta({ ...META, device: 'cpu' });
    executable.run([ones([4])], [out], []);
    expect(Array.from(readNumbers(out))).toEqual([2, 2, 2, 2]);
  });

  it('refuses inputs and outputs of another device, and writes nothing', () => {
    const [here, there] = (['cpu', 'shelf'] as const).map((device) =>
      emptyFromMeta({ ...META, device }),
    );
    const before = Array.from(readNumbers(here!));
    expect(codeOf(() => executable.run([there!], [here!], []))).toBe('device-mismatch');
    expect(codeOf(() => executable.run([here!], [there!], []))).toBe('device-mismatch');
    expect(() => executable.run([there!], [here!], [])).toThrow(
      "Plan 'plus_one' runs on device 'cpu', but input 0 is on 'shelf'.",
    );
    expect(Array.from(readNumbers(here!))).toEqual(before);
  });

  it('refuses tensors without memory', () => {
    const out = emptyFromMeta({ ...META, device: 'cpu' });
    const fake = fakeFromMeta({ ...META, device: 'cpu' });
    expect(codeOf(() => executable.run([fake], [out], []))).toBe('fake-data-access');
    const gone = ones([4]);
    gone.dispose();
    expect(codeOf(() => executable.run([gone], [out], []))).toBe('use-after-dispose');
  });
});
