/**
 * @file The patterns: `CallFunction`, `Arg`, `KeywordArg`, `Ignored`, `ListOf`, `MultiOutput`.
 *
 * A pattern is a tree (or, where one object is used twice, a DAG) of calls whose leaves are constants
 * and holes. Calls inside a pattern have exactly as many users as the pattern says (1 unless it says
 * otherwise), so that replacing the outermost call leaves no other reader behind; the outermost one may
 * have any. Modelled on torch._inductor.pattern_matcher.
 */
import { type Argument, type HostFunction, Node, type Target, graphError } from '@tessera/graph';
import type { OpOverload } from '@tessera/tensor';
import { getOp } from '@tessera/tensor/internal';
import { sameArgument } from '../structural-key.js';
import { MatchState } from './match-state.js';

/** What stands as an argument in a pattern: a pattern, or a constant that must be equal. */
export type PatternArgument = Pattern | Argument | readonly PatternArgument[];

/** What a pattern calls: an operator (or its name), a function, or any of several. */
export type PatternTarget = string | OpOverload | HostFunction;

/** How many users a call inside a pattern has. */
export type UserCount = number | 'any';

/** Part of a graph to look for. */
export abstract class Pattern {
  /** Adds to `state` what it found; false if `value` does not fit (then `state` is not to be used). */
  abstract match(value: Argument, state: MatchState): boolean;

  /** Calls with which a search may begin: those that the outermost pattern makes. */
  get targets(): readonly Target[] {
    return [];
  }

  /** Nodes at which this pattern may stand, given what is matched; for all but the first output. */
  anchors(_state: MatchState): readonly Node[] {
    return [];
  }
}

class ArgPattern extends Pattern {
  override match(value: Argument, state: MatchState): boolean {
    state.args.push(value);
    return true;
  }
}

class KeywordPattern extends Pattern {
  constructor(readonly name: string) {
    super();
  }

  override match(value: Argument, state: MatchState): boolean {
    if (state.kwargs.has(this.name)) return sameArgument(state.kwargs.get(this.name), value);
    state.kwargs.set(this.name, value);
    return true;
  }

  override anchors(state: MatchState): readonly Node[] {
    const value = state.kwargs.get(this.name);
    return value instanceof Node ? [value] : [];
  }
}

class IgnoredPattern extends Pattern {
  override match(): boolean {
    return true;
  }
}

/** A call; see `CallFunction`. */
export class CallPattern extends Pattern {
  constructor(
    private readonly callees: readonly Target[],
    readonly args: readonly PatternArgument[],
    readonly users: UserCount,
  ) {
    super();
  }

  override get targets(): readonly Target[] {
    return this.callees;
  }

  override match(value: Argument, state: MatchState): boolean {
    if (!(value instanceof Node)) return false;
    const known = state.bound.get(this);
    if (known !== undefined) return known === value;
    if (value.op !== 'call_function' || !this.targets.includes(value.target)) return false;
    if (!state.outputs.has(this) && this.users !== 'any' && value.users.size !== this.users)
      return false;
    const given = value.args;
    if (this.args.length > given.length) return false;
    for (let i = 0; i < this.args.length; i++)
      if (!matchArgument(this.args[i], given[i], state)) return false;
    for (let i = this.args.length; i < given.length; i++) if (!isDefault(value, i)) return false;
    state.bound.set(this, value);
    state.nodes.push(value);
    return true;
  }

  override anchors(state: MatchState): readonly Node[] {
    const known = state.bound.get(this);
    if (known !== undefined) return [known];
    const found = new Set<Node>();
    for (const arg of patternsIn(this.args))
      for (const input of arg.anchors(state))
        for (const user of input.users.keys())
          if (this.targets.includes(user.target)) found.add(user);
    return [...found];
  }
}

class ListPattern extends Pattern {
  constructor(
    private readonly item: Pattern,
    private readonly partial: boolean,
  ) {
    super();
  }

  override match(value: Argument, state: MatchState): boolean {
    if (!Array.isArray(value) || value.length === 0) return false;
    let matched = false;
    const outerArgs = state.args;
    const outerBound = state.bound;
    const bundles: Argument[] = [];
    for (const item of value) {
      const saved = state.save();
      state.args = [];
      // Every item is matched afresh by the same pattern objects.
      state.bound = new Map(outerBound);
      if (this.item.match(item, state)) {
        matched = true;
        if (state.args.length > 0) bundles.push(state.args);
      } else if (this.partial) state.restore(saved);
      else return false;
    }
    state.args = [...outerArgs, ...bundles];
    state.bound = outerBound;
    return matched;
  }
}

