/**
 * @file Running a program's statements: each calls an ordinary method of a tensor.
 *
 * The interpreter is what gets compiled. It keeps its names in scopes, as the printed function would. Statements
 * are generators that yield where an async function waits.
 */
import { disable, graphBreak } from '@tessera/compile';
import { TesseraError } from '@tessera/shared';
import * as functions from '@tessera/tensor';
import * as internal from '@tessera/tensor/internal';
import {
  Function,
  type FunctionContext,
  type Tensor,
  enableGrad,
  grad,
  isFloatingPoint,
  isTensor,
  noGrad,
} from '@tessera/tensor';
import { INDICES, SINK, indexed } from './indices.js';
import { callLibrary } from './library.js';
import { type CallKind, halved, parts } from './language.js';
import { isNumberName } from './print-body.js';
import type { Arg, Stmt } from './program.js';
import type { Captured, Store, World } from './world.js';

/** What a statement without a receiver may call. */
const FUNCTIONS = { ...functions, ...internal };

/** Thrown by `throw` statements. */
export class Stop extends Error {}

type Value = Tensor | number;

/** Names of one block. */
class Scope {
  private readonly values = new Map<string, Value>();

  constructor(private readonly parent: Scope | null) {}

  find(name: string): Value | undefined {
    return this.values.get(name) ?? this.parent?.find(name);
  }

  declare(name: string, value: Value): void {
    this.values.set(name, value);
  }

  assign(name: string, value: Value): void {
    if (this.values.has(name) || this.parent === null) this.values.set(name, value);
    else this.parent.assign(name, value);
  }

  *names(): Generator<[string, Value]> {
    if (this.parent !== null) yield* this.parent.names();
    yield* this.values;
  }
}

type Functions = Record<string, (...args: readonly unknown[]) => unknown>;

const doubled = disable((t: Tensor): Tensor => t.mul(2));

const curvature = disable((t: Tensor): Tensor => {
  const leaf = t.detach().requiresGrad_();
  const [slope] = grad(leaf.tanh().mul(leaf).sum(), [leaf], { createGraph: true });
  return grad(slope!.mul(slope!).sum(), [leaf])[0]!;
});

/** A sine whose gradient is doubled, so that it can be told from an ordinary one. */
class Wave extends Function {
  static forward(ctx: FunctionContext, t: Tensor): Tensor {
    ctx.saveForBackward(t);
    return t.sin();
  }

  static backward(ctx: FunctionContext, slope: Tensor): Tensor {
    return slope.mul(ctx.savedTensors[0]!.cos()).mul(2);
  }
}

/** A gradient; how one that no leaf accumulates is laid out is not promised. */
function gradient(of: Tensor, by: Tensor): Tensor {
  const sum = of.sum();
  if (!sum.requiresGrad || !by.requiresGrad) return by;
  return grad(sum, [by], { retainGraph: true, materializeGrads: true })[0]!.contiguous().clone();
}

function unknownName(name: string): never {
  throw new TesseraError('invalid-argument', `The program has no value named ${name}.`, {
    hints: ['Statements may only read what statements before them made.'],
  });
}

/** A computation that waits now and then: for what it yields, which is given back to it. */
export type Steps<T> = Generator<unknown, T, unknown>;

/** Runs to the end without waiting; for a number that is not there yet it goes on with 1. */
export function drain<T>(steps: Steps<T>): T {
  let given: unknown;
  for (;;) {
    const { done, value } = steps.next(given);
    if (done === true) return value;
    // Nobody waits for it, so nobody hears what it reports.
    if (typeof value !== 'number') Promise.resolve(value).catch(() => undefined);
    given = typeof value === 'number' ? value : 1;
  }
}

/** Executes statements; the generator uses it a statement at a time. */
export class Interpreter {
  scope: Scope = new Scope(null);

  constructor(
    private readonly world: World,
    private readonly store: Store,
  ) {}

  private get captured(): Captured {
    return this.world.captured;
  }

  tensor(name: string): Tensor {
    const value = name.startsWith('captured.')
      ? this.captured.tensors[name.slice('captured.'.length)]
      : this.scope.find(name);
    return isTensor(value) ? (value as Tensor) : unknownName(name);
  }

