/**
 * @file Symbolic sizes as JavaScript source text.
 */
import type { Size } from './size.js';
import type { SymInt } from './sym-int.js';

/** How tightly the outermost operator of a text binds: 0 sum or remainder, 1 product, 2 atom. */
const Binding = { Sum: 0, Product: 1, Atom: 2 } as const;

interface Text {
  readonly text: string;
  readonly binding: number;
}

/** The size as a JavaScript expression. */
export function printSize(size: Size): string {
  if (typeof size === 'number') return String(size);
  const texts = new Map<SymInt, Text>();
  const pending: SymInt[] = [size];
  const look = (operand: Size): Text =>
    typeof operand === 'number' ? numberText(operand) : texts.get(operand)!;
  while (pending.length > 0) {
    const node = pending[pending.length - 1];
    if (texts.has(node)) {
      pending.pop();
      continue;
    }
    const missing = node.args.filter(
      (arg): arg is SymInt => typeof arg !== 'number' && !texts.has(arg),
    );
    if (missing.length > 0) pending.push(...missing);
    else texts.set(node, nodeText(node, look));
  }
  return texts.get(size)!.text;
}

function numberText(value: number): Text {
  return { text: String(value), binding: value < 0 ? Binding.Sum : Binding.Atom };
}

function nodeText(node: SymInt, look: (operand: Size) => Text): Text {
  const operands = node.args.map(look);
  switch (node.kind) {
    case 'symbol':
      return { text: node.name, binding: Binding.Atom };
    case 'sum':
      return sumText(node.args, node.coeffs, node.constant, look);
    case 'product':
      return {
        text: operands.map((part) => wrap(part, Binding.Product)).join(' * '),
        binding: Binding.Product,
      };
    case 'floordiv':
      return {
        text: `Math.floor(${wrap(operands[0], Binding.Product)} / ${wrap(operands[1], Binding.Atom)})`,
        binding: Binding.Atom,
      };
    case 'mod':
      return modText(node, operands[0], operands[1]);
    case 'min':
    case 'max':
      return {
        text: `Math.${node.kind}(${operands.map((part) => part.text).join(', ')})`,
        binding: Binding.Atom,
      };
  }
}

/** JavaScript's `%` has the sign of its left operand, so an unknown sign needs a second step. */
function modText(node: SymInt, numerator: Text, divisor: Text): Text {
  const [n, d] = node.args;
  const right = wrap(divisor, Binding.Atom);
  const plain = `${wrap(numerator, Binding.Atom)} % ${right}`;
  const sameSign = node.env.rangeOf(n).lo >= 0 && node.env.rangeOf(d).lo >= 0;
  return { text: sameSign ? plain : `(${plain} + ${right}) % ${right}`, binding: Binding.Sum };
}

function sumText(
  monomials: readonly Size[],
  coeffs: readonly number[],
  constant: number,
  look: (operand: Size) => Text,
): Text {
  let text = '';
  const append = (part: string, negative: boolean): void => {
    if (text === '') text = negative ? `-${part}` : part;
    else text += negative ? ` - ${part}` : ` + ${part}`;
  };
  for (let i = 0; i < monomials.length; i++) {
    const magnitude = Math.abs(coeffs[i]);
    const monomial = wrap(look(monomials[i]), Binding.Product);
    append(magnitude === 1 ? monomial : `${magnitude} * ${monomial}`, coeffs[i] < 0);
  }
  if (constant !== 0 || text === '') append(String(Math.abs(constant)), constant < 0);
  const single = monomials.length === 1 && constant === 0 && coeffs[0] > 0;
  return { text, binding: single ? Binding.Product : Binding.Sum };
}

function wrap(part: Text, needed: number): string {
  return part.binding >= needed ? part.text : `(${part.text})`;
}
