/**
 * @file Inputs become constants: the first step of freezing.
 */
import { AliasSets, type GraphModule, type Node, copyModule } from '@tessera/graph';
import { type Tensor, isTensor } from '@tessera/tensor';
import { makeTensor } from '@tessera/tensor/internal';

/** An input that may become a constant. */
export interface FreezableInput {
  readonly position: number;
  readonly tensor: Tensor;
}

/** Inputs that may become constants: used, not written, and wanted by `isConstant`. */
export function freezableInputs(
  module: GraphModule,
  inputs: readonly unknown[],
  isConstant: (tensor: Tensor) => boolean,
): FreezableInput[] {
  const sets = new AliasSets(module.graph);
  return module.graph.placeholders.flatMap((node, position) => {
    const tensor = inputs[position];
    return isTensor(tensor) && node.users.size > 0 && !sets.isWritten(node) && isConstant(tensor)
      ? [{ position, tensor }]
      : [];
  });
}

/** A copy of the graph in which inputs are attributes `_frozen_param0`, …; the rest stay inputs in order. */
export function freezeInputs(module: GraphModule, inputs: readonly FreezableInput[]): GraphModule {
  const frozen = copyModule(module);
  const { graph } = frozen;
  const { placeholders } = graph;
  const start = graph.nodes.find((node) => node.op !== 'placeholder')!;
  graph.insertingBefore(start, () => {
    inputs.forEach(({ position, tensor }, i) => {
      const old = placeholders[position]!;
      const path = `_frozen_param${i}`;
      frozen.setAttribute(path, alias(tensor));
      const constant: Node = graph.getAttr(path);
      constant.meta = { ...old.meta };
      old.replaceAllUsesWith(constant);
      graph.eraseNode(old);
    });
  });
  return frozen;
}

/** The tensor's memory under another object, which stays when the parameter gives its memory away. */
function alias(tensor: Tensor): Tensor {
  const { storage, dtype, device, sizes, strides, storageOffset } = tensor;
  return makeTensor(storage, dtype, device, sizes, strides, storageOffset);
}
