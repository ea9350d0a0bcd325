/**
 * @file safetensors in memory: the format of PyTorch checkpoints, as bytes.
 */
import { TesseraError } from '@tessera/shared';
import { fromBytes } from '../create.js';
import { DTYPES, itemSize } from '../dtype.js';
import { cpuHeap } from '../heap/cpu-heap.js';
import { asyncOnly } from '../dispatch/unreadable-now.js';
import { contiguous } from '../ops/arrange/copy.js';
import { noGrad } from '../autograd/grad-mode.js';
import { numelOf } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { headerLength, invalidFile, parseHeader } from './safetensors-header.js';
import { plainType } from './stored-type.js';
import type { SavedOptimizer } from './optimizer-tensors.js';
import { savedTensors } from './saved-tensors.js';

/**
 * Tensors of a file held in memory, by name, in the file's order. For files whose types tensors have; `loadCheckpoint`
 * converts others.
 *
 * @throws safetensors-invalid for anything malformed; then nothing was loaded; dtype-unsupported; invalid-argument
 */
export function parseSafetensors(bytes: Uint8Array): Record<string, Tensor> {
  if (!ArrayBuffer.isView(bytes)) {
    throw new TesseraError(
      'invalid-argument',
      `parseSafetensors() takes the bytes of a file, not ${bytes === null ? 'null' : typeof bytes}.`,
      { hints: ['Pass a Uint8Array; loadCheckpoint(path) reads a file.'] },
    );
  }
  const length = headerLength(bytes);
  if (8 + length > bytes.byteLength)
    invalidFile(`its header needs ${length} bytes, but only ${bytes.byteLength - 8} are left`);
  const header = parseHeader(
    bytes.subarray(8, 8 + length),
    bytes.byteLength - 8 - length,
    plainType,
  );
  const { entries, dataStart } = header;
  for (const { name, code, stored } of entries) if (stored === null) notAsStored(name, code);
  const result: Record<string, Tensor> = {};
  for (const { name, stored, sizes, begin, end } of entries)
    result[name] = fromBytes(
      bytes.subarray(dataStart + begin, dataStart + end),
      sizes,
      stored!.dtype,
    );
  return result;
}

/** @throws dtype-unsupported */
function notAsStored(name: string, code: string): never {
  throw new TesseraError('dtype-unsupported', `Tensor '${name}' has dtype "${code}".`, {
    hints: ['loadCheckpoint(bytes) converts some types that no tensor has.'],
  });
}

/** Bytes that no thread shares: `Uint8Array<ArrayBuffer>` for a TypeScript that tells the difference (5.7 and newer). */
export type OwnBytes = ReturnType<typeof Uint8Array.of>;

/**
 * A safetensors file with the given tensors and metadata. Deterministic. Its bytes are in memory of their own, as `Blob`,
 * `Response` and files of the browser want them. The state dict of an optimizer is written as `saveCheckpoint` writes it.
 *
 * @throws data-async-only for tensors on other devices than `cpu`: `await serializeCheckpoint(…)` downloads them first;
 *   invalid-argument for anything but tensors
 */
export function serializeSafetensors(
  values: Readonly<Record<string, Tensor>> | SavedOptimizer,
  metadata?: Readonly<Record<string, string>>,
): OwnBytes {
  const call = 'serializeSafetensors(model.stateDict())';
  const tensors = savedTensors('serializeSafetensors', call, values);
  const header: Record<string, unknown> = metadata === undefined ? {} : { __metadata__: metadata };
  let offset = 0;
  // Wider types first keeps every tensor aligned, as the reference implementation does.
  const entries = Object.entries(tensors).sort(
    ([a, x], [b, y]) => itemSize(y.dtype) - itemSize(x.dtype) || (a < b ? -1 : 1),
  );
  for (const [name, tensor] of entries) {
    if (tensor.device !== 'cpu')
      throw asyncOnly(
        tensor.device,
        `'${name}' cannot be written now`,
        'serializeCheckpoint(values)',
      );
    const bytes = numelOf(tensor.sizes) * itemSize(tensor.dtype);
    header[name] = {
      dtype: DTYPES[tensor.dtype].safetensors,
      shape: tensor.sizes,
      data_offsets: [offset, offset + bytes],
    };
    offset += bytes;
  }
  let json = JSON.stringify(header);
  json += ' '.repeat((8 - (new TextEncoder().encode(json).byteLength % 8)) % 8);
  const text = new TextEncoder().encode(json);
  const file = new Uint8Array(8 + text.byteLength + offset);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.byteLength), true);
  file.set(text, 8);
  let at = 8 + text.byteLength;
  for (const [, tensor] of entries) {
    const packed = noGrad(() => contiguous(tensor));
    const bytes = numelOf(packed.sizes) * itemSize(packed.dtype);
    if (bytes > 0) file.set(cpuHeap().u8.subarray(packed.dataPtr(), packed.dataPtr() + bytes), at);
    at += bytes;
  }
  return file;
}
