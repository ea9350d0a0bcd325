/**
 * @file Random graphs of ATen calls, drawn from a seed: views, arithmetic with awkward numbers, joins and cuts,
 * products, reductions, constants, random and in-place ops, values read by several and returned twice.
 */
import { type GraphModule, emitGetItem, emitOp } from '@tessera/graph';
import { type Tensor, getOp } from '@tessera/tensor';
import { GraphDraft } from './graph-draft.js';
import { type Pick, picker } from './picker.js';
import { DTYPES, NUMBERS } from './random-values.js';

/** What a graph may be made of besides pure ops. */
export interface GraphTraits {
  /** In-place ops, also on inputs. */
  readonly mutation: boolean;
  /** Ops that draw random numbers. */
  readonly random: boolean;
}

/** A graph and what to call it with. */
export interface RandomGraph {
  readonly module: GraphModule;
  /** Fresh inputs, the same on every call. */
  readonly inputs: () => Tensor[];
}
/** Draws a graph of about `size` calls. */
export function randomGraph(seed: number, size: number, traits: GraphTraits): RandomGraph {
  return new Drawing(picker(seed), traits).draw(size);
}

class Drawing extends GraphDraft {
  constructor(
    pick: Pick,
    private readonly traits: GraphTraits,
  ) {
    super(pick);
  }

  draw(size: number): RandomGraph {
    const count = 2 + this.pick(2);
    for (let i = 0; i < count; i++) this.addInput(`x${i}`);
    for (let i = 0; i < 2; i++) this.addConstant(`c${i}`);
    for (let tries = 0; this.graph.size < size && tries < size * 6; tries++) this.step();
    const results = Array.from({ length: 1 + this.pick(4) }, () => this.recent());
    this.graph.output(results);
    return { module: this.module, inputs: () => this.makers.map((make) => make()) };
  }

  /** Adds a call; arguments that an op refuses count as a try. */
  private step(): void {
    const { mutation, random } = this.traits;
    const kinds = [
      this.view,
      this.view,
      this.pointwise,
      this.pointwise,
      this.pointwise,
      this.shaped,
      this.joined,
      this.product,
      this.reduction,
      this.made,
      this.again,
      this.layer,
      ...(mutation ? [this.update] : []),
      ...(random ? [this.drawn] : []),
    ];
    const before = new Set(this.graph.nodes);
    try {
      this.one(kinds).call(this);
    } catch {
      for (const node of [...this.graph.nodes].reverse())
        if (!before.has(node) && node.users.size === 0) this.graph.eraseNode(node);
      this.pool = this.pool.filter((node) => !node.erased);
    }
  }

  private view(): void {
    const x = this.recent();
    const { sizes, ndim, numel } = this.val(x);
    const order = sizes.map((_, i) => i);
    switch (this.pick(15)) {
      case 0:
        return void this.call('view', x, this.one([[...sizes], [numel], [1, ...sizes], [-1]]));
      case 1:
        return void this.call('t', x);
      case 2:
        return void this.call('transpose.int', x, this.dim(x), this.dim(x));
      case 3:
        return void this.call('permute', x, this.pick(2) === 0 ? order.reverse() : order);
      case 4: {
        const end = this.one([1, 2, 9223372036854775807]);
        return void this.call('slice.Tensor', x, this.dim(x), this.pick(2), end, 1 + this.pick(2));
      }
      case 5:
        return void this.call('select.int', x, this.dim(x), 0);
      case 6:
        return void this.call('unsqueeze', x, this.pick(ndim + 1));
      case 7:
        return void this.call('squeeze', x);
      case 8:
        return void this.call('expand', x, [this.one([1, 2]), ...sizes], false);
      case 9:
        return void this.call('split.Tensor', x, 1 + this.pick(2), this.dim(x));
      case 10:
        return void this.call('unbind.int', x, this.dim(x));
      case 11:
        return void this.call(this.one(['detach', 'alias']), x);
      case 12:
        return void this.call('expand', x, [...sizes], false);
      case 13: {
        const [size, stride] = this.one([
          [[2], [1]],
          [
            [2, 2],
            [1, 1],
          ],
          [[2], [2]],
        ]);
        return void this.call('as_strided', x, size, stride, this.one([null, 0, 1]));
      }
      default: {
        const dim = this.dim(x);
        const length = sizes.at(dim)!;
        return void this.call('split_with_sizes', x, [1, length - 1], dim);
      }
    }
  }

