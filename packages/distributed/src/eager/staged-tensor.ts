/**
 * @file A tensor as a communicator can carry it: contiguous, in CPU memory.
 *
 * A contiguous CPU tensor is used in place. Others are copied before, and back afterwards.
 */
import { TesseraError } from '@tessera/shared';
import { type DType, type Tensor, clone, download, isTensor, noGrad } from '@tessera/tensor';
import {
  contiguousStrides,
  emptyContiguous,
  formatSizes,
  hasInternalOverlap,
  isContiguous,
  withoutModes,
} from '@tessera/tensor/internal';
import { type HostBuffer, arrayBuffer, tensorBuffer } from '../host-buffer.js';

/** What a collective does with the values of a tensor. */
export type Access = 'read' | 'write' | 'update';

/** See the file header. */
export interface StagedTensor {
  /** The elements; to be asked for when `ready` has settled. */
  buffer(): HostBuffer;
  /** Null where the elements are there at once. */
  readonly ready: Promise<void> | null;
  /** Puts results into the tensor. */
  store(): void;
  /** The memory may go again. */
  release(): void;
}

/** Runs `fn` beside whatever is being captured or differentiated. */
export function aside<R>(fn: () => R): R {
  return withoutModes(() => noGrad(fn));
}

/** Refuses what is no tensor, or none with values. */
export function checkTensor(name: string, tensor: unknown): asserts tensor is Tensor {
  if (!isTensor(tensor))
    throw new TesseraError(
      'invalid-argument',
      `${name}: expected a tensor, got ${String(tensor)}.`,
    );
  if (tensor.isFake)
    throw new TesseraError(
      'fake-data-access',
      `${name}: a FakeTensor has no values that could be sent.`,
      { hints: ['In code that is traced, use the functional collectives, which are operators.'] },
    );
}

/** An input and an output; a copy of the input where they share memory. */
export function stageBoth(name: string, input: Tensor, output: Tensor): StagedTensor[] {
  const shared = input.storage === output.storage;
  return [stage(name, input, 'read', shared), stage(name, output, 'write')];
}

/** `copies`: also where the tensor could be used in place. @throws invalid-argument, fake-data-access, inplace-overlap */
export function stage(
  name: string,
  tensor: Tensor,
  access: Access,
  copies: boolean = false,
): StagedTensor {
  checkTensor(name, tensor);
  const { sizes, strides, storage } = tensor;
  const writes = access !== 'read';
  if (writes && hasInternalOverlap(sizes, strides))
    throw new TesseraError(
      'inplace-overlap',
      `${name}: more than one element of the written-to tensor ${formatSizes(sizes)} refers to a single memory location.`,
      { hints: ['Please clone() the tensor before.'] },
    );
  storage.assertReadable(name, writes);
  if (!copies && tensor.device === 'cpu' && isContiguous(sizes, strides)) {
    const release = storage.hold();
    if (writes) {
      storage.keepContents();
      storage.version++;
    }
    const buffer = tensorBuffer(tensor);
    return { buffer: () => buffer, ready: null, store: () => undefined, release };
  }
  let copy: Tensor;
  let ready: Promise<void> | null = null;
  if (tensor.device === 'cpu' || access === 'write') {
    copy = aside(() =>
      access === 'write'
        ? emptyContiguous(sizes, tensor.dtype, 'cpu')
        : clone(tensor, { memoryFormat: 'contiguous' }),
    );
  } else {
    ready = download(tensor).then((there) => {
      copy = aside(() =>
        isContiguous(there.sizes, there.strides)
          ? there
          : clone(there, { memoryFormat: 'contiguous' }),
      );
    });
  }
  return {
    buffer: () => tensorBuffer(copy),
    ready,
    store: () => {
      if (writes) aside(() => tensor.copy_(copy));
    },
    release: () => copy?.dispose(),
  };
}

/** No elements: what a rank passes that has nothing to send, or to receive. */
export function emptyStage(dtype: DType): StagedTensor {
  const buffer = arrayBuffer(new Uint8Array(), dtype);
  return { buffer: () => buffer, ready: null, store: () => undefined, release: () => undefined };
}

/** Memory for a list of tensors of one kind, side by side, and what moves them there or back. */
export function stageList(
  name: string,
  tensors: readonly Tensor[],
  access: 'read' | 'write',
): StagedTensor {
  const first = tensors[0]!;
  const total = tensors.reduce((sum, { numel }) => sum + numel, 0);
  const flat = aside(() => emptyContiguous([total], first.dtype, 'cpu'));
  const parts = tensors.map((tensor) => stage(name, tensor, access));
  let at = 0;
  const places = tensors.map(({ sizes, numel }) => {
    const place = aside(() => flat.asStrided(sizes, contiguousStrides(sizes), at));
    at += numel;
    return place;
  });
  const copyIn = (): void => {
    for (const [i, part] of parts.entries())
      tensorBuffer(places[i]!).view().set(part.buffer().view());
  };
  const waits = parts.flatMap(({ ready }) => ready ?? []);
  let ready: Promise<void> | null = null;
  if (access === 'read') {
    if (waits.length === 0) copyIn();
    else ready = Promise.all(waits).then(copyIn);
  }
  return {
    buffer: () => tensorBuffer(flat),
    ready,
    store: () => {
      if (access === 'read') return;
      for (const [i, part] of parts.entries()) {
        part.buffer().view().set(tensorBuffer(places[i]!).view());
        part.store();
      }
    },
    release: () => {
      for (const part of parts) part.release();
      flat.dispose();
    },
  };
}
