/**
 * @file Reading and writing `meta.val`: what a node's value looks like.
 *
 * `meta.val` holds FakeTensors that belong to the graph alone: no autograd history, never mutated.
 * Values that share memory in the traced program have FakeTensors that share a storage, which is how
 * passes know about aliasing.
 */
import { type DType, Storage, type Tensor, isTensor } from '@tessera/tensor';
import { isContiguous, makeTensor } from '@tessera/tensor/internal';
import { type Argument, Node, type NodeMeta } from './node.js';
import type { SymbolicShape, SymbolicVal } from '../symbolic/symbolic-shape.js';

type Val = NonNullable<NodeMeta['val']>;

/** `f32`, `bf16`, `i64`, …, `bool`. */
export function shortDtype(dtype: DType): string {
  return dtype.replace(/^(bf|[fiu])[a-z]*/, '$1');
}

/** The value of a node as one tensor, or null if it has none or several; null for other arguments. */
export function tensorVal(node: Argument): Tensor | null {
  return node instanceof Node && isTensor(node.meta.val) ? node.meta.val : null;
}

/** The node's tensors: one, several, or none. */
export function tensorVals(node: Pick<Node, 'meta'>): readonly Tensor[] {
  const val = node.meta.val;
  if (isTensor(val)) return [val];
  return Array.isArray(val) ? val.filter(isTensor) : [];
}

/** The shape of one tensor; undefined of several. */
export function singleShape(symbolic: SymbolicVal | undefined): SymbolicShape | undefined {
  return Array.isArray(symbolic) ? undefined : symbolic;
}

/**
 * `f32[2, 3]`; strides where the layout is not row-major; the device where it is not `cpu`.
 *
 * @param shape sizes and strides as expressions, where they depend on symbols: `f32[s0, 3]`
 */
export function describeTensor(tensor: Tensor, shape: SymbolicShape | null = null): string {
  const { dtype } = tensor;
  const device = tensor.device === 'cpu' ? '' : `${tensor.device}:`;
  const { sizes, strides } = shape ?? tensor;
  const layout = isContiguous(tensor.sizes, tensor.strides)
    ? ''
    : ` strides [${strides.map((stride) => (stride === null ? '?' : String(stride))).join(', ')}]`;
  return `${device}${dtype === 'bool' ? 'b8' : shortDtype(dtype)}[${sizes.map(String).join(', ')}]${layout}`;
}

/** The value in words, or null when nothing is known. */
export function describeVal(val: NodeMeta['val'], symbolic?: SymbolicVal): string | null {
  if (val === undefined || val === null) return null;
  const shapes = [symbolic].flat();
  if (isTensor(val)) return describeTensor(val, shapes[0]);
  if (typeof val !== 'object') return String(val);
  return `[${val.map((item, i) => (item === null ? 'null' : describeTensor(item, shapes[i]))).join(', ')}]`;
}

/** Makes `meta.val` of traced values, keeping which of them share storage. One per trace. */
export class ValSnapshots {
  private readonly storages = new Map<Storage, Storage>();

  /** The val of a traced value. */
  of(value: unknown): Val | null {
    if (isTensor(value)) return this.tensor(value);
    if (Array.isArray(value)) {
      return value.map((item) => (isTensor(item) ? this.tensor(item) : null));
    }
    return typeof value === 'number' || typeof value === 'boolean' ? value : null;
  }

  private tensor(tensor: Tensor): Tensor {
    const val = makeTensor(
      this.storage(tensor.storage),
      tensor.dtype,
      tensor.device,
      tensor.sizes,
      tensor.strides,
      tensor.storageOffset,
    );
    val.requiresGradFlag = tensor.requiresGradFlag;
    return val;
  }

  private storage(storage: Storage): Storage {
    if (storage.state === 'fake') return storage;
    let fake = this.storages.get(storage);
    if (fake === undefined) {
      fake = Storage.fake(storage.device, storage.nbytes);
      this.storages.set(storage, fake);
    }
    return fake;
  }
}