  private pointwise(): void {
    const [x, y] = [this.recent(), this.any()];
    switch (this.pick(9)) {
      case 0:
        return void this.call(this.one(['neg', 'abs', 'sin', 'exp', 'relu', 'sigmoid', 'sign']), x);
      case 1:
        return void this.call(this.one(['add.Tensor', 'sub.Tensor']), x, y, this.one([1, 1, 2, 0]));
      case 2:
        return void this.call(this.one(['mul.Tensor', 'maximum', 'div.Tensor']), x, y);
      case 3:
        return void this.call(this.one(['add.Tensor', 'sub.Tensor']), x, this.scalar(x), 1);
      case 4:
        return void this.call(this.one(['mul.Tensor', 'div.Tensor']), x, this.scalar(x));
      case 5:
        return void this.call('pow.Tensor_Scalar', x, this.one([1, 2, 0, 0.5]));
      case 6:
        return void this.call(this.one(['gt.Tensor', 'eq.Tensor']), x, y);
      case 7:
        return void this.call('where.self', this.call('gt.Scalar', x, 0), x, y);
      default: {
        const dtype = this.one(DTYPES);
        return void this.call('_to_copy', x, dtype, null, null, null, false, null);
      }
    }
  }

  private shaped(): void {
    const x = this.recent();
    switch (this.pick(5)) {
      case 0:
        return void this.call('clone', x, this.one([null, 'contiguous']));
      case 1:
        return void this.call(
          'constant_pad_nd',
          x,
          this.one([
            [0, 0],
            [1, -1],
            [1, 0],
            [-1, 1],
          ]),
          0,
        );
      case 2:
        return void this.call('flip', x, [this.dim(x)]);
      case 3:
        return void this.call(
          'index_select',
          x,
          this.dim(x),
          this.call('arange', 1, 'int64', null, null, null),
        );
      default:
        return void this.call('tril', x, 0);
    }
  }

  private joined(): void {
    const x = this.recent();
    const mates = this.pool.filter(
      (node) =>
        this.val(node).dtype === this.val(x).dtype && this.val(node).ndim === this.val(x).ndim,
    );
    const dim = this.dim(x);
    const items = Array.from({ length: 1 + this.pick(3) }, () => this.one(mates));
    const whole = this.call('cat', items, dim);
    const sizes = items.map((item) => this.val(item).sizes.at(dim)!);
    if (this.pick(2) === 0) this.call('split_with_sizes', whole, sizes, dim);
  }

  private product(): void {
    const [x, y, z] = [this.recent(), this.any(), this.any()];
    switch (this.pick(4)) {
      case 0:
        return void this.call('add.Tensor', this.call('mm', x, y), z, 1);
      case 1: {
        const scaled = this.call('mul.Tensor', this.call('mm', x, y), this.scalar(x));
        return void this.call('add.Tensor', z, scaled, 1);
      }
      case 2:
        return void this.call('mm', x, this.call('t', x));
      default:
        return void this.call(
          'add.Tensor',
          this.call('bmm', x, this.call('transpose.int', x, 1, 2)),
          z,
          1,
        );
    }
  }

  private reduction(): void {
    const x = this.recent();
    switch (this.pick(5)) {
      case 0:
        return void this.call('sum.dim_IntList', x, [this.dim(x)], this.pick(2) === 0, null);
      case 1:
        return void this.call('amax', x, [this.dim(x)], true);
      case 2:
        return void this.call('max.dim', x, this.dim(x), false);
      case 3:
        return void this.call('_softmax', x, this.dim(x), false);
      default:
        return void this.call('topk', x, 1, this.dim(x), true, true);
    }
  }