  number(name: string): number {
    if (name === 'captured.k') return this.captured.k;
    if (name === 'store.count') return this.store.count;
    if (name.startsWith('captured.ks')) {
      const value = this.captured.ks[Number(name.slice('captured.ks['.length, -1))];
      return value ?? unknownName(name);
    }
    const value = this.scope.find(name);
    return typeof value === 'number' ? value : unknownName(name);
  }

  /** Tensors that can be named now. */
  tensors(): [string, Tensor][] {
    const locals = [...this.scope.names()].filter((entry): entry is [string, Tensor] =>
      isTensor(entry[1]),
    );
    return [
      ...locals,
      ...Object.entries(this.captured.tensors).map(([name, t]): [string, Tensor] => [
        `captured.${name}`,
        t,
      ]),
    ];
  }

  /** Numbers that can be named now. */
  numbers(): string[] {
    const locals = [...this.scope.names()].filter(([, value]) => typeof value === 'number');
    return [...locals.map(([name]) => name), 'captured.k', 'captured.ks[0]', 'store.count'];
  }

  private arg(arg: Arg): unknown {
    if (arg === null || typeof arg !== 'object') return arg;
    if (Array.isArray(arg)) return (arg as readonly Arg[]).map((item) => this.arg(item));
    const named = arg as Exclude<Arg, null | number | string | boolean | readonly Arg[]>;
    if ('t' in named) return this.tensor(named.t);
    if ('n' in named) return this.number(named.n);
    if ('size' in named) return this.tensor(named.size).shape[named.dim] ?? unknownName(named.size);
    return Object.fromEntries(
      Object.entries(named.options).map(([key, value]) => [key, this.arg(value)]),
    );
  }

  private bind(name: string, value: Tensor, rebind = false): void {
    if (rebind) this.scope.assign(name, value);
    else this.scope.declare(name, value);
  }

  /** Calls a function in a scope of its own. */
  inScope<T>(fn: () => T): T {
    const outer = this.scope;
    this.scope = new Scope(outer);
    try {
      return fn();
    } finally {
      this.scope = outer;
    }
  }

  /** Runs statements in a scope of their own; what `return` gave, or null. */
  *block(stmts: readonly Stmt[]): Steps<Tensor[] | null> {
    const outer = this.scope;
    this.scope = new Scope(outer);
    try {
      for (const stmt of stmts) {
        const returned = yield* this.run(stmt);
        if (returned !== null) return returned;
      }
      return null;
    } finally {
      this.scope = outer;
    }
  }

