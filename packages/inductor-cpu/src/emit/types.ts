/**
 * @file Types of the emitter: value types, code trees, statements and the things code refers to.
 *
 * A function body is a tree of statements over expression trees (`Code`). Nothing is encoded until a
 * module is assembled, so functions, globals and imports are referred to as objects and get their
 * indices then; one function can be linked into any number of modules. The binary encoder and the
 * text printer walk the same trees.
 */

/** WebAssembly value types. */
export type ValType = 'i32' | 'i64' | 'f32' | 'f64' | 'v128';

/** What an expression leaves on the stack: one value or nothing. */
export type ResultType = ValType | 'void';

/**
 * An expression tree of result type `T`. A tree may be used once, because it stands for a computation;
 * a {@link Local} or {@link Global} may be used any number of times.
 */
export interface Code<T extends ResultType = ResultType> {
  readonly type: T;
  readonly node: CodeNode;
  /** Whether the tree has a parent already; kept by `consume`. */
  used: boolean;
}

/** The instruction at the root of a `Code` tree with its operands. */
export type CodeNode =
  | {
      readonly kind: 'op';
      readonly name: string;
      readonly opcode: number;
      readonly args: readonly Code[];
    }
  | { readonly kind: 'i32' | 'f32' | 'f64'; readonly value: number }
  | { readonly kind: 'i64'; readonly value: bigint }
  | { readonly kind: 'v128'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'memory';
      readonly name: string;
      readonly opcode: number;
      readonly offset: number;
      readonly lane: number | undefined;
      readonly args: readonly Code[];
    }
  | {
      readonly kind: 'lane';
      readonly name: string;
      readonly opcode: number;
      readonly lane: number;
      readonly args: readonly Code[];
    }
  | { readonly kind: 'shuffle'; readonly lanes: readonly number[]; readonly args: readonly Code[] }
  | { readonly kind: 'select'; readonly args: readonly Code[] }
  | { readonly kind: 'local'; readonly local: Local }
  | { readonly kind: 'tee'; readonly local: Local; readonly args: readonly Code[] }
  | { readonly kind: 'global'; readonly global: Global }
  | { readonly kind: 'call'; readonly callee: Callee; readonly args: readonly Code[] };

/** A local variable or parameter of one function; itself an expression that reads it. */
export interface Local<T extends ValType = ValType> extends Code<T> {
  readonly name: string;
}

/** A module variable; itself an expression that reads it. Every instance (thread) has its own. */
export interface Global<T extends ValType = ValType> extends Code<T> {
  readonly name: string;
  readonly mutable: boolean;
  readonly init: Code<T>;
}

/** A function provided by the host at instantiation. */
export interface ImportedFunction {
  readonly kind: 'import';
  readonly module: string;
  readonly name: string;
  readonly params: readonly ValType[];
  readonly result: ResultType;
}

/** A function with a body; built by `WasmFunction`. */
export interface DefinedFunction {
  readonly kind: 'defined';
  readonly name: string;
  readonly params: readonly Local[];
  readonly result: ResultType;
  readonly locals: readonly Local[];
  readonly body: readonly Statement[];
}

/** Locals in the order that the binary format stores them: by type. */
export function localsByType(
  fn: DefinedFunction,
): readonly (readonly [ValType, readonly Local[]])[] {
  const types = ['i32', 'i64', 'f32', 'f64', 'v128'] as const;
  return types
    .map((type) => [type, fn.locals.filter((local) => local.type === type)] as const)
    .filter(([, locals]) => locals.length > 0);
}

/** Anything that can be called. */
export type Callee = ImportedFunction | DefinedFunction;

/** Target of a branch: the end of a block, or the start of a loop. */
export interface Label {
  readonly name: string;
}

/** A statement of a function body. */
export type Statement =
  /** Evaluates `code` for its effect; a value is dropped. */
  | { readonly kind: 'do'; readonly code: Code }
  | { readonly kind: 'set'; readonly local: Local; readonly code: Code }
  | { readonly kind: 'set-global'; readonly global: Global; readonly code: Code }
  | { readonly kind: 'block' | 'loop'; readonly label: Label; readonly body: readonly Statement[] }
  | {
      readonly kind: 'if';
      readonly cond: Code;
      readonly then: readonly Statement[];
      readonly otherwise: readonly Statement[];
    }
  | { readonly kind: 'br'; readonly label: Label; readonly cond: Code | undefined }
  | { readonly kind: 'return'; readonly code: Code | undefined }
  /** A place in the code that can be filled later; see `WasmFunction.section`. */
  | { readonly kind: 'section'; readonly body: readonly Statement[] }
  | { readonly kind: 'comment'; readonly text: string };
