/**
 * @file `verifyKernel`: the invariants of kernel.ts and expr.ts as an executable specification.
 *
 * Runs on every kernel in tests and in debug builds of plans. Backends may rely on everything that is
 * checked here and on nothing else.
 */
import { TesseraError } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr, ReduceOp, Stmt } from './expr.js';
import type { IndexExpr, LoopVar } from './index-expr.js';
import type {
  AttentionKernel,
  BufferParam,
  ExternArg,
  FusedKernel,
  LoopKernel,
  MatmulKernel,
  RecurrenceKernel,
} from './kernel.js';
import { recurrenceRoots } from './kernel-parts.js';
import { printIndex, printKernel } from './print.js';
import { typeFault } from './verify-types.js';
import { indexOf, indexSymbols, postorder, stmtRoots } from './walk.js';

/** Results of each reduction. */
export const REDUCE_RESULTS: Readonly<Record<ReduceOp, number>> = {
  sum: 1,
  prod: 1,
  max: 1,
  min: 1,
  any: 1,
  all: 1,
  argmax: 1,
  argmin: 1,
  welford: 2,
  online_softmax: 2,
  mean: 1,
  peak: 1,
};

/** Names of scalars are those of the program's values. */
const SCALAR_NAME = /^[A-Za-z_$][\w$]*$/;
const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_]*$/;

class Verifier {
  private readonly params: Map<string, BufferParam>;
  private readonly used = new Set<string>();
  /** For each buffer that is stored: the indices stored to, as text. */
  private readonly stores = new Map<string, Set<string>>();
  /** Type of each result. */
  private readonly results = new Map<number, DType>();

  private readonly valueIds = new Map<Expr, number>();

  constructor(private readonly kernel: FusedKernel) {
    this.params = new Map(kernel.params.map((p) => [p.name, p]));
  }

  fail(what: string): never {
    throw new TesseraError(
      'plan-invalid',
      `Kernel '${this.kernel.name}' is malformed: ${what}.\n${printKernel(this.kernel)}`,
      {
        context: { kernel: this.kernel.name },
        hints: [
          'This is a bug of the lowering or scheduler that made the kernel; please report it with the graph.',
        ],
      },
    );
  }

  run(): void {
    const { kernel } = this;
    if (!IDENTIFIER.test(kernel.name)) this.fail(`'${kernel.name}' is not an identifier`);
    this.distinct(
      [...kernel.params, ...kernel.scalars].map((p) => p.name),
      'parameter',
    );
    for (const p of kernel.params)
      if (!IDENTIFIER.test(p.name)) this.fail(`parameter '${p.name}' is not an identifier`);
    for (const s of kernel.scalars)
      if (!SCALAR_NAME.test(s.name)) this.fail(`scalar '${s.name}' is not an identifier`);
    if (kernel.kind === 'loop') this.loop(kernel);
    else if (kernel.kind === 'matmul') this.matmul(kernel);
    else if (kernel.kind === 'attention') this.attention(kernel);
    else if (kernel.kind === 'recurrence') this.recurrence(kernel);
    else for (const arg of [...kernel.args, ...kernel.outputs]) this.externArg(arg);
    for (const p of kernel.params)
      if (!this.used.has(p.name)) this.fail(`parameter '${p.name}' is not used`);
  }

  private loop(kernel: LoopKernel): void {
    this.variables([...kernel.outer, ...kernel.inner]);
    this.points(...kernel.outer);
    this.points(...kernel.inner);
    const outer = new Set(kernel.outer.map((v) => v.name));
    const all = new Set([...outer, ...kernel.inner.map((v) => v.name)]);
    const finished = new Set<number>();
    for (const stage of kernel.stages) {
      if (stage.kind === 'inner' && kernel.inner.length === 0)
        this.fail('an inner stage needs inner variables');
      if (stage.body.length === 0) this.fail('a stage is empty');
      const made: number[] = [];
      const running = new Set<number>();
      for (const stmt of stage.body) {
        this.stmt(stmt, stage.kind === 'inner' ? all : outer, new Set([...finished, ...running]));
        if (stmt.kind !== 'reduce') continue;
        if (stage.kind !== 'inner') this.fail('reductions belong to inner stages');
        if (stmt.ids.length !== REDUCE_RESULTS[stmt.op])
          this.fail(`${stmt.op} has ${REDUCE_RESULTS[stmt.op]} result(s)`);
        if (stmt.running === true) this.running(stmt.op, stmt.ids[0]!, finished, running);
        else made.push(...stmt.ids);
      }
      this.twoPasses(stage.body);
      for (const id of made) {
        if (finished.has(id)) this.fail(`result ${id} is reduced twice`);
        finished.add(id);
      }
    }
  }