  private made(): void {
    const x = this.recent();
    const sizes = [...this.val(x).sizes];
    const none = [null, null, null] as const;
    switch (this.pick(4)) {
      case 0:
        return void this.call('full', sizes, this.one(NUMBERS), 'float32', ...none);
      case 1:
        return void this.call('zeros_like', x, null, ...none, null);
      case 2:
        return void this.call('arange', 3, this.one(['int64', 'float32']), ...none);
      default:
        return void this.call('ones', sizes, 'float32', ...none);
    }
  }

  private layer(): void {
    const images = this.pool.filter((node) => this.val(node).ndim === 4);
    const x = this.pick(2) === 0 && images.length > 0 ? this.one(images) : this.recent();
    const { sizes, ndim } = this.val(x);
    if (ndim === 2) {
      for (let i = 0; i <= this.pick(3); i++) {
        const weight = this.constant([sizes[1]!, 2]);
        if (this.pick(2) === 0) this.call('mm', x, weight);
        else this.call('addmm', this.constant(this.one([[2], [1], [1, 2]])), x, weight, 1, 1);
      }
      return;
    }
    const kernel = this.one([1, 3]);
    const transposed = this.pick(5) === 0;
    const weight = this.constant(
      transposed ? [sizes[1]!, 2, kernel, kernel] : [2, sizes[1]!, kernel, kernel],
    );
    const bias = this.pick(2) === 0 ? null : this.constant([2]);
    const geometry = [[1, 1], [1, 1], [1, 1], transposed, [0, 0], 1];
    let y = this.call('convolution', x, weight, bias, ...geometry);
    if (this.pick(2) === 0) {
      const [scale, shift, mean] = [this.constant([2]), this.constant([2]), this.constant([2])];
      const args = [y, scale, shift, mean, this.constant([2], 0.1), 0.1, 1e-5];
      const norm = emitOp(this.graph, getOp('aten::_native_batch_norm_legit_no_training'), args);
      y = emitGetItem(this.graph, norm, 0);
      this.pool.push(y);
    }
    if (this.pick(2) === 0) {
      const operand =
        this.pick(2) === 0 ? this.scalar(y) : this.constant(this.one([[2, 1, 1], [1], [1, 1, 4]]));
      const op = this.one(['add.Tensor', 'sub.Tensor', 'mul.Tensor', 'div.Tensor']);
      const alpha = op.startsWith('add') || op.startsWith('sub') ? [this.one([1, 2])] : [];
      y = this.call(op, y, operand, ...alpha);
    }
    this.call('relu', y);
  }

  /** The same call once more: something to merge. */
  private again(): void {
    const calls = this.graph.nodes.filter(
      (node) =>
        node.op === 'call_function' && typeof node.target === 'object' && !node.target.isMutable,
    );
    const node = this.one(calls);
    this.call(
      (node.target as { qualifiedName: string }).qualifiedName.replace('aten::', ''),
      ...node.args,
    );
  }

  private update(): void {
    const [x, y] = [this.any(), this.recent()];
    switch (this.pick(4)) {
      case 0:
        return void this.call('add_.Tensor', x, y, 1);
      case 1:
        return void this.call('mul_.Tensor', x, this.scalar(x));
      case 2:
        return void this.call('copy_', x, y, false);
      default:
        return void this.call('fill_.Scalar', x, this.scalar(x));
    }
  }

  private drawn(): void {
    const x = this.recent();
    switch (this.pick(3)) {
      case 0:
        return void this.call('rand_like', x, null, null, null, null, null);
      case 1:
        return void this.call('native_dropout', x, 0.5, true);
      default:
        return void this.call('rand', [...this.val(x).sizes], 'float32', null, null, null);
    }
  }
}