  /** Runs one statement; what it returned from the function, or null. */
  *run(stmt: Stmt): Steps<Tensor[] | null> {
    switch (stmt.do) {
      case 'op': {
        const receiver: unknown = stmt.on === null ? FUNCTIONS : this.tensor(stmt.on);
        const fn = (receiver as Functions)[stmt.name];
        if (fn === undefined) return unknownName(stmt.name);
        const args = stmt.args.map((arg) => this.arg(arg));
        const all = stmt.on === null ? fn(...args) : (receiver as Functions)[stmt.name]!(...args);
        const result =
          stmt.pick === undefined ? all : (all as Record<number | string, unknown>)[stmt.pick];
        if (!isTensor(result)) return unknownName(`${stmt.name}[${stmt.pick}]`);
        this.bind(stmt.out, result as Tensor, stmt.rebind);
        return null;
      }
      case 'item': {
        const read: unknown = this.tensor(stmt.of).sum().item();
        this.scope.declare(stmt.out, (stmt.waits === true ? yield read : read) as number);
        return null;
      }
      case 'await':
        yield;
        return null;
      case 'if':
        return yield* this.block(this.sum(stmt.of) > stmt.above ? stmt.then : stmt.else);
      case 'for':
        return yield* this.loop(stmt);
      case 'noGrad':
        return noGrad(() => drain(this.block(stmt.body)));
      case 'enableGrad':
        return enableGrad(() => drain(this.block(stmt.body)));
      case 'backward': {
        const loss = this.tensor(stmt.of).sum();
        if (loss.requiresGrad) loss.backward(null, { retainGraph: stmt.retain });
        return null;
      }
      case 'grad':
        this.bind(stmt.out, gradient(this.tensor(stmt.of), this.tensor(stmt.by)));
        return null;
      case 'hook':
        this.hook(this.tensor(stmt.of), stmt.kind);
        return null;
      case 'custom': {
        const of = this.tensor(stmt.of);
        this.bind(stmt.out, isFloatingPoint(of.dtype) ? Wave.apply(of) : of.sin());
        return null;
      }
      case 'module':
        this.bind(stmt.out, (this.world.net ?? unknownName('net')).call(this.tensor(stmt.of)));
        return null;
      case 'step':
        this.world.optimizer?.step();
        return null;
      case 'clearGrad':
        this.tensor(stmt.of).grad = null;
        return null;
      case 'effect':
        this.effect(stmt);
        return null;
      case 'read': {
        const { list, map, last } = this.store;
        const found =
          stmt.from === 'last' ? last : stmt.from === 'list' ? list.at(-1) : map.get('key');
        this.scope.declare(stmt.out, found ?? this.tensor(stmt.otherwise));
        return null;
      }
      case 'capture':
        this.captured.tensors[stmt.name] = this.tensor(stmt.of);
        return null;
      case 'break':
        graphBreak();
        return null;
      case 'caught':
        return yield* this.caught(stmt.body);
      case 'call':
        this.bind(stmt.out, this.call(stmt.kind, this.tensor(stmt.of)));
        return null;
      case 'indexed': {
        const [index, sink] = [this.tensor(`captured.${INDICES}`), this.tensor(`captured.${SINK}`)];
        this.bind(stmt.out, indexed(stmt.kind, this.tensor(stmt.of), index, sink));
        return null;
      }
      case 'library': {
        const [x, y] = [this.tensor(stmt.of), this.tensor(stmt.by)];
        const made = callLibrary(stmt.text, x, y, this.captured.k, this.world.modules);
        if (!isTensor(made)) return unknownName(stmt.text);
        this.bind(stmt.out, made as Tensor);
        return null;
      }
      case 'toggle':
        this.world.net?.train(!this.world.net.training);
        return null;
      case 'disabled':
        this.bind(stmt.out, (stmt.kind === 'doubled' ? doubled : curvature)(this.tensor(stmt.of)));
        return null;
      case 'throw':
        if (this.captured.fail) throw new Stop('stop');
        return null;
      case 'return':
        return stmt.of.map((name) => this.tensor(name));
    }
  }

  /** A number, or the sum of a tensor, which is read. */
  private sum(name: string): number {
    return isNumberName(name) ? this.number(name) : this.tensor(name).sum().item();
  }

  private *loop(stmt: Stmt & { do: 'for' }): Steps<Tensor[] | null> {
    const times = typeof stmt.times === 'number' ? stmt.times : this.number(stmt.times.n);
    for (let i = 0; i < Math.min(times, 5); i++) {
      if (stmt.while !== null && !(this.sum(stmt.while.of) < stmt.while.below)) break;
      const outer = this.scope;
      this.scope = new Scope(outer);
      this.scope.declare(stmt.index, i);
      const returned = yield* this.block(stmt.body);
      this.scope = outer;
      if (returned !== null) return returned;
    }
    return null;
  }

  private hook(of: Tensor, kind: 'scale' | 'retain' | 'again'): void {
    if (!of.requiresGrad) return;
    const { world } = this;
    if (kind === 'retain') of.retainGrad();
    else if (kind === 'scale') of.registerHook((slope) => slope.mul(0.5));
    else of.registerHook(() => world.again?.());
  }

  private *caught(body: readonly Stmt[]): Steps<Tensor[] | null> {
    try {
      return yield* this.block(body);
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      return null;
    }
  }

  private call(kind: CallKind, t: Tensor): Tensor {
    if (kind === 'recursion') return halved(t, Math.min(this.captured.k, 3));
    if (kind === 'method') return this.world.layer.apply(t);
    if (kind === 'nested') return this.world.inner(t);
    if (kind === 'blocks')
      return this.world.blocks.reduce((x, module) => this.world.block(module, x), t);
    const [first, second] = [...parts(t)];
    return first!.add(second!);
  }

  private effect(stmt: Stmt & { do: 'effect' }): void {
    const { store } = this;
    if (stmt.kind === 'count') store.count++;
    else if (stmt.kind === 'pop') store.list.pop();
    else if (stmt.kind === 'push') store.list.push(this.tensor(stmt.of));
    else if (stmt.kind === 'set') store.last = this.tensor(stmt.of);
    else if (stmt.kind === 'map') store.map.set('key', this.tensor(stmt.of));
  }
}