/** Several outputs of one match; see `MultiOutput`. */
export class MultiOutputPattern extends Pattern {
  constructor(readonly outputs: readonly (Pattern | null)[]) {
    super();
  }

  override get targets(): readonly Target[] {
    return this.outputs[0]!.targets;
  }

  override match(value: Argument, state: MatchState): boolean {
    return this.outputs[0]!.match(value, state) && this.matchRest(1, state);
  }

  private matchRest(from: number, state: MatchState): boolean {
    if (from === this.outputs.length) return true;
    const pattern = this.outputs[from];
    if (pattern === null) return this.matchRest(from + 1, state);
    const saved = state.save();
    for (const candidate of pattern.anchors(state)) {
      if ([...state.bound.values()].includes(candidate) && !state.bound.has(pattern)) continue;
      if (pattern.match(candidate, state) && this.matchRest(from + 1, state)) return true;
      state.restore(saved);
    }
    return false;
  }
}

/** A hole: any value, handed to the handler in order. */
export function Arg(): Pattern {
  return new ArgPattern();
}

/** A named hole: any value; the same one everywhere the name occurs. */
export function KeywordArg(name: string): Pattern {
  return new KeywordPattern(name);
}

/** A hole whose value does not matter. */
export function Ignored(): Pattern {
  return new IgnoredPattern();
}

/** A list whose items all fit `item` (with `partial`, at least one). Their `Arg()`s come as lists. */
export function ListOf(item: Pattern, options: { readonly partial?: boolean } = {}): Pattern {
  return new ListPattern(item, options.partial ?? false);
}

/**
 * A call. Arguments that are left out have their defaults. A last argument `{ users }` says how many
 * users the call has where it is not the outermost one (default 1).
 *
 * @throws op-unknown
 * @example CallFunction('aten::relu', CallFunction('aten::mm', Arg(), Arg()))
 */
export function CallFunction(
  target: PatternTarget | readonly PatternTarget[],
  ...args: readonly (PatternArgument | { readonly users: UserCount })[]
): CallPattern {
  const last = args.at(-1);
  const options = isOptions(last) ? last : null;
  const targets = Array.isArray(target) ? target : [target];
  return new CallPattern(
    targets.map((item) => (typeof item === 'string' ? getOp(item) : item)),
    options === null ? args : args.slice(0, -1),
    options?.users ?? 1,
  );
}

/**
 * Several outputs that are found together; the search begins at the first one, and the others hang
 * together with it through a shared call or `KeywordArg`. Null stands for an output that is not there.
 *
 * @throws graph-lint if the first output is no call
 */
export function MultiOutput(outputs: readonly (Pattern | null)[]): Pattern {
  if (!(outputs[0] instanceof CallPattern)) {
    throw graphError(
      'The first output of a MultiOutput pattern must be a CallFunction.',
      'Put the output first at which the search begins.',
    );
  }
  return new MultiOutputPattern(outputs);
}

/** Matches a pattern at a node; null if it does not fit. */
export function matchAt(pattern: Pattern, node: Node): MatchState | null {
  const outputs = pattern instanceof MultiOutputPattern ? pattern.outputs : [pattern];
  const state = new MatchState(new Set(outputs.filter((output) => output !== null)));
  return pattern.match(node, state) ? state : null;
}

function matchArgument(pattern: PatternArgument, value: Argument, state: MatchState): boolean {
  if (pattern instanceof Pattern) return pattern.match(value, state);
  if (Array.isArray(pattern)) {
    return (
      Array.isArray(value) &&
      value.length === pattern.length &&
      pattern.every((item, i) => matchArgument(item, value[i], state))
    );
  }
  // Absent is absent, however it is written.
  return sameArgument(pattern ?? null, value ?? null);
}

function isDefault(node: Node, index: number): boolean {
  if (typeof node.target !== 'object') return false;
  const formal = node.target.schema.args[index];
  return formal !== undefined && sameArgument(node.args[index] ?? null, formal.default ?? null);
}

function patternsIn(args: readonly PatternArgument[]): Pattern[] {
  return args.flatMap((arg) => {
    if (arg instanceof Pattern) return [arg];
    return Array.isArray(arg) ? patternsIn(arg) : [];
  });
}

function isOptions(value: unknown): value is { readonly users: UserCount } {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Pattern) &&
    !(value instanceof Node) &&
    'users' in value
  );
}
