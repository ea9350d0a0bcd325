/**
 * @file Hash-consing of symbolic expressions: one node per structure.
 */
import { hintOf } from './rewrite.js';
import type { Size } from './size.js';
import { SymInt } from './sym-int.js';
import type { SymIntKind, SymIntOwner } from './sym-int.js';

/** The nodes of one environment. */
export class ExprPool {
  readonly #owner: SymIntOwner;
  readonly #nodes = new Map<string, SymInt>();
  #nextId = 0;

  constructor(owner: SymIntOwner) {
    this.#owner = owner;
  }

  /** A new symbol; names are unique because the environment counts them. */
  symbol(name: string, hint: number): SymInt {
    return this.#create('symbol', name, [], [], 0, hint);
  }

  /** The node with these parts, created on first use. */
  intern(
    kind: SymIntKind,
    args: readonly Size[],
    coeffs: readonly number[] = [],
    constant = 0,
  ): SymInt {
    const key = keyOf(kind, args, coeffs, constant);
    let node = this.#nodes.get(key);
    if (node === undefined) {
      const hint = hintOf({ kind, args, coeffs, constant });
      node = this.#create(kind, '', args, coeffs, constant, hint);
      this.#nodes.set(key, node);
    }
    return node;
  }

  /** The node with these parts, if there is one. */
  find(
    kind: SymIntKind,
    args: readonly Size[],
    coeffs: readonly number[] = [],
    constant = 0,
  ): SymInt | undefined {
    return this.#nodes.get(keyOf(kind, args, coeffs, constant));
  }

  #create(
    kind: SymIntKind,
    name: string,
    args: readonly Size[],
    coeffs: readonly number[],
    constant: number,
    hint: number,
  ): SymInt {
    return new SymInt({
      id: this.#nextId++,
      kind,
      env: this.#owner,
      name,
      args,
      coeffs,
      constant,
      hint,
    });
  }
}

/** Nodes stand as `#id`, numbers as themselves, so the key identifies the structure exactly. */
function keyOf(
  kind: SymIntKind,
  args: readonly Size[],
  coeffs: readonly number[],
  constant: number,
): string {
  const operands = args.map((arg) => (typeof arg === 'number' ? arg : `#${arg.id}`));
  return `${kind}(${operands.join()})${coeffs.join()}+${constant}`;
}