  /** A running result is known in its stage alone; a later one may compute it again. */
  private running(
    op: ReduceOp,
    id: number,
    finished: ReadonlySet<number>,
    running: Set<number>,
  ): void {
    if (op !== 'sum' && op !== 'prod' && op !== 'max' && op !== 'min')
      this.fail(`${op} has no running result`);
    if (finished.has(id) || running.has(id)) this.fail(`result ${id} is reduced twice`);
    running.add(id);
  }

  /** A stage with a reduction of two results may run in two passes. */
  private twoPasses(body: readonly Stmt[]): void {
    if (!body.some((stmt) => stmt.kind === 'reduce' && stmt.ids.length > 1)) return;
    const written = new Set(body.flatMap((stmt) => (stmt.kind === 'store' ? [stmt.buf] : [])));
    for (const stmt of body) {
      if (stmt.kind !== 'reduce') continue;
      for (const expr of postorder([stmt.value])) {
        if (expr.kind === 'load' && written.has(expr.buf))
          this.fail(
            `'${expr.buf}' is overwritten in a stage that reduces it and may take two passes`,
          );
      }
    }
  }

  private matmul(kernel: MatmulKernel): void {
    const { batch, m, n, k } = kernel;
    this.variables([...batch, ...m, ...n, ...k]);
    this.points(...batch, ...m, ...n);
    this.points(...k);
    this.results.set(0, kernel.accDtype);
    this.exprs([kernel.a], scope(batch, m, k), new Set());
    this.exprs([kernel.b], scope(batch, k, n), new Set());
    if (kernel.a.dtype !== kernel.accDtype || kernel.b.dtype !== kernel.accDtype)
      this.fail('operands must be cast to the accumulator type');
    this.onlyStores(kernel.epilogue, scope(batch, m, n), new Set([0]));
  }

  private attention(kernel: AttentionKernel): void {
    const { batch, m, j, k, n, scores, weights, values, columnSums, accDtype } = kernel;
    this.variables([...batch, ...m, ...j, ...k, ...n]);
    this.points(...batch, ...m, ...n);
    this.points(...batch, ...j);
    this.points(...k);
    if (kernel.triangle !== 'none' && (m.length !== 1 || j.length === 0))
      this.fail('a triangle is of one row variable and a last column variable');
    if (weights.length !== values.length || (kernel.softmax && weights.length !== 1))
      this.fail(`${weights.length} weights are for ${values.length} values`);
    if (kernel.params.some(({ access }) => access === 'readwrite'))
      this.fail('a buffer is both read and written');
    const none = new Set<number>();
    for (const { a, b } of scores) {
      this.exprs([a], scope(batch, m, k), none);
      this.exprs([b], scope(batch, j, k), none);
    }
    this.exprs(values, scope(batch, j, n), none);
    const summed = columnSums.map(({ value }) => value);
    this.exprs(summed, scope(batch, m, n), none);
    if (columnSums.some(({ weight }) => kernel.softmax || weights[weight] === undefined))
      this.fail('a column sums up weights that there are not');
    const ids = (list: readonly unknown[]): Set<number> => {
      for (const id of list.keys()) this.results.set(id, accDtype);
      return new Set(list.keys());
    };
    this.exprs(weights, scope(batch, m, j), ids(scores));
    const factors = [...scores.flatMap(({ a, b }) => [a, b]), ...weights, ...values, ...summed];
    if (factors.some(({ dtype }) => dtype !== accDtype))
      this.fail('factors and weights must be cast to the accumulator type');
    this.onlyStores(kernel.epilogue, scope(batch, m, n), ids(values));
    this.onlyStores(kernel.columnStores, scope(batch, j, n), ids(columnSums));
    if (!kernel.softmax && kernel.rowStores.length > 0)
      this.fail('only a softmax has a result for a row');
    this.onlyStores(kernel.rowStores, scope(batch, m), ids(kernel.rowStores.slice(0, 1)));
    if (kernel.softmax && kernel.weightStores.length > 0)
      this.fail('weights of a softmax are not known before the end of their row');
    this.onlyStores(kernel.weightStores, scope(batch, m, j), ids(weights));
  }

