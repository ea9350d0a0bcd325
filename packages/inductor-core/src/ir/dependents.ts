/**
 * @file Which expressions differ from value to value of loop variables.
 */
import type { Expr } from './expr.js';
import { indexOf, indexSymbols, operands, postorder } from './walk.js';

/** Whether an expression's own index names one of the variables; operands are not searched. */
function namesAny(expr: Expr, variables: ReadonlySet<string>): boolean {
  const index = indexOf(expr);
  if (index === null) return false;
  for (const name of indexSymbols(index)) if (variables.has(name)) return true;
  return false;
}

/** The expressions below roots that vary with the variables, roots included. */
export function dependents(
  roots: readonly Expr[],
  variables: ReadonlySet<string>,
): ReadonlySet<Expr> {
  const found = new Set<Expr>();
  for (const expr of postorder(roots))
    if (namesAny(expr, variables) || operands(expr).some((each) => found.has(each)))
      found.add(expr);
  return found;
}
