/**
 * @file Synthetic bases: inputs that share memory, one of which the program modifies.
 *
 * A pure value per input would lose the sharing. So the graph gets the whole memory as one flat input,
 * the inputs become views of it, and the update goes to the base. Modelled on PyTorch's
 * `merge_view_inputs`.
 */
import { type Graph, type Node, tensorVal } from '@tessera/graph';
import type { AliasSets } from '@tessera/passes';
import { TesseraError } from '@tessera/shared';
import { type DType, type DeviceType, type Storage, itemSize, makeTensor } from '@tessera/tensor';
import type { Emitter } from './emitter.js';
import { Value } from './memory.js';

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

/** Groups of placeholders that share memory which the graph writes. */
export function sharedWrittenInputs(
  placeholders: readonly Node[],
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
    (group) => group.length > 1 && group.some((node) => sets.isWritten(node)),
  );
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
    const elements = storage.nbytes / itemSize(dtype);
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