  private recurrence(kernel: RecurrenceKernel): void {
    const { batch, step, n, k, states, vectors, products, accDtype } = kernel;
    this.variables([...batch, ...step, ...n, ...k]);
    this.points(...batch, ...step, ...n);
    this.points(...n, ...k);
    if (k.length !== n.length || k.some(({ size }, i) => size !== n[i]!.size))
      this.fail('k is not as long as n');
    if (kernel.params.some(({ access }) => access === 'readwrite'))
      this.fail('a buffer is both read and written');
    if (states.length === 0) this.fail('a recurrence has a state');
    const ids = (count: number): Set<number> => {
      for (let id = 0; id < count; id++) this.results.set(id, accDtype);
      return new Set(Array(count).keys());
    };
    const known = ids(states.length);
    this.exprs(
      states.map(({ initial }) => initial),
      scope(batch, n),
      new Set(),
    );
    this.exprs(vectors, scope(batch, step, n), known);
    for (const { vector, weight } of products.flat()) {
      this.exprs([weight], scope(n, k), new Set());
      if (vectors[vector] === undefined) this.fail(`there is no vector ${vector}`);
    }
    const all = ids(states.length + products.length);
    this.exprs(
      states.map(({ next }) => next),
      scope(batch, step, n),
      all,
    );
    if (recurrenceRoots(kernel).some(({ dtype }) => dtype !== accDtype))
      this.fail('states, vectors and weights must be cast to the accumulator type');
    this.onlyStores(kernel.stores, scope(batch, step, n), all);
    this.onlyStores(kernel.lastStores, scope(batch, n), known);
  }

  private onlyStores(
    body: readonly Stmt[],
    names: ReadonlySet<string>,
    finished: ReadonlySet<number>,
  ): void {
    for (const stmt of body) {
      if (stmt.kind !== 'store') this.fail('an epilogue only stores');
      this.stmt(stmt, names, finished);
    }
  }

  private stmt(stmt: Stmt, scope: ReadonlySet<string>, finished: ReadonlySet<number>): void {
    this.exprs(stmtRoots(stmt), scope, finished);
    if (stmt.kind === 'reduce') {
      for (const id of stmt.ids) this.results.set(id, stmt.dtype);
      const wanted = stmt.op === 'argmax' || stmt.op === 'argmin' ? 'int64' : stmt.value.dtype;
      if (stmt.dtype !== wanted)
        this.fail(`${stmt.op} of ${stmt.value.dtype} gives ${wanted}, not ${stmt.dtype}`);
      return;
    }
    const param = this.param(stmt.buf);
    if (param.access === 'read') this.fail(`'${stmt.buf}' is read-only but stored to`);
    if (param.dtype !== stmt.value.dtype && stmt.isExact !== true)
      this.fail(`a ${stmt.value.dtype} is stored to '${stmt.buf}' of ${param.dtype}`);
    if (stmt.combine !== undefined) this.combined(stmt, param);
    this.symbols(stmt.index, scope);
    const indices = this.stores.get(stmt.buf) ?? new Set();
    this.stores.set(stmt.buf, indices.add(this.textOf(stmt.index)));
  }

  /** Memory in which points meet is accessed in no other way. */
  private combined(
    { buf, combine, value }: Stmt & { kind: 'store' },
    { access }: BufferParam,
  ): void {
    if (value.dtype !== 'int32' && (combine === 'max' || value.dtype !== 'float32'))
      this.fail(`a ${combine} of ${value.dtype} is stored to '${buf}'`);
    if (access !== 'write' || this.stores.has(buf) || this.kernel.kind !== 'loop')
      this.fail(`'${buf}' is accessed where points meet in it`);
  }

