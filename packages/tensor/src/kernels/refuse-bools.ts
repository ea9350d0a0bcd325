/**
 * @file What subtracts takes no truth values.
 */
import { TesseraError } from '@tessera/shared';
import { isTensor } from '../tensor-factory.js';

/** @throws dtype-unsupported if an operand is a bool */
export function refuseBools(...operands: readonly unknown[]): void {
  const isBool = (operand: unknown): boolean =>
    typeof operand === 'boolean' || (isTensor(operand) && operand.dtype === 'bool');
  if (!operands.some(isBool)) return;
  const [what, instead] = operands.every(isBool)
    ? ['two bool tensors', 'Use the `^` or `logical_xor()`']
    : ['a bool tensor', 'If you are trying to invert a mask, use the `~` or `logical_not()`'];
  throw new TesseraError(
    'dtype-unsupported',
    `Subtraction, the \`-\` operator, with ${what} is not supported. ${instead} operator instead.`,
    { hints: ['logicalXor(), logicalNot()'] },
  );
}
