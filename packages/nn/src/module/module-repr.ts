/**
 * @file A module as text, as PyTorch prints it.
 */
import type { Module } from './module.js';
import { ownChildren } from './module-tree.js';

/** A literal as Python writes it: `True`, `None`, `'same'`, `(3, 3)`. */
export function pythonLiteral(value: unknown): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'string') return `'${value}'`;
  if (Array.isArray(value))
    return `(${value.map(pythonLiteral).join(', ')}${value.length === 1 ? ',' : ''})`;
  return numberLiteral(value as number);
}

/** A float as Python writes it, with its point: `1.0`. */
export function floatLiteral(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : pythonLiteral(value);
}

/** Small numbers as Python prints them: `1e-05`. */
function numberLiteral(value: number): string {
  const text = value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
  return text.replace(/e([+-]?)(\d)$/, (_, sign: string, digit: string) => `e${sign}0${digit}`);
}

/** Equal neighbours of a list as one line: `(0-3): 4 x Linear(…)`. */
function folded(children: readonly [string, string][]): string[] {
  const lines: string[] = [];
  for (let i = 0; i < children.length;) {
    let end = i + 1;
    while (end < children.length && children[end]![1] === children[i]![1]) end++;
    const [first, text] = children[i]!;
    lines.push(
      end - i === 1
        ? `(${first}): ${text}`
        : `(${first}-${children[end - 1]![0]}): ${end - i} x ${text}`,
    );
    i = end;
  }
  return lines;
}

/** `Linear(in_features=4, out_features=2, bias=True)`, and children indented below their parent. */
export function moduleText(module: Module, foldEqual: boolean): string {
  const name = module.constructor.name;
  const extra = module.extraRepr();
  const children = [...ownChildren(module)].map(([key, child]): [string, string] => [
    key,
    child.toString(),
  ]);
  if (children.length === 0)
    return extra.includes('\n') ? `${name}(\n${indent(extra)}\n)` : `${name}(${extra})`;
  const lines = foldEqual ? folded(children) : children.map(([key, text]) => `(${key}): ${text}`);
  return `${name}(\n${indent([...(extra === '' ? [] : [extra]), ...lines].join('\n'))}\n)`;
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}
