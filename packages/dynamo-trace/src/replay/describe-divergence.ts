/**
 * @file Why a replay left its trace, in words: for the cases that no guard of the call's arguments explains.
 */
import type { OpOverload } from '@tessera/tensor';
import { printInt } from '../trace/int-pattern.js';
import { type Pattern, sameConstant } from '../trace/pattern.js';
import type { Branch, OpStep, RegionStep } from '../trace/step.js';

/** A region that no recorded trace has here, or whose owner or inputs changed. */
export function describeRegion(owner: object, name: string, branch: Branch): string {
  const step = branch.steps.find(
    (candidate): candidate is RegionStep =>
      candidate.kind === 'region' && candidate.owner === owner && candidate.name === name,
  );
  const what = `${owner.constructor.name}.${name}`;
  if (step === undefined) return `the call went on with ${what} where the recorded call did not`;
  return step.jump?.guards.reason(owner) ?? `other tensors were passed to ${what}`;
}

/** An op that no recorded trace has here, or with other arguments. */
export function describeOp(op: OpOverload, args: readonly unknown[], branch: Branch): string {
  const expected = branch.steps.find((step): step is OpStep => step.kind === 'op');
  if (expected === undefined)
    return `the call went on with ${op.displayName} where the recorded call did not`;
  if (expected.op !== op)
    return `expected ${expected.op.displayName}, got ${op.displayName}${expected.location === null ? '' : ` (recorded at ${expected.location})`}`;
  if (op.qualifiedName === 'tessera::attach_function')
    return 'the backward of a custom autograd function, or what its context holds, is not what was recorded';
  const at = expected.args.findIndex((pattern, i) => !sameNumber(pattern, args[i]));
  if (at >= 0)
    return `argument '${op.schema.args[at]!.name}' of ${op.displayName} == ${printPattern(expected.args[at]!)}, actual ${String(args[at])}`;
  return `another tensor was passed to ${op.displayName}`;
}

/** A `backward()` that no recorded trace has here. */
export function describeBackward(): string {
  return 'backward() was called where the recorded call did not, or gradients were set differently';
}

/** A change of grad mode that no recorded trace has here. */
export function describeGradMode(enabled: boolean): string {
  return `grad mode was switched ${enabled ? 'on' : 'off'} where the recorded call did not`;
}

/** The function returned where no recorded trace ends so; `longer`: an operator gave a longer list. */
export function describeEnd(branch: Branch, longer: boolean): string {
  if (!branch.steps.some((step) => step.kind === 'return'))
    return 'the function returned earlier than the recorded call';
  return longer
    ? 'an operator gave a longer list than in the recorded call'
    : 'tensors that the function modifies share memory in another way than in the recorded call';
}

/** False for a number, or a list of numbers, that differs for sure; symbols are not evaluated. */
function sameNumber(pattern: Pattern, arg: unknown): boolean {
  if (pattern.code === 2) return sameConstant(pattern.value, arg);
  if (pattern.code === 3 && Array.isArray(arg))
    return pattern.items.every((item, i) => item.code !== 2 || sameConstant(item.value, arg[i]));
  return true;
}

function printPattern(pattern: Pattern): string {
  if (pattern.code === 2) return String(pattern.value);
  if (pattern.code === 3) return pattern.items.map(printPattern).join();
  return pattern.code === 5 ? printInt(pattern) : '…';
}
