/**
 * @file Operators with code of their own, which no kernel of a plan is: a call of one runs it in place of the reference kernel.
 *
 * A program registers those that it wants: pages that never do leave out their code.
 */
import type { OpOverload, Tensor } from '@tessera/tensor';

/**
 * Computes a call into `outs`, by the arguments' names; false leaves it to others. Calls were checked against the schema that
 * `Args` are of.
 */
export type OperatorCode<Args extends object = object> = {
  run(args: Args, outs: readonly Tensor[]): boolean;
}['run'];

const codes = new Map<string, OperatorCode>();

/** Makes the code of an operator known. */
export function registerOperatorCode(name: string, code: OperatorCode): void {
  codes.set(name, code);
}

/** Runs a call by the operator's own code, if it has any. */
export function runOperatorCode(
  op: OpOverload,
  args: readonly unknown[],
  outs: readonly Tensor[],
): boolean {
  return codes.get(op.qualifiedName)?.(op.bind(args), outs) ?? false;
}
