/**
 * @file In which argument a call of an operator differs from the recorded one.
 */
import { type OpOverload, isTensor } from '@tessera/tensor';
import { printInt } from '../trace/int-pattern.js';
import {
  type Pattern,
  type ScalarPattern,
  isOfKind,
  isOfScalar,
  sameConstant,
} from '../trace/pattern.js';
import type { Difference } from './event.js';

/** See the file header. */
export function argumentDifference(
  op: OpOverload,
  patterns: readonly Pattern[],
  args: readonly unknown[],
): Difference {
  const i = patterns.findIndex((pattern, k) => !sameNumber(pattern, args[k]));
  if (i >= 0) {
    const pattern = patterns[i]!;
    return {
      text: `argument '${op.schema.args[i]!.name}' of ${op.displayName} == ${printPattern(pattern)}, actual ${printArgument(args[i])}`,
      about: [args[i]],
      was: pattern.code === 2 ? pattern.value : undefined,
    };
  }
  for (const [k, pattern] of patterns.entries())
    if (pattern.code === 4 && !isOfScalar(pattern, args[k]))
      return {
        text: `argument '${op.schema.args[k]!.name}' of ${op.displayName} is ${isOfKind(pattern.kind, args[k]) ? 'a number that it takes' : KINDS[pattern.kind]}, actual ${printArgument(args[k])}`,
        about: [args[k]],
        isExact: true,
      };
  const changed = patterns.flatMap((pattern, k) =>
    changedTensors(pattern, args[k], `${op.schema.args[k]!.name} of ${op.displayName}`),
  );
  return changed[0] ?? { text: `another tensor was passed to ${op.displayName}` };
}

/** What a run-time scalar is, where results of operators depend on it: a whole number counts as an integer. */
const KINDS: Readonly<Record<ScalarPattern['kind'], string>> = {
  float: 'a number',
  fraction: 'a number that is not whole',
  int: 'a whole number',
  bool: 'a boolean or number',
};

/** False for a number, or a list of numbers, that differs for sure; symbols are not evaluated. */
function sameNumber(pattern: Pattern, arg: unknown): boolean {
  if (pattern.code === 2) return sameConstant(pattern.value, arg);
  if (pattern.code === 3 && Array.isArray(arg))
    return pattern.items.every((item, i) => item.code !== 2 || sameConstant(item.value, arg[i]));
  return true;
}

/** What is not as before about tensors from outside: an argument, or those of a list. */
function changedTensors(pattern: Pattern, arg: unknown, name: string): Difference[] {
  if (pattern.code === 3)
    return pattern.items.flatMap((item, i) =>
      changedTensors(item, (arg as readonly unknown[] | null)?.[i], `${name}[${i}]`),
    );
  if (pattern.code !== 1 || !isTensor(arg)) return [];
  const text = pattern.guard.explain(arg, name);
  return text === null ? [] : [{ text, about: [arg], isExact: true }];
}

/** Tensors are not looked at: that would compute them. */
function printArgument(arg: unknown): string {
  if (Array.isArray(arg)) return arg.map(printArgument).join();
  return isTensor(arg) ? 'Tensor' : String(arg);
}

function printPattern(pattern: Pattern): string {
  if (pattern.code === 2) return String(pattern.value);
  if (pattern.code === 3) return pattern.items.map(printPattern).join();
  return pattern.code === 5 ? printInt(pattern) : '…';
}
