/**
 * @file Operators that refuse their arguments: their error is the program's to catch, and leaves no step behind.
 *
 * A call that goes the recorded way meets the same operator where no step expects it. It is no other path: where the
 * operator refused before it is asked again, on fake tensors and for its shapes alone, and if it refuses for the same
 * reason the call goes on as it was recorded. Arguments that it takes are a path of their own, recorded as any other.
 */
import { type ErrorCode, isTesseraError } from '@tessera/shared';
import { type OpOverload, isTensor, noGrad } from '@tessera/tensor';
import { fakeFromMeta } from '@tessera/tensor/internal';
import { runOnFakes } from '../cursor/run-on-fakes.js';
import type { TrieNode } from '../trace/step.js';

/** Per place of a trace, the operators that refused there, with the code of the last error. */
const refusals = new WeakMap<TrieNode, Map<OpOverload, ErrorCode>>();

/** Records an operator, and notes where it refuses. @throws what it throws */
export function notingRefusal<R>(at: TrieNode, op: OpOverload, record: () => R): R {
  try {
    return record();
  } catch (error) {
    if (isTesseraError(error)) {
      const here = refusals.get(at) ?? new Map<OpOverload, ErrorCode>();
      refusals.set(at, here.set(op, error.code));
    }
    throw error;
  }
}

/** Has an operator refuse its arguments as it did before at this place. @throws what it threw then */
export function refuseAgain(at: TrieNode, op: OpOverload, args: readonly unknown[]): void {
  const code = refusals.get(at)?.get(op);
  if (code === undefined) return;
  try {
    noGrad(() => runOnFakes(op, args.map(asFake)));
  } catch (error) {
    if (isTesseraError(error, code)) throw error;
  }
}

/** What an operator's rules see of an argument. */
function asFake(arg: unknown): unknown {
  if (Array.isArray(arg)) return arg.map(asFake);
  return isTensor(arg) ? fakeFromMeta(arg) : arg;
}
