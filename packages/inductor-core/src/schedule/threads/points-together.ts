/**
 * @file `pointsTogether`: a kernel each of whose outer points stands for several neighbouring ones.
 *
 * Its stages do for all of them what they did for one. What does not depend on the point, they do once. Each point still
 * reads what it writes before it writes it, and nothing that another one writes.
 */
import { type Size, sizeFloorDiv } from '@tessera/shared';
import { IrBuilder } from '../../ir/build.js';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { LoopKernel, Stage } from '../../ir/kernel.js';
import { fastest } from '../../ir/loop-vars.js';

type ReduceStmt = Extract<Stmt, { kind: 'reduce' }>;

/** What expressions of the kernel become at one of the points. */
interface Point {
  readonly exprs: Map<Expr, Expr>;
  /** Results by those of the kernel. */
  readonly ids: Map<number, number>;
}

class Gatherer {
  private readonly ir = new IrBuilder();
  private readonly lane: string;
  private readonly points: readonly Point[];
  private nextId: number;

  constructor(
    private readonly kernel: LoopKernel<Size>,
    private readonly count: number,
  ) {
    this.lane = fastest(kernel.outer)!.name;
    this.points = Array.from({ length: count }, () => ({ exprs: new Map(), ids: new Map() }));
    const reduces = kernel.stages.flatMap(({ body }) => body).filter(isReduce);
    this.nextId = 1 + Math.max(-1, ...reduces.flatMap(({ ids }) => ids));
  }

  gather(): LoopKernel<Size> {
    const { kernel, ir, lane, count } = this;
    const outer = kernel.outer.map((loop) =>
      loop.name === lane ? { ...loop, size: sizeFloorDiv(loop.size, count) } : loop,
    );
    for (const { name, size } of [...outer, ...kernel.inner]) ir.sym(name, size);
    return { ...kernel, outer, stages: kernel.stages.map((stage) => this.stage(stage)) };
  }

  private stage({ kind, body }: Stage): Stage {
    return { kind, body: body.flatMap((stmt) => this.stmts(stmt)) };
  }

  private stmts(stmt: Stmt): Stmt[] {
    const { points } = this;
    const values = points.map((point, number) => this.expr(stmt.value, point, number));
    if (stmt.kind === 'store')
      return points.map((point, number) => ({
        ...stmt,
        index: this.ir.substituteIndex(
          stmt.index,
          (name) => this.symbol(name, number),
          (inside) => this.expr(inside, point, number),
        ),
        value: values[number]!,
      }));
    return points.flatMap((point, number): ReduceStmt[] => {
      const same = values.indexOf(values[number]!);
      const ids = stmt.ids.map((id) =>
        same < number ? points[same]!.ids.get(id)! : number === 0 ? id : this.nextId++,
      );
      stmt.ids.forEach((id, i) => point.ids.set(id, ids[i]!));
      return same < number ? [] : [{ ...stmt, ids, value: values[number]! }];
    });
  }

  private symbol(name: string, number: number) {
    const { ir, lane, count } = this;
    return name === lane ? ir.add(ir.scale(ir.sym(lane), count), ir.int(number)) : undefined;
  }

  private expr(root: Expr, { exprs, ids }: Point, number: number): Expr {
    const { ir } = this;
    const [made] = ir.rewrite(
      [root],
      {
        symbol: (name) => this.symbol(name, number),
        acc: ({ dtype, id }) => ir.acc(dtype, ids.get(id)!),
      },
      exprs,
    );
    return made!;
  }
}

function isReduce(stmt: Stmt): stmt is ReduceStmt {
  return stmt.kind === 'reduce';
}

/** See the file header. `count` divides the size of the fastest outer variable. */
export function pointsTogether(kernel: LoopKernel<Size>, count: number): LoopKernel<Size> {
  return new Gatherer(kernel, count).gather();
}
