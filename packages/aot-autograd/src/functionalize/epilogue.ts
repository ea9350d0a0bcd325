/**
 * @file The end of a functional graph: results with memory of their own, and updates of inputs.
 */
import { type Argument, type Graph, type Node, tensorVal } from '@tessera/graph';
import { type Storage, type Tensor } from '@tessera/tensor';
import { sameNumbers } from '@tessera/tensor/internal';
import { isDense, sameStrides } from '../layout.js';
import type { Emitter } from './emitter.js';
import { Value, read } from './memory.js';

/**
 * Nodes to return. Each has memory that no input and no other result has, and the strides it had in the
 * original program; a value that is returned twice stays one node.
 */
export function ownOutputs(
  emitter: Emitter,
  outputs: readonly (Value | Argument)[],
  mayAlias: (index: number) => boolean,
): Argument[] {
  const taken = inputStorages(emitter.graph);
  const done = new Map<Value, Node>();
  return outputs.map((output, index) => {
    if (!(output instanceof Value)) return output;
    if (mayAlias(index)) return read(output, emitter);
    let node = done.get(output);
    if (node === undefined) {
      node = own(emitter, output, taken);
      taken.add(emitter.val(node).storage);
      done.set(output, node);
    }
    return node;
  });
}

function own(emitter: Emitter, output: Value, taken: ReadonlySet<Storage>): Node {
  const node = read(output, emitter);
  const { val } = output;
  const wanted = emitter.val(node);
  // Strides with gaps or overlaps are a view's, which the caller makes itself.
  const fits =
    !isDense(val.sizes, val.strides) || sameStrides(val.sizes, wanted.strides, val.strides);
  if (!fits) return emitter.restride(node, val);
  return taken.has(wanted.storage) ? emitter.clone(node) : node;
}

/** The memory of a graph's inputs and attributes. */
export function inputStorages(graph: Graph): Set<Storage> {
  const storages = new Set<Storage>();
  for (const node of graph.nodes) {
    const val = node.op === 'placeholder' || node.op === 'get_attr' ? tensorVal(node) : null;
    if (val !== null) storages.add(val.storage);
  }
  return storages;
}

/** Emits `copy_(input, contents)` for every written input. */
export function writeBack(emitter: Emitter, written: readonly Value[]): void {
  const targets = written.filter((root) => {
    const { input } = root.memory;
    return input !== null && !samePlace(emitter.val(read(root, emitter)), emitter.val(input));
  });
  const inputs = new Set(targets.map((root) => emitter.val(root.memory.input!).storage));
  // A value that lives in an input which is overwritten here must be saved before the first copy.
  const values = targets.map((root) => {
    const value = read(root, emitter);
    return inputs.has(emitter.val(value).storage) ? emitter.clone(value) : value;
  });
  targets.forEach(({ memory }, i) => {
    const update = emitter.emit('aten::copy_', [memory.input!, values[i], false]);
    update.meta.programOrder = memory.writtenAt;
  });
}

/** Whether two values are the same elements of the same memory. */
function samePlace(a: Tensor, b: Tensor): boolean {
  return (
    a.storage === b.storage &&
    a.storageOffset === b.storageOffset &&
    sameNumbers(a.sizes, b.sizes) &&
    sameNumbers(a.strides, b.strides)
  );
}
