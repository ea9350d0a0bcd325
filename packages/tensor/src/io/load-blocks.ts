/**
 * @file Tensors of a file whose form another package knows: where each one's bytes are, and how they become numbers.
 *
 * Bytes go straight into the storage, as those of safetensors do; on an error what was made is released.
 */
import { withoutModes } from '../dispatch/modes.js';
import type { DeviceType } from '../device.js';
import type { DType } from '../dtype.js';
import { toDevice } from '../ops/arrange/copy.js';
import { emptyContiguous } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import type { Cursor } from './cursor.js';
import { type BlockFormat, blockSink } from './decode-elements.js';
import { disposeAll } from './loading.js';

/** See the file header. */
export interface BlockTensor {
  readonly name: string;
  readonly sizes: readonly number[];
  /** Bytes of the file, from `begin` up to `end`: whole blocks. */
  readonly begin: number;
  readonly end: number;
  readonly format: BlockFormat;
}

/** Reads tensors in the order of their bytes, which must not overlap. */
export async function loadBlocks(
  cursor: Cursor,
  tensors: readonly BlockTensor[],
  { dtype, device }: { readonly dtype: DType; readonly device: DeviceType },
): Promise<Record<string, Tensor>> {
  const loaded: Record<string, Tensor> = {};
  try {
    for (const { name, sizes, begin, end, format } of tensors) {
      await cursor.skipTo(begin);
      const tensor = withoutModes(() => emptyContiguous(sizes, dtype, 'cpu'));
      loaded[name] = tensor;
      await cursor.each(
        end - begin,
        blockSink(format, dtype, () => tensor.dataPtr()),
      );
      if (device === 'cpu') continue;
      loaded[name] = toDevice(tensor, device);
      tensor.dispose();
    }
  } catch (error) {
    disposeAll(loaded);
    throw error;
  }
  return loaded;
}
