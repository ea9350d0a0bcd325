/**
 * @file Whether the operations of a scalar program are all among WebAssembly's vector instructions.
 *
 * Not among them are branches by the value of one element, tables, division of integers, and shifts by counts that
 * differ between elements. Functions that the program calls do not count: each is called as it can be.
 */
import type { ScalarExpr, ScalarProgram, ScalarStatement } from '@tessera/inductor-core';

function fitsExpr(expr: ScalarExpr): boolean {
  switch (expr.kind) {
    case 'number':
    case 'name':
      return true;
    case 'item':
    case 'part':
      return false;
    case 'unary':
    case 'convert':
    case 'bitcast':
      return fitsExpr(expr.arg) && !(expr.kind === 'convert' && expr.type === 'i64');
    case 'binary': {
      const divides = expr.op === '/' || expr.op === '%';
      const shifts = expr.op === '<<' || expr.op === '>>';
      if (divides && expr.type !== 'f32' && expr.type !== 'f64') return false;
      return fitsExpr(expr.left) && (shifts ? expr.right.kind === 'number' : fitsExpr(expr.right));
    }
    case 'builtin':
      if (expr.name === 'countLeadingZeros' || expr.name === 'pair') return false;
      return expr.args.every(fitsExpr);
    case 'call':
      return expr.args.every(fitsExpr);
  }
}

function fitsStatement(statement: ScalarStatement, isLast: boolean): boolean {
  switch (statement.kind) {
    case 'let':
    case 'var':
    case 'set':
      return fitsExpr(statement.value);
    case 'return':
      return isLast && fitsExpr(statement.value);
    case 'if': {
      const { condition, then, otherwise } = statement;
      const isAny = condition.kind === 'builtin' && condition.name === 'any';
      return isAny && otherwise.length === 0 && then.every((inner) => fitsStatement(inner, false));
    }
    default:
      return false;
  }
}

const known = new WeakMap<ScalarProgram, boolean>();

/** See the file header. */
export function fitsVectors(program: ScalarProgram): boolean {
  let fits = known.get(program);
  if (fits === undefined) {
    const { body } = program;
    fits = body.every((statement, i) => fitsStatement(statement, i === body.length - 1));
    known.set(program, fits);
  }
  return fits;
}