  private exprs(
    roots: readonly Expr[],
    scope: ReadonlySet<string>,
    finished: ReadonlySet<number>,
  ): void {
    for (const expr of postorder(roots)) {
      const index = indexOf(expr);
      if (index !== null) this.symbols(index, scope);
      if (expr.kind === 'load') this.loadExpr(expr);
      else if (expr.kind === 'acc' && !finished.has(expr.id))
        this.fail(`acc ${expr.id} is read before it is finished`);
      else if (
        expr.kind === 'scalar' &&
        !this.kernel.scalars.some((s) => s.name === expr.name && s.dtype === expr.dtype)
      )
        this.fail(`scalar '${expr.name}' is not a parameter`);
      else if (expr.kind === 'acc' && this.results.get(expr.id) !== expr.dtype)
        this.fail(`acc ${expr.id} is no ${expr.dtype}`);
      const fault = typeFault(expr);
      if (fault !== null) this.fail(fault);
    }
  }

  /** Equal texts are equal places: run-time values are told apart. */
  private textOf(index: IndexExpr): string {
    return printIndex(index, (value) => {
      let id = this.valueIds.get(value);
      if (id === undefined) this.valueIds.set(value, (id = this.valueIds.size));
      return `@${id}`;
    });
  }

  private loadExpr(expr: Extract<Expr, { kind: 'load' }>): void {
    const param = this.param(expr.buf);
    if (param.access === 'write') this.fail(`'${expr.buf}' is write-only but loaded`);
    if (param.dtype !== expr.dtype)
      this.fail(`'${expr.buf}' holds ${param.dtype} but is loaded as ${expr.dtype}`);
    if (this.kernel.kind === 'loop' && this.stores.has(expr.buf)) {
      const stored = this.stores.get(expr.buf)!;
      if (stored.size > 1 || !stored.has(this.textOf(expr.index)))
        this.fail(`'${expr.buf}' is read after it was written elsewhere`);
    }
  }

  private externArg(arg: ExternArg): void {
    if (arg.kind === 'buffer') this.param(arg.name);
    else if (arg.kind === 'list') for (const item of arg.items) this.externArg(item);
    else if (arg.kind === 'scalar' && !this.kernel.scalars.some((s) => s.name === arg.name))
      this.fail(`scalar '${arg.name}' is not a parameter`);
  }

  private param(name: string): BufferParam {
    const param = this.params.get(name);
    if (param === undefined) this.fail(`'${name}' is not a parameter`);
    this.used.add(name);
    return param;
  }

  private symbols(index: IndexExpr, scope: ReadonlySet<string>): void {
    for (const name of indexSymbols(index))
      if (!scope.has(name)) this.fail(`variable '${name}' is not in scope`);
  }

  private variables(vars: readonly LoopVar[]): void {
    this.distinct(
      vars.map((v) => v.name),
      'loop variable',
    );
    for (const v of vars)
      if (!Number.isSafeInteger(v.size) || v.size < 0)
        this.fail(`loop '${v.name}' has size ${v.size}`);
    for (const v of vars)
      if (!IDENTIFIER.test(v.name)) this.fail(`loop variable '${v.name}' is not an identifier`);
  }

  /** Points of a nest of loops are counted in 32 bits. */
  private points(...vars: readonly LoopVar[]): void {
    if (vars.reduce((total, v) => total * v.size, 1) > 2 ** 31 - 1)
      this.fail(`the loops ${vars.map((v) => v.name).join(', ')} have too many points`);
  }

  private distinct(names: readonly string[], what: string): void {
    const seen = new Set<string>();
    for (const name of names) {
      if (seen.has(name)) this.fail(`${what} '${name}' appears twice`);
      seen.add(name);
    }
  }
}

function scope(...lists: readonly (readonly LoopVar[])[]): Set<string> {
  return new Set(lists.flat().map((v) => v.name));
}

/** Checks one kernel. @throws plan-invalid naming the rule that is broken */
export function verifyKernel(kernel: FusedKernel): void {
  new Verifier(kernel).run();
}
