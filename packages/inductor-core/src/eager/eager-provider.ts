/**
 * @file Eager ops through the compiler: a kernel provider for the dispatcher.
 *
 * A primitive op becomes a graph of one node, is compiled once per (op, dtypes, layouts, constants) and
 * cached; numbers are runtime scalars. After a few sizes an op's further ones share code (`SizeFamily`). Ops that the backend cannot compile are left to the next provider
 * (the reference kernels on `cpu`).
 */
import type { GraphModule } from '@tessera/graph';
import { type TesseraError, isTesseraError, reportTo } from '@tessera/shared';
import { type OpOverload, type Tensor } from '@tessera/tensor';
import { type KernelProvider, reserveOffsets } from '@tessera/tensor/internal';
import type { Executable, KernelBackend } from '../backend/kernel-backend.js';
import { type CompiledPlan, compileToPlan } from '../compile-graph.js';
import { inductorConfig } from '../config.js';
import { takesSizes } from '../lower/find-lowering.js';
import { isRepeatedByCode } from '../lower/ops/random.js';
import type { ExecutionPlan } from '../plan/execution-plan.js';
import { placeRandomState } from '../plan/random-state.js';
import { SizeFamily } from '../sizes/size-family.js';
import { opKey } from './op-key.js';
import { type ArgPath, expandedGraph, singleOpGraph } from './single-op-graph.js';

/** Sizes of an op that get code of their own. */
const OWN_SIZES = 3;
/** The sizes and strides of tensors in a key. */
const SIZES = /\[[^\]]*\]/g;
/** Whole numbers but 0 and 1. Sizes of those say what a call is, a broadcast for one; others are only sizes. */
const ORDINARY = /(?<![\w.])(?:\d{2,}|[2-9])(?![\w.])/g;

/** A compiled op call; null marks one that cannot be compiled. */
interface Entry {
  readonly executable: Executable;
  readonly tensors: readonly ArgPath[];
  readonly scalars: readonly ArgPath[];
  /** What follows the tensors of the call. */
  readonly constants: readonly Tensor[];
  /** Where a random op takes the generator's state. */
  readonly rng: ExecutionPlan['rng'];
  /** Whether its code serves other sizes. */
  readonly isShared: boolean;
  /** Whether the result is written into an input. */
  readonly inPlace: boolean;
}

/** Calls of an operator that differ in sizes alone. */
interface Family {
  sizes: number;
  readonly code: SizeFamily;
  /** Why the next provider serves all sizes that have no code of their own. */
  missing: TesseraError | null;
}

/** Sizes of the tensors that a graph holds. */
function tablesOf(module: GraphModule): string {
  return module.graph.nodes
    .filter(({ op }) => op === 'get_attr')
    .map(({ meta }) => (meta.val as Tensor).sizes.join())
    .join(';');
}

function at(args: readonly unknown[], path: ArgPath): unknown {
  let value: unknown = args;
  for (const index of path) value = (value as readonly unknown[])[index];
  return value;
}

/** See the file header. */
export class EagerProvider implements KernelProvider {
  /** Ops whose numbers must be known when compiling. */
  private readonly constantOps = new Set<OpOverload>();
  private readonly cache = new Map<OpOverload, Map<string, Entry | null>>();
  /** Calls that differ in sizes alone, by their key without sizes. */
  private readonly families = new Map<string, Family>();
  private readonly target: KernelBackend;

  constructor(
    private readonly backend: KernelBackend,
    /** Most compiled calls kept per op; the oldest is dropped. */
    private readonly limit = 256,
  ) {
    const { capabilities } = backend;
    const own = { ...capabilities, extern: false, fallback: capabilities.extern };
    this.target = Object.create(backend, { capabilities: { value: own } });
  }

  run(op: OpOverload, args: readonly unknown[], outs: readonly Tensor[]): boolean {
    if (op.hasTag('uninitialized')) return true;
    // Other devices' tensors are copied by the runtime.
    if (outs.some((out) => out.device !== this.backend.device)) return false;
    const random = op.hasTag('random');
    const { extern } = this.backend.capabilities;
    if (random && extern && !isRepeatedByCode(op, outs[0]!.dtype)) return false;
    if (outs.every((out) => out.numel === 0)) {
      // Nothing to compute, but perhaps something to refuse: indices into a tensor without elements.
      if (extern) return false;
      if (random) reserveOffsets(1);
      return true;
    }
    if (this.backend.runOperator?.(op, args, outs) === true) return true;
    const entry = this.lookup(op, args, outs);
    if (entry === null) return false;
    const inputs = entry.tensors.map((path) => at(args, path) as Tensor);
    inputs.push(...entry.constants);
    const scalars = entry.scalars.map((path) => at(args, path) as number);
    if (entry.rng !== undefined) placeRandomState(entry.rng, scalars);
    entry.executable.run(
      inputs,
      entry.inPlace ? [] : outs.length === 1 ? outs : outs.filter((out) => out.numel > 0),
      scalars,
    );
    return true;
  }

