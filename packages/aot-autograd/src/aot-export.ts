/**
 * @file `aotExportJointSimple`: the functional graph of a program, with the calling convention it has.
 */
import { GraphModule, type Node } from '@tessera/graph';
import { jointPasses, runPasses } from '@tessera/passes';
import { TesseraError } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { gradMode } from '@tessera/tensor/internal';
import { functionalize } from './functionalize/functionalize.js';
import type { InputInfo } from './joint/primals.js';
import { type JointTrace, traceJoint } from './joint/trace-joint.js';

/** What to export. */
export interface ExportOptions {
  /**
   * `true` (default): forward and backward in one graph, (primals, tangents) → (results, gradients of the
   * primals that require grad). `false`: forward alone, primals → results.
   */
  readonly traceJoint?: boolean;
}

/**
 * Exports a program that modifies no input and returns no alias of one: a graph of pure primitive ops.
 *
 * @throws aot-unsupported for a program with effects on its inputs, results that alias, or, with
 * `traceJoint`, nothing to differentiate
 * @see functorch's aot_export_joint_simple
 */
export function aotExportJointSimple(
  program: GraphModule | ((...inputs: Tensor[]) => readonly Tensor[]),
  examples: readonly Tensor[],
  options: ExportOptions = {},
): GraphModule {
  const isJoint = options.traceJoint ?? true;
  const trace = traceJoint({
    run: (inputs) =>
      (program instanceof GraphModule
        ? program.forward(...inputs)
        : program(...(inputs as Tensor[]))) as readonly unknown[],
    examples,
    infos: inputInfos(program, examples),
    gradEnabled: isJoint && gradMode.enabled,
  });
  if (isJoint && trace.tangents.length === 0)
    throw unsupported('no input requires grad', 'Export it with traceJoint: false.');
  rejectAliases(trace);
  const { module, mutated, bases } = functionalize(trace.module);
  const updates = [...trace.updates, ...trace.layouts];
  if (mutated.length + bases.length + updates.length > 0) {
    const names = [...mutated, ...updates.map((update) => nodeAt(trace, update.position))];
    throw unsupported(
      `it modifies ${names.map((node) => `'${node.name}'`).join(', ')} in place`,
      'Return the new value instead.',
    );
  }
  runPasses(module, jointPasses);
  return module;
}

function inputInfos(
  program: GraphModule | ((...inputs: Tensor[]) => unknown),
  examples: readonly Tensor[],
): InputInfo[] {
  const names = program instanceof GraphModule ? program.graph.placeholders : [];
  return examples.map((_, i) => ({ name: names[i]?.name ?? `primals_${i}` }));
}

function nodeAt(trace: JointTrace, position: number): Node {
  return trace.primals.byPosition[position].node;
}

function rejectAliases({ plans }: JointTrace): void {
  plans.forEach((plan, i) => {
    if (plan.kind === 'value' && plan.index === i) return;
    throw unsupported(
      plan.kind === 'constant'
        ? `its result ${i} is no tensor of the program`
        : `its result ${i} shares memory with an input or another result`,
      'Return a clone() of it.',
    );
  });
}

function unsupported(reason: string, hint: string): TesseraError {
  return new TesseraError('aot-unsupported', `The program cannot be exported: ${reason}.`, {
    hints: [hint],
  });
}
