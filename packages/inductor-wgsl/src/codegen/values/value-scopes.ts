/** @file Blocks of code inside one another, with what is known in each: values of expressions, texts of variables. */
import type { Expr } from '@tessera/inductor-core';
import type { CodeBlock } from '../code-block.js';
import type { SymbolText } from './index-emitter.js';
import type { Value } from './value.js';

/** A block and what is known in it. */
export interface Scope {
  readonly block: CodeBlock;
  readonly values: Map<Expr, Value>;
  readonly symbols: ReadonlyMap<string, SymbolText>;
  /** What is emitted here is for this scope alone, and stays in it. */
  readonly isConfined: boolean;
}

/** See the file header. */
export class ValueScopes {
  private readonly stack: Scope[] = [];
  private readonly kept = new Map<object, Map<Expr, Value>>();

  get outermost(): Scope {
    return this.stack[0];
  }

  get innermost(): Scope {
    return this.stack[this.stack.length - 1];
  }

  /** Scopes opened with the same `key` share what they computed. */
  open(
    block: CodeBlock,
    symbols: ReadonlyMap<string, SymbolText>,
    isConfined: boolean,
    key?: object,
  ): void {
    let values = key === undefined ? undefined : this.kept.get(key);
    if (values === undefined) {
      values = new Map();
      if (key !== undefined) this.kept.set(key, values);
    }
    this.stack.push({ block, symbols, values, isConfined });
  }

  close(): void {
    this.stack.pop();
  }

  /** The value of an expression, where it is known. */
  find(expr: Expr): Value | undefined {
    for (let i = this.stack.length - 1; i >= 0; i--) {
      const value = this.stack[i].values.get(expr);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** The text of a loop variable, where it is known. */
  symbol(name: string): SymbolText | undefined {
    for (let i = this.stack.length - 1; i >= 0; i--) {
      const symbol = this.stack[i].symbols.get(name);
      if (symbol !== undefined) return symbol;
    }
    return undefined;
  }

  /** Runs `emit` with statements going to a scope's block. */
  within<T>(scope: Scope, emit: () => T): T {
    const hidden = this.stack.splice(this.stack.indexOf(scope) + 1);
    try {
      return emit();
    } finally {
      this.stack.push(...hidden);
    }
  }
}
