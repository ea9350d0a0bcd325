/**
 * @file Overloads that only names reach.
 */
import type { OpOverload } from './op-overload.js';

/**
 * An operator with overloads that graphs name and no function calls. A bundler keeps them as long as the operator, of
 * which they are part: a statement of their own would keep both in every page.
 */
export function withOverloads<Result>(
  op: OpOverload<Result>,
  ..._others: readonly OpOverload[]
): OpOverload<Result> {
  return op;
}
