/**
 * @file Error codes of tensors, operators, autograd, devices and files: each is triggered, names what was
 * wrong and says what to do. (bad-input.test.ts has the arguments of operators.)
 */
import { type ErrorCode, TesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  type DeviceMemory,
  type DeviceRuntime,
  type Tensor,
  callOp,
  download,
  getOp,
  itemSize,
  library,
  maskedSelect,
  nonzero,
  ones,
  parseSafetensors,
  parseSchema,
  registerDevice,
  serializeSafetensors,
  tensor,
  zeros,
} from '../src/index.js';
import { fakeFromMeta, toDevice } from '../src/internal.js';

function expectError(fn: () => unknown, code: ErrorCode, ...parts: (string | RegExp)[]): void {
  let thrown: unknown = null;
  try {
    fn();
  } catch (error) {
    thrown = error;
  }
  if (!(thrown instanceof TesseraError))
    throw thrown ?? new Error(`Nothing was thrown; expected ${code}.`);
  expect(thrown.code).toBe(code);
  for (const part of parts) expect(thrown.message).toMatch(part);
  expect(thrown.hints.length).toBeGreaterThan(0);
}

describe('schemas and operators', () => {
  it('say what a schema string lacks', () => {
    expectError(
      () => parseSchema('custom::scale(Tensor self, factor) -> Tensor'),
      'schema-parse',
      "unknown type in 'factor'",
    );
    expectError(() => library('errors').define('scale Tensor'), 'schema-parse', 'scale Tensor');
  });

  it('name the operator that is there already', () => {
    library('errors').define('twice(Tensor self) -> Tensor');
    expectError(
      () => library('errors').define('twice(Tensor self) -> Tensor'),
      'op-duplicate',
      'errors::twice',
    );
  });

  it('name the operator that has no derivative, when a gradient reaches it', () => {
    library('errors').define('opaque(Tensor self) -> Tensor');
    library('errors').impl('opaque', 'cpu', ((self: Tensor) => self.mul(2)) as never);
    const x = ones([2], { requiresGrad: true });
    const y = (callOp(getOp('errors::opaque'), [x]) as Tensor).sum();
    expect(y.item()).toBe(4);
    expectError(() => y.backward(), 'derivative-missing', 'errors::opaque');
    expect(x.grad).toBeNull();
  });
});

describe('backward()', () => {
  it('needs something that requires grad', () => {
    expectError(
      () => ones([3]).sum().backward(),
      'no-grad-graph',
      'element 0 of tensors does not require grad',
    );
  });

  it('needs a seed for more than one element', () => {
    const x = ones([3], { requiresGrad: true });
    expectError(
      () => x.mul(2).backward(),
      'grad-non-scalar',
      /only for scalar outputs, not for shape \[3\]/,
    );
    x.mul(2).backward(ones([3]));
    expect(x.grad!.toArray()).toEqual([2, 2, 2]);
  });
});

describe('fake tensors', () => {
  it('have no values', () => {
    const fake = fakeFromMeta({ sizes: [2], strides: [1], dtype: 'float32', device: 'cpu' });
    expectError(() => fake.toArray(), 'fake-data-access', 'FakeTensor');
    expectError(() => fake.dataPtr(), 'fake-data-access', 'dataPtr()');
    expect(fake.add(1).sizes).toEqual([2]);
  });
});

/** A device whose memory is host memory: it holds tensors and has no kernels. */
const shelf: DeviceRuntime = {
  type: 'shelf',
  itemSize,
  allocate: (bytes) => new Uint8Array(bytes),
  free: () => undefined,
  upload: (memory, offset, dtype, host) =>
    (memory as Uint8Array).set(host, offset * itemSize(dtype)),
  download: async (memory, offset, dtype, count) =>
    (memory as Uint8Array).slice(offset * itemSize(dtype), (offset + count) * itemSize(dtype)),
  copy: (src: DeviceMemory, srcByte, dst: DeviceMemory, dstByte, bytes) =>
    (dst as Uint8Array).set((src as Uint8Array).subarray(srcByte, srcByte + bytes), dstByte),
  synchronize: async () => undefined,
};

describe('values on other devices', () => {
  registerDevice(shelf);
  const there = (): Tensor => toDevice(tensor([3, 0, 1]), 'shelf');

  it('must be awaited', async () => {
    const values = there().toArray();
    expectError(() => (values as number[])[0], 'data-async-only', 'toArray()', 'await');
    expect(await values).toEqual([3, 0, 1]);
    expectError(() => there().to('cpu'), 'data-async-only', "'shelf'", 'download');
    expect((await download(there())).add(1).toArray()).toEqual([4, 1, 2]);
  });

  it('are not read by kernels of the CPU', () => {
    expectError(() => there().add(1), 'kernel-missing', 'aten::add.Tensor', "'shelf'");
    expectError(() => nonzero(there()), 'data-async-only', 'aten::nonzero', "'shelf'");
    expectError(
      () => maskedSelect(there(), there()),
      'data-async-only',
      'aten::masked_select',
      "'shelf'",
    );
    expectError(() => there().add(ones([3])), 'device-mismatch', 'shelf and cpu');
  });
});

describe('safetensors files', () => {
  const file = (): Uint8Array => serializeSafetensors({ w: ones([2, 2]) });

  it('say what is malformed and load nothing', () => {
    expectError(
      () => parseSafetensors(file().subarray(0, 5)),
      'safetensors-invalid',
      'Not a valid safetensors file',
    );
    expectError(
      () => parseSafetensors(file().subarray(0, file().length - 4)),
      'safetensors-invalid',
      'Not a valid safetensors file',
    );
    expectError(
      () => parseSafetensors(new TextEncoder().encode('<!doctype html><title>404</title>')),
      'safetensors-invalid',
    );
    const wrong = file();
    wrong[9] = 0x7f;
    expectError(() => parseSafetensors(wrong), 'safetensors-invalid');
    expect(Object.keys(parseSafetensors(file()))).toEqual(['w']);
    expect(zeros([1]).item()).toBe(0);
  });
});
