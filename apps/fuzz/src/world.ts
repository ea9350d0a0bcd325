/**
 * @file Everything around a program's function: arguments, captured values, a module, an optimizer, a store.
 *
 * The eager and each compiled run have a world of their own, made alike.
 */
import {
  BatchNorm1d,
  Dropout,
  LayerNorm,
  Linear,
  type Module,
  Sequential,
  Tanh,
  type TensorModule,
  optim,
} from '@tessera/nn';
import { type Tensor, manualSeed, noGrad, tensor } from '@tessera/tensor';
import { type Modules, makeModules } from './library.js';
import { Layer } from './language.js';
import { Chain, applyEdit } from './module-edits.js';
import type { ArgSpec, CallSpec, NetKind, Program, TensorSpec } from './program.js';
import { leafOf } from './leaf-of.js';

/** What side effects write to. */
export interface Store {
  count: number;
  last: Tensor | null;
  list: Tensor[];
  map: Map<string, Tensor>;
}

/** Values that the function closes over; tensors are `w0`, `w1`, … */
export interface Captured {
  k: number;
  ks: number[];
  fail: boolean;
  readonly tensors: Record<string, Tensor>;
}

/** The module of a kind, [n, 3] → [n, 3]. */
export function makeNet(kind: NetKind): Module & TensorModule {
  manualSeed(7);
  if (kind === 'linear') return new Linear(3, 3);
  if (kind === 'mlp') return new Sequential(new Linear(3, 4), new Tanh(), new Linear(4, 3));
  if (kind === 'batchNorm') return new BatchNorm1d(3);
  if (kind === 'sequential') return new Sequential(new Linear(3, 3), new Tanh(), new Linear(3, 3));
  if (kind === 'chain') return new Chain();
  return kind === 'layerNorm' ? new LayerNorm(3) : new Sequential(new Linear(3, 3), new Dropout());
}

/** Modules of one class and form, with weights of their own. */
function makeBlocks(): TensorModule[] {
  manualSeed(9);
  return [new Linear(3, 3), new Linear(3, 3)];
}

type Optimizer = optim.SGD | optim.Adam;

function makeOptimizer(kind: Program['optimizer'], params: Tensor[]): Optimizer | null {
  if (kind === null || params.length === 0) return null;
  if (kind === 'adam') return new optim.Adam(params, { lr: 0.1 });
  return new optim.SGD(params, { lr: 0.1, momentum: kind === 'momentum' ? 0.9 : 0 });
}

type Methods = Record<string, (...args: readonly unknown[]) => Tensor>;

function applyViews(base: Tensor, views: TensorSpec['views']): Tensor {
  return views.reduce(
    (t, { name, args }) => (t as unknown as Methods)[name]!(...(args as readonly unknown[])),
    base,
  );
}

/** An argument, and the leaf that its gradient goes to. */
interface Made {
  readonly value: Tensor;
  readonly leaf: Tensor;
}

/** Makes a tensor. */
export function makeTensor(spec: TensorSpec): Made {
  const flat = noGrad(() => {
    const host = tensor([...spec.data], { dtype: spec.dtype });
    const data = spec.device === undefined ? host : host.to(spec.device);
    const shaped = applyViews(data, spec.views);
    // A leaf that is a view of something else is nothing a program would make.
    return spec.requiresGrad ? shaped.detach() : shaped;
  });
  if (!spec.requiresGrad) return { value: flat, leaf: flat };
  flat.requiresGrad = true;
  return { value: spec.leaf ? flat : flat.mul(1), leaf: flat };
}

/** See the file header. */
export class World {
  readonly captured: Captured = { k: 0, ks: [], fail: false, tensors: {} };
  readonly store: Store = { count: 0, last: null, list: [], map: new Map() };
  readonly net: (Module & TensorModule) | null;
  readonly optimizer: Optimizer | null;
  readonly layer: Layer = new Layer();
  /** Compiled on its own in compiled runs. */
  inner: (t: Tensor) => Tensor = (t) => t.sin().mul(this.captured.k);
  /** Equal modules that go through one function, which compiled runs compile on its own. */
  readonly blocks: readonly TensorModule[];
  block: (module: TensorModule, t: Tensor) => Tensor = (module, t) => module.call(t).tanh();
  /** Calls the program's function with the arguments of this call, unless a hook does so already; null while it is drawn. */
  again: (() => void) | null = null;
  /** Modules of the library, if programs may call it. */
  readonly modules: Modules;
  args: Tensor[] = [];
  leaves: Tensor[] = [];
  /** What the call before returned. */
  outputs: readonly Tensor[] = [];

  constructor(readonly program: Program) {
    this.net = program.net === null ? null : makeNet(program.net);
    for (const [name, spec] of Object.entries(program.captured))
      this.captured.tensors[name] = makeTensor(spec).value;
    this.modules = program.library ? makeModules() : {};
    this.blocks = makeBlocks();
    const params = this.net === null ? [] : [...this.net.parameters()];
    const own = Object.values(this.captured.tensors).filter(
      (t) => t.requiresGrad && leafOf(t) === true,
    );
    this.optimizer = makeOptimizer(program.optimizer, [...params, ...own]);
  }

  private kept(spec: ArgSpec & { kind: 'kept' }): Tensor {
    const { list, map, last } = this.store;
    const found =
      typeof spec.in === 'number'
        ? this.outputs[spec.in]
        : spec.in === 'last'
          ? last
          : spec.in === 'list'
            ? list.at(-1)
            : map.get('key');
    // Of a scalar there are no such views.
    if (found == null || (found.ndim === 0 && spec.views.length > 0))
      return makeTensor(spec.otherwise).value;
    return applyViews(found, spec.views);
  }

  /** Makes what a call needs. */
  prepare(call: CallSpec): void {
    const before = [this.args, this.leaves] as const;
    for (const i of call.overwrite) noGrad(() => this.args[i]?.zero_());
    this.args = [];
    this.leaves = [];
    call.args.forEach((spec, i) => {
      if (spec.kind === 'new') {
        const made = makeTensor(spec.tensor);
        this.args.push(made.value);
        this.leaves.push(made.leaf);
      } else if (spec.kind === 'kept') {
        const kept = this.kept(spec);
        this.args.push(kept);
        this.leaves.push(kept);
      } else if (spec.kind === 'again') {
        this.args.push(before[0][i]!);
        this.leaves.push(before[1][i]!);
      } else {
        this.args.push(applyViews(this.args[spec.of]!, spec.views));
        this.leaves.push(this.leaves[spec.of]!);
      }
    });
    this.captured.k = call.k;
    this.captured.ks = [...call.ks];
    this.captured.fail = call.fail;
    for (const [name, spec] of Object.entries(call.replace))
      this.captured.tensors[name] = makeTensor(spec).value;
    if (this.net !== null) {
      this.net.train(call.training);
      const [first] = this.net.parameters();
      if (first !== undefined) first.requiresGrad = !call.frozen;
    }
    if (this.net !== null) for (const edit of call.edits) applyEdit(this.net, edit);
    if (this.optimizer !== null) for (const group of this.optimizer.paramGroups) group.lr = call.lr;
    manualSeed(11);
  }
}
