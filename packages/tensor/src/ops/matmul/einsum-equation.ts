/**
 * @file Reading einsum equations: `'bij,bjk->bik'`, with `...` for any dimensions.
 */
import { TesseraError } from '@tessera/shared';

/** Stands for the dimensions that an ellipsis covers. */
export const ELLIPSIS = '...';

/** Labels of each operand's dimensions and of the result's. */
export interface EinsumEquation {
  readonly operands: readonly (readonly string[])[];
  readonly result: readonly string[];
}

/** @throws invalid-argument always */
export function refuseEquation(message: string): never {
  throw new TesseraError('invalid-argument', `einsum(): ${message}`, {
    hints: ["Write one group of letters per operand: einsum('ij,jk->ik', a, b)."],
  });
}

function labelsOf(text: string, what: string): string[] {
  const labels: string[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === ' ') continue;
    if (c === '.') {
      if (text.slice(i, i + 3) !== ELLIPSIS || labels.includes(ELLIPSIS))
        refuseEquation(`found '.' ${what} that is not part of any ellipsis, or a second ellipsis`);
      labels.push(ELLIPSIS);
      i += 2;
    } else if (/[A-Za-z]/.test(c)) labels.push(c);
    else
      refuseEquation(`invalid subscript given ${what}, subscripts must be in [a-zA-Z]; got '${c}'`);
  }
  return labels;
}

/** Without `->`, the result has the labels that occur once, in order (capitals first), after any ellipsis. */
function implied(operands: readonly (readonly string[])[]): string[] {
  const all = operands.flat();
  const once = [...new Set(all)]
    .filter((label) => label !== ELLIPSIS && all.filter((other) => other === label).length === 1)
    .sort();
  return all.includes(ELLIPSIS) ? [ELLIPSIS, ...once] : once;
}

/** @throws invalid-argument */
export function parseEinsum(equation: string): EinsumEquation {
  const arrow = equation.indexOf('->');
  const left = arrow < 0 ? equation : equation.slice(0, arrow);
  const operands = left.split(',').map((text, i) => labelsOf(text, `for operand ${i}`));
  if (arrow < 0) return { operands, result: implied(operands) };
  const result = labelsOf(equation.slice(arrow + 2), 'for the output');
  const inputs = new Set(operands.flat());
  result.forEach((label, i) => {
    if (result.indexOf(label) !== i)
      refuseEquation(`output subscript ${label} appears more than once in the output`);
    if (label !== ELLIPSIS && !inputs.has(label))
      refuseEquation(
        `output subscript ${label} does not appear in the equation for any input operand`,
      );
  });
  return { operands, result };
}
