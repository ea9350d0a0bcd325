/**
 * @file Synthetic bases: inputs that share memory, one of which the program modifies.
 *
 * A pure value per input would lose the sharing. So the graph gets the whole memory as one flat input,
 * the inputs become views of it, and the update goes to the base. Modelled on PyTorch's
 * `merge_view_inputs`.
 */
import { type AliasSets, type Graph, type Node, tensorVal, tensorVals } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import type { DType, DeviceType, Storage, Tensor } from '@tessera/tensor';
import {
  hasInternalOverlap,
  makeTensor,
  numelOf,
  storageBytes,
  storageExtent,
} from '@tessera/tensor/internal';
import { isDense } from '../layout.js';
import type { Emitter } from './emitter.js';
import { Value } from './memory.js';
import { hasInverse } from './view-inverse.js';

/** A flat input over the memory of several inputs. */
export interface SyntheticBase {
  readonly storage: Storage;
  readonly dtype: DType;
  readonly device: DeviceType;
  /** Its placeholder in the functional graph. */
  readonly node: Node;
  readonly value: Value;
  /** One of the original placeholders that share the memory. */
  readonly of: Node;
}

/**
 * Groups of placeholders that share memory which the graph writes; also single ones with gaps or overlaps
 * in memory that views address directly, since a value of their own would be laid out otherwise.
 */
export function sharedWrittenInputs(
  placeholders: readonly Node[],
  nodes: readonly Node[],
  sets: AliasSets,
): (readonly Node[])[] {
  const groups = new Map<Storage, Node[]>();
  for (const node of placeholders) {
    const storage = tensorVal(node)?.storage;
    if (storage === undefined) continue;
    const group = groups.get(storage);
    if (group === undefined) groups.set(storage, [node]);
    else group.push(node);
  }
  return [...groups.values()].filter(
    (group) =>
      group.some((node) => sets.isWritten(node)) &&
      (group.length > 1 || isAddressed(group[0], nodes, sets)),
  );
}

/** Whether an input has views that are read by address: what reaches beyond it and, if it is not dense, all without an inverse. */
function isAddressed(input: Node, nodes: readonly Node[], sets: AliasSets): boolean {
  const whole = tensorVal(input)!;
  const root = sets.root(input);
  const isDenseInput = isDense(whole.sizes, whole.strides);
  return nodes.some(
    (node) =>
      sets.root(node) === root &&
      (isDenseInput
        ? tensorVals(node).some((val) => !isInside(val, whole))
        : tensorVals(node).some((val) => hasInternalOverlap(val.sizes, val.strides)) ||
          (typeof node.target === 'object' &&
            node.target.isView &&
            (node.target.qualifiedName === 'aten::as_strided' || !hasInverse(node.target)))),
  );
}

/** Whether a view shows nothing but elements of a dense tensor. */
function isInside(view: Tensor, { storageOffset, sizes }: Tensor): boolean {
  const start = view.storageOffset - storageOffset;
  return start >= 0 && start + storageExtent(view.sizes, view.strides) <= numelOf(sizes);
}

/** Adds a base per group. @throws aot-unsupported when dtypes differ */
export function syntheticBases(
  graph: Graph,
  groups: readonly (readonly Node[])[],
  emitter: Emitter,
): SyntheticBase[] {
  return groups.map((group, index) => {
    const first = group[0];
    const { storage, dtype, device } = tensorVal(first)!;
    if (group.some((node) => tensorVal(node)!.dtype !== dtype)) {
      throw new TesseraError(
        'aot-unsupported',
        `Inputs ${group.map((node) => `'${node.name}'`).join(', ')} share memory with different dtypes, and one is modified in place.`,
        {
          hints: ['Pass one of them and make the others from it inside the function.'],
        },
      );
    }
    const node = graph.placeholder(`base_${index}`);
    const elements = storage.nbytes / storageBytes(device, dtype, 1);
    node.meta.val = makeTensor(storage, dtype, device, [elements], [1], 0);
    return {
      storage,
      dtype,
      device,
      node,
      value: Value.owner(emitter.val(node), node, node),
      of: first,
    };
  });
}