  private lookup(op: OpOverload, args: readonly unknown[], outs: readonly Tensor[]): Entry | null {
    let entries = this.cache.get(op);
    if (entries === undefined) this.cache.set(op, (entries = new Map<string, Entry | null>()));
    const key = this.keyOf(op, args, outs);
    let entry = entries.get(key);
    if (entry === undefined) {
      // Not a part of a compilation that happens to need a value: its stages are not reported.
      entry = reportTo(null, () => this.compile(op, args, outs, key));
      // Finding out that the op needs constants changed the key.
      if (key !== this.keyOf(op, args, outs)) return this.lookup(op, args, outs);
      if (entries.size >= this.limit) this.dropOldest(entries);
      entries.set(key, entry);
    }
    return entry;
  }

  private keyOf(op: OpOverload, args: readonly unknown[], outs: readonly Tensor[]): string {
    const key = opKey(op, args, outs, !this.constantOps.has(op));
    return inductorConfig.checkIndices ? key : `unchecked;${key}`;
  }

  private dropOldest(entries: Map<string, Entry | null>): void {
    for (const [key, entry] of entries) {
      if (entry?.isShared === false) entry.executable.dispose();
      entries.delete(key);
      return;
    }
  }

  private compile(
    op: OpOverload,
    args: readonly unknown[],
    outs: readonly Tensor[],
    key: string,
  ): Entry | null {
    const isExpanded = op.record.expand !== undefined;
    const { module, tensors, scalars } = isExpanded
      ? expandedGraph(op, args)
      : singleOpGraph(op, args, outs, !this.constantOps.has(op));
    try {
      const areSizes = tensors.length === 0 || takesSizes(op.qualifiedName);
      const bucket = areSizes
        ? key.replace(ORDINARY, '')
        : key.replace(SIZES, (list) => list.replace(ORDINARY, ''));
      // Other tables are other programs.
      const { executable, rng, outputs, isShared, liftedConstants } = this.code(
        op,
        module,
        isExpanded ? `${bucket};${tablesOf(module)}` : bucket,
      );
      const inPlace = outputs.length === 0;
      return { executable, tensors, scalars, constants: liftedConstants, rng, isShared, inPlace };
    } catch (error) {
      // Not an error of the caller: the reference kernel takes over, or the dispatcher says that none exists.
      if (isTesseraError(error) && error.code === 'lifted-scalar' && !this.constantOps.has(op)) {
        this.constantOps.add(op);
        return this.compile(op, args, outs, this.keyOf(op, args, outs));
      }
      if (
        isTesseraError(error) &&
        (error.code === 'kernel-missing' || error.code === 'dtype-unsupported')
      )
        return null;
      throw error;
    }
  }

  /** Code for one size, or for all of them once an op has been called with several. */
  private code(
    op: OpOverload,
    module: GraphModule,
    bucket: string,
  ): Pick<Entry, 'executable' | 'rng' | 'isShared'> &
    Pick<ExecutionPlan, 'outputs'> &
    Pick<CompiledPlan, 'liftedConstants'> {
    const { name } = op.schema;
    const key = `${op.qualifiedName}:${bucket}`;
    const family = this.families.get(key) ?? { sizes: 0, code: new SizeFamily(), missing: null };
    this.families.set(key, family);
    if (++family.sizes > OWN_SIZES && this.target.loadTemplate !== undefined) {
      if (family.missing !== null) throw family.missing;
      try {
        const code = family.code.compile(module, this.target, { name });
        const { executable, outline, isShared, liftedConstants } = code;
        const { rng, outputs } = outline;
        return { executable, rng, outputs, isShared, liftedConstants };
      } catch (error) {
        if (isTesseraError(error) && error.code === 'kernel-missing') family.missing = error;
        throw error;
      }
    }
    const { plan, liftedConstants } = compileToPlan(module, { backend: this.target, name });
    const { rng, outputs } = plan;
    return { executable: this.backend.load(plan), rng, outputs, isShared: false, liftedConstants };
  }

  /** Number of compiled calls held. */
  get size(): number {
    let count = 0;
    for (const entries of this.cache.values()) count += entries.size;
    return count;
  }
}
