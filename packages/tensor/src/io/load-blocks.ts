/**
 * @file Tensors of a file whose form another package knows: where each one's bytes are, and how they become numbers.
 *
 * Bytes go straight into the storage, as those of safetensors do; on an error what was made is released.
 */
import { withoutModes } from '../dispatch/modes.js';
import type { DeviceType } from '../device.js';
import type { DType } from '../dtype.js';
import { cpuHeap } from '../heap/cpu-heap.js';
import { toDevice } from '../ops/arrange/copy.js';
import { emptyContiguous } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import type { Cursor } from './cursor.js';
import { type BlockFormat, blockSink, wholeItems } from './decode-elements.js';
import { disposeAll } from './loading.js';

/** The tensors that a stored one becomes where its blocks are not decoded: words and scales, say. */
export interface BlockParts {
  readonly parts: readonly {
    /** Behind the tensor's name. */
    readonly suffix: string;
    readonly dtype: 'int32' | 'float32';
    readonly sizes: readonly number[];
  }[];
  /** Writes whole blocks, the first of which is number `index`, into the memory of the parts. */
  readonly write: (
    blocks: Uint8Array,
    index: number,
    parts: readonly (Int32Array | Float32Array)[],
  ) => void;
}

/** See the file header. */
export interface BlockTensor {
  readonly name: string;
  readonly sizes: readonly number[];
  /** Bytes of the file, from `begin` up to `end`: whole blocks. */
  readonly begin: number;
  readonly end: number;
  readonly format: BlockFormat;
  readonly parts?: BlockParts;
}

function partsSink(
  { bytes }: BlockFormat,
  { write }: BlockParts,
  tensors: readonly Tensor[],
): (piece: Uint8Array) => void {
  return wholeItems(bytes, (blocks, index) => {
    const { i32, f32 } = cpuHeap();
    const memory = tensors.map((tensor) => {
      const start = tensor.dataPtr() / 4;
      return (tensor.dtype === 'int32' ? i32 : f32).subarray(start, start + tensor.numel);
    });
    write(blocks, index, memory);
  });
}

/** Reads tensors in the order of their bytes, which must not overlap; those with parts give a tensor for each. */
export async function loadBlocks(
  cursor: Cursor,
  tensors: readonly BlockTensor[],
  { dtype, device }: { readonly dtype: DType; readonly device: DeviceType },
): Promise<Record<string, Tensor>> {
  const loaded: Record<string, Tensor> = {};
  const make = (name: string, sizes: readonly number[], type: DType): Tensor =>
    (loaded[name] = withoutModes(() => emptyContiguous(sizes, type, 'cpu')));
  try {
    for (const { name, sizes, begin, end, format, parts } of tensors) {
      await cursor.skipTo(begin);
      const made = parts?.parts.map((part) => make(name + part.suffix, part.sizes, part.dtype)) ?? [
        make(name, sizes, dtype),
      ];
      const sink =
        parts === undefined
          ? blockSink(format, dtype, () => made[0]!.dataPtr())
          : partsSink(format, parts, made);
      await cursor.each(end - begin, sink);
      if (device === 'cpu') continue;
      made.forEach((tensor, i) => {
        loaded[name + (parts?.parts[i]!.suffix ?? '')] = toDevice(tensor, device);
        tensor.dispose();
      });
    }
  } catch (error) {
    disposeAll(loaded);
    throw error;
  }
  return loaded;
}
