/**
 * @file What a kernel body computes, as text that names no buffer.
 *
 * Repeated layers and unrolled steps give bodies that differ in their buffers alone. They have equal
 * keys, and so one kernel: it is built once and launched with other memory. Bodies of different keys may
 * still come out as equal kernels (loops and indices are not settled yet).
 */
import type { Expr } from '../ir/expr.js';
import type { SizedLoop } from '../ir/index-expr.js';
import { checkKey } from '../ir/kernel-checks.js';
import { postorder } from '../ir/walk.js';
import { recurrenceRoots } from '../ir/kernel-parts.js';
import { attentionRoots } from '../lower/ir-node.js';
import { numelOf } from '../lower/shape-math.js';
import type { EmitContext } from './emit-context.js';
import { type BodyStore, type GroupBody, bodyRoots, bodyStores } from './group-body.js';

/** A body without its buffers, and the storage behind each of them in the order of the parameters. */
export interface BodyKey {
  readonly text: string;
  readonly storages: readonly string[];
}

class KeyWriter {
  readonly storages = new Map<string, number>();
  private readonly numbers = new Map<Expr, number>();

  constructor(private readonly context: EmitContext) {}

  /** Parameters are numbered by first use, as in `parametersOf`: loads, then stores. */
  private storage(name: string): string {
    const buffer = this.context.bufferOf(name);
    const key = this.context.storageOf(buffer);
    let number = this.storages.get(key);
    if (number === undefined) this.storages.set(key, (number = this.storages.size));
    // The size ranks indices when loops are ordered.
    return `${number}:${buffer.dtype}:${String(numelOf(buffer.sizes))}`;
  }

  expressions(roots: readonly Expr[]): string {
    let text = '';
    for (const expr of postorder(roots)) {
      this.numbers.set(expr, this.numbers.size);
      text += `${expr.kind} ${expr.dtype} ${this.parts(expr)};`;
    }
    return text;
  }

  private parts(expr: Expr): string {
    const { ir } = this.context;
    switch (expr.kind) {
      case 'const':
        return Object.is(expr.value, -0) ? '-0' : `${expr.value}`;
      case 'scalar':
        return expr.name;
      case 'acc':
        return `${expr.id}`;
      case 'index':
        return `${ir.idOf(expr.index)}`;
      case 'load':
        return `${this.storage(expr.buf)} ${ir.idOf(expr.index)}`;
      case 'masked':
        return `${this.of(expr.mask)} ${this.of(expr.body)} ${Object.is(expr.other, -0) ? '-0' : expr.other}`;
      case 'check':
        return `${checkKey(expr.check)} ${this.of(expr.subject)} ${this.of(expr.ok)} ${this.of(expr.value)}`;
      case 'random':
        return `${expr.distribution} ${this.of(expr.seed)} ${this.of(expr.offset)} ${ir.idOf(expr.index)}`;
      case 'op':
        return `${expr.op} ${expr.args.map((arg) => this.of(arg)).join()}`;
    }
  }

  of(expr: Expr): number {
    return this.numbers.get(expr)!;
  }

  store({ buffer, index, value, combine }: BodyStore): string {
    return `${this.storage(buffer.name)} ${this.context.ir.idOf(index)} ${this.of(value)} ${combine ?? ''};`;
  }
}

function loops(...lists: readonly (readonly SizedLoop[])[]): string {
  return lists.map((vars) => vars.map((v) => `${v.name}<${String(v.size)}`).join()).join('|');
}

function shapeOf(body: GroupBody, writer: KeyWriter): string {
  switch (body.kind) {
    case 'loop': {
      const stages = body.stages.map(({ kind, reduces, stores: { length } }) => {
        const made = reduces.map(
          (r) => `${r.running ? '~' : ''}${r.op} ${r.ids.join()} ${r.dtype} ${writer.of(r.value)}`,
        );
        return `${kind} ${made.join('+')} ${length}`;
      });
      return `${loops(body.outer, body.inner)} ${stages.join('/')}`;
    }
    case 'matmul':
      return `${loops(body.batch, body.m, body.n, body.k)} ${body.accDtype} ${writer.of(body.a)} ${writer.of(body.b)}`;
    case 'attention': {
      const { scores, weights, values, columnSums } = body;
      const { rowStores, columnStores, weightStores } = body;
      const counted = [scores, weights, values, rowStores, columnStores, weightStores];
      const lists = [
        ...counted.map(({ length }) => length),
        ...columnSums.map(({ weight }) => weight),
      ];
      const roots = attentionRoots(body).map((root) => writer.of(root));
      return `${loops(body.batch, body.m, body.j, body.k, body.n)} ${body.accDtype} ${body.triangle} ${body.softmax} ${lists.join()} ${roots.join()}`;
    }
    case 'recurrence': {
      const { states, products, lastStores } = body;
      const terms = products.map((list) => list.map(({ vector }) => vector).join('+'));
      const roots = recurrenceRoots(body).map((root) => writer.of(root));
      return `${loops(body.batch, body.step, body.n, body.k)} ${body.accDtype} ${states.length} ${terms.join()} ${lastStores.length} ${roots.join()}`;
    }
  }
}

/** The key of a body whose expressions belong to the context's builder. */
export function bodyKey(body: GroupBody, context: EmitContext): BodyKey {
  const writer = new KeyWriter(context);
  const expressions = writer.expressions(bodyRoots(body));
  const stores = bodyStores(body)
    .map((store) => writer.store(store))
    .join('');
  return {
    text: `${body.kind} ${shapeOf(body, writer)}\n${expressions}\n${stores}`,
    storages: [...writer.storages.keys()],
  };
}
