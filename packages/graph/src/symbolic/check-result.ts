/**
 * @file Checking that values of a running graph have the sizes that it says they have.
 *
 * The expressions of a symbolic graph were found by trying sizes. Operators compute real shapes by their
 * own rules, so a difference shows here, at the first node where the graph is not what the program was.
 */
import { type Size, type SizeFunction, TesseraError } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import type { Node } from '../ir/node.js';
import type { SymbolicShape } from './symbolic-shape.js';

/** What reads expressions: the symbols of a graph. */
interface SizeReader {
  compile(size: Size): SizeFunction;
}

/** Checks one value. @throws symbolic-guard */
export type ResultCheck = (value: unknown, symbols: readonly number[]) => void;

/** The check of a node's value; null where its sizes are no expressions. */
export function resultCheck(node: Node, symbols: SizeReader): ResultCheck | null {
  const { symbolicVal } = node.meta;
  if (symbolicVal === undefined || node.op === 'placeholder') return null;
  if ('sizes' in symbolicVal) return shapeCheck(node, symbolicVal, symbols);
  const checks = symbolicVal.map((shape) =>
    shape === null ? null : shapeCheck(node, shape, symbols),
  );
  return (value, values) => {
    if (Array.isArray(value)) checks.forEach((check, i) => check?.(value[i], values));
  };
}

function shapeCheck(node: Node, shape: SymbolicShape, symbols: SizeReader): ResultCheck {
  const sizes: SizeFunction[] = shape.sizes.map((size) => symbols.compile(size));
  return (value, values) => {
    if (!isTensor(value)) return;
    const expected = sizes.map((size) => size(values));
    if (value.ndim === expected.length && expected.every((size, i) => size === value.sizes[i]))
      return;
    throw new TesseraError(
      'symbolic-guard',
      `The graph does not hold for these sizes: '${node.name}' has the shape ${formatSizes(value.sizes)}, and [${shape.sizes.join(', ')}] would be ${formatSizes(expected)}.`,
      {
        context: { node: node.name, symbols: values },
        hints: ['Trace the function again with arguments like these.'],
      },
    );
  };
}
