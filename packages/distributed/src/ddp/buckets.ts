/**
 * @file Buckets: parameters whose gradients are reduced together.
 *
 * In reverse order of registration, which is about the order in which gradients arrive; one dtype and device each.
 * The first one is small, so that communication begins early.
 */
import { type DeviceType, type DType, type Tensor, itemSize } from '@tessera/tensor';

/** See the file header. */
export interface GradientBucket {
  readonly params: readonly Tensor[];
  readonly dtype: DType;
  readonly device: DeviceType;
  /** Elements of all its gradients. */
  readonly length: number;
}

/** Bytes of the first bucket at most. */
const FIRST_BYTES = 1024 * 1024;

/** Assigns parameters to buckets of at most so many bytes; one that is larger has its own. */
export function makeGradientBuckets(params: readonly Tensor[], capBytes: number): GradientBucket[] {
  const open = new Map<string, Tensor[]>();
  const buckets: Tensor[][] = [];
  const bytes = new Map<Tensor[], number>();
  for (const param of [...params].reverse()) {
    const kind = `${param.dtype} ${param.device}`;
    const size = param.numel * itemSize(param.dtype);
    let list = open.get(kind);
    const cap =
      list !== undefined && list === buckets[0] ? Math.min(FIRST_BYTES, capBytes) : capBytes;
    if (list === undefined || bytes.get(list)! + size > cap) {
      list = [];
      bytes.set(list, 0);
      buckets.push(list);
      open.set(kind, list);
    }
    list.push(param);
    bytes.set(list, bytes.get(list)! + size);
  }
  return buckets.map((list) => ({
    params: list,
    // A model may be moved, or converted, after it was wrapped.
    get dtype() {
      return list[0]!.dtype;
    },
    get device() {
      return list[0]!.device;
    },
    length: list.reduce((sum, { numel }) => sum + numel, 0),
  }));
}
