/**
 * @file A matmul group as a body: operands with their producers folded in, epilogue as stores.
 */
import type { Expr } from '../ir/expr.js';
import type { FusionContext } from '../fuse/fusion-context.js';
import type { MatmulGroup } from '../fuse/group.js';
import type { BodyStore, MatmulBody } from './group-body.js';
import { orderStores } from './store-order.js';

/** An operand with the values of folded producers in place of their loads. */
function withProducers(context: FusionContext, group: MatmulGroup, operand: Expr): Expr {
  const { lowering } = context;
  const producers = new Map(group.prologue.map((node) => [node.out.name, node]));
  if (producers.size === 0) return operand;
  return lowering.ir.rewrite([operand], {
    load: (load) => {
      const producer = producers.get(load.buf);
      return producer === undefined
        ? undefined
        : lowering.at(producer.value, producer.out.sizes, lowering.coordsOf(load));
    },
  })[0]!;
}

/** Cuts a matmul group into operands and stores. */
export function matmulBody(context: FusionContext, group: MatmulGroup): MatmulBody {
  const { ir } = context.lowering;
  const { matmul } = group;
  const nodes = new Set(group.nodes);
  const product = ir.cast(ir.acc(matmul.accDtype, 0), matmul.out.dtype);
  const values = new Map<string, Expr>([[matmul.out.name, product]]);
  const stores: BodyStore[] = [];
  if (context.isStored(matmul.out.name, nodes))
    stores.push({
      buffer: matmul.out,
      index: context.of(matmul).writes[0]!.index,
      value: product,
      inner: false,
    });
  for (const member of group.epilogue) {
    const [value] = ir.rewrite([member.node.value], {
      symbol: (name) => member.place.get(name),
      load: (load) => values.get(load.buf),
    });
    const write = context.of(member.node).writes[0]!;
    if (!(member.node.kind === 'pointwise' && member.node.mutation)) values.set(write.buf, value);
    if (context.isStored(write.buf, nodes))
      stores.push({
        buffer: context.buffers.get(write.buf)!,
        index: context.indexIn(member, write),
        value,
        inner: false,
      });
  }
  const { batch, m, n, k, accDtype } = matmul;
  return {
    kind: 'matmul',
    batch,
    m,
    n,
    k,
    accDtype,
    a: withProducers(context, group, matmul.a),
    b: withProducers(context, group, matmul.b),
    stores: orderStores(stores),
  };
}
