/**
 * @file `lowerGraph`: a functionalised ATen graph → buffers and nodes.
 *
 * Walks the graph once. After each operator it decides whether the result stays an expression or gets
 * memory: values that are costly and read more than once, and values that have grown large. Mutations of
 * inputs (`copy_` epilogues) and outputs come last. Modelled on inductor's `GraphLowering`.
 */
import { type Steps, SymInt, TesseraError, atOnce } from '@tessera/shared';
import { type Argument, type GraphModule, Node, getItem } from '@tessera/graph';
import { type LoweringHandler, loweringOf } from '@tessera/passes';
import { type DeviceType, OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import { getOp } from '@tessera/tensor/internal';
import type { Capabilities } from '../backend/kernel-backend.js';
import { checkOperands } from './check-operands.js';
import { checkFallback, lowerExtern } from './extern.js';
import { findLowering, takesSizes } from './find-lowering.js';
import type { GraphSizes } from './graph-sizes.js';
import type { LoweredGraph } from './ir-node.js';
import { LoweredTensor } from './lowered-tensor.js';
import { Lowering } from './lowering.js';
import { mutationSteps } from './mutation.js';
import { InPlaceWrites } from './in-place-write.js';
import { usesOf, operatorOf } from './node-uses.js';
import { outputSteps } from './outputs.js';
import { pruneUnused } from './prune.js';
import { lowerRandomExtern } from './ops/random.js';
import { SizesNeeded, fixed } from './shape-math.js';
import { type LoweredArg, type LoweringCall, RecordedResult, RuntimeScalar } from './registry.js';

/** What a node's value became. */
type Lowered = LoweredTensor | RuntimeScalar | readonly (LoweredTensor | null)[];

/** Loads beyond which a value gets memory whatever its use. */
const MOST_LOADS = 16;
/** Operations beyond which a value gets memory whatever its use. */
const MOST_OPS = 96;
/** Loads beyond which a value that is read more than once gets memory. */
const MOST_LOADS_SHARED = 4;

class GraphLowering {
  readonly lowering: Lowering;
  readonly values = new Map<Node, Lowered>();
  readonly lifted: Tensor[] = [];
  private readonly mutations: Node[] = [];
  private readonly writes: InPlaceWrites<Lowered>;

  /** Buffers beyond which a value gets memory: a kernel must have room for so many such operands. */
  private readonly mostBuffers: { readonly ofOne: number; readonly ofThree: number };

  constructor(
    private readonly module: GraphModule,
    private readonly name: string,
    capabilities: Capabilities,
    private readonly sizes: GraphSizes | null,
  ) {
    this.lowering = new Lowering(capabilities);
    const room = capabilities.maxBuffersPerKernel - 1;
    this.mostBuffers = { ofOne: Math.max(1, room), ofThree: Math.max(1, Math.floor(room / 3)) };
    this.writes = new InPlaceWrites<Lowered>(
      {
        lowering: this.lowering,
        values: this.values,
        argsOf: (node) => this.argsOf(node),
        argument: (arg) => this.argument(arg),
        tensor: (node) => this.tensor(node),
        callOf: (node) => this.callOf(node, operatorOf(node)!),
        viewOf: (view, whole) => this.viewOf(view, whole),
      },
      module.graph.nodes,
    );
  }

  *run(): Steps<LoweredGraph> {
    const nodes = this.module.graph.nodes;
    // Bounds of random numbers are not rounded before the numbers are made.
    const wide =
      this.lowering.capabilities.dtypes.has('float64') &&
      nodes.some(
        ({ meta: { val }, target }) =>
          (isTensor(val) && val.dtype === 'float64') ||
          (target instanceof OpOverload && target.hasTag('random')),
      );
    for (const node of nodes) if (node.op === 'placeholder') this.placeholder(node, wide);
    for (const node of nodes) if (node.op === 'get_attr') this.constant(node);
    yield;
    let output: Argument = null;
    for (const node of nodes) {
      if (node.op === 'output') output = node.args[0];
      else if (node.op === 'call_function') this.call(node);
      else if (node.op === 'call_module') this.unsupported(node, 'calls a submodule');
      yield;
    }
    const { lowering } = this;
    const outputs = yield* outputSteps(
      lowering,
      output,
      (node) => this.values.get(node),
      (node) => this.recorded(node)[0] ?? null,
    );
    yield* mutationSteps(
      lowering,
      this.mutations.map((node) => ({
        target: this.tensor(node.input()),
        value: this.argument(node.input(1)),
        at: node.meta.programOrder ?? null,
      })),
    );
    yield;
    return {
      name: this.name,
      nodes: pruneUnused(lowering),
      inputs: lowering.inputs,
      scalars: lowering.scalars,
      outputs,
      liftedConstants: this.lifted,
      randomCount: lowering.randomCount,
    };
  }

  private placeholder(node: Node, wide: boolean): void {
    const { val, scalar } = node.meta;
    if (isTensor(val)) {
      this.values.set(node, this.input(val, this.recorded(node)[0]!));
      return;
    }
    const kind =
      scalar?.kind ??
      (typeof val === 'number' ? 'float' : typeof val === 'boolean' ? 'bool' : null);
    if (kind === null)
      this.unsupported(node, 'has neither a tensor nor a scalar as its recorded value');
    const dtype =
      kind === 'float' ? (wide ? 'float64' : 'float32') : kind === 'int' ? 'int64' : 'bool';
    this.values.set(node, new RuntimeScalar(this.lowering.scalar(node.name, dtype), kind));
  }

  private input(val: Tensor, { dtype, shape, layout }: RecordedResult): LoweredTensor {
    const tensor = this.lowering.fromBuffer(this.lowering.addInput(dtype, shape, layout));
    this.lowering.inputOffsets.push(val.storageOffset);
    return tensor;
  }

  /** Constant tensors become inputs that the caller supplies: a plan does not hold weights. */
  private constant(node: Node): void {
    const value = this.module.getAttribute(node.path);
    if (!isTensor(value)) this.unsupported(node, 'refers to a submodule');
    this.lifted.push(value);
    this.values.set(node, this.input(value, recordedTensor(value)));
  }

  private call(node: Node): void {
    const { target, meta } = node;
    this.lowering.programOrder.now = meta.isBackward === true ? null : (meta.programOrder ?? null);
    if (this.writes.lower(node)) return;
    if (target === getItem) {
      const list = this.values.get(node.input());
      const item = Array.isArray(list) ? list[node.number(1)] : null;
      if (item != null) this.values.set(node, this.settle(node, item));
      return;
    }
    if (typeof target === 'function') {
      const handler = loweringOf(target);
      if (handler === undefined) this.unsupported(node, `calls the function '${target.name}'`);
      this.values.set(node, this.lowerPattern(node, handler));
      return;
    }
    const op = operatorOf(node)!;
    if (op.qualifiedName === 'aten::copy_') {
      this.mutations.push(node);
      this.values.set(node, this.tensor(node.input(1)));
      return;
    }
    this.values.set(node, this.lower(node, op));
  }

  /** A node that stands for a pattern: its handler puts together what operators lower to. */
  private lowerPattern(node: Node, handler: LoweringHandler): Lowered {
    const [args, kwargs] = this.argsOf(node) as readonly [
      readonly Argument[],
      Record<string, Argument>,
    ];
    const made = handler(
      {
        call: (name, values) => this.lowerCall(node, getOp(name), values as readonly LoweredArg[]),
      },
      args.map((arg) => this.argument(arg)),
      Object.fromEntries(Object.entries(kwargs).map(([key, arg]) => [key, this.argument(arg)])),
    );
    return made instanceof LoweredTensor ? this.settle(node, made) : (made as Lowered);
  }

  private lower(node: Node, op: OpOverload): Lowered {
    return this.lowerCall(
      node,
      op,
      this.argsOf(node).map((arg) => this.argument(arg)),
    );
  }

  /** A view of a value in place of the one that the graph names. */
  private viewOf(view: Node, whole: LoweredTensor): LoweredTensor {
    const [, ...args] = this.argsOf(view).map((arg) => this.argument(arg));
    return this.lowerCall(view, operatorOf(view)!, [whole, ...args]) as LoweredTensor;
  }

  /** Arguments of a node with symbolic sizes for numbers. */
  private argsOf(node: Node): readonly Argument[] {
    return this.sizes?.argsOf(node) ?? node.args;
  }

  /** What is recorded of a node's results; null for one that is no tensor. */
  private recorded(node: Node): (RecordedResult | null)[] {
    const { val } = node.meta;
    const vals = Array.isArray(val) ? val : [val];
    const symbolic = this.sizes?.shapesOf(node);
    return vals.map((each, i) => {
      if (!isTensor(each)) return null;
      const shape = Array.isArray(symbolic) ? symbolic[i] : symbolic;
      if (shape == null) return recordedTensor(each);
      const strides = shape.strides.map((stride, d) => stride ?? each.strides[d]!);
      return new RecordedResult(each.dtype, shape.sizes, strides);
    });
  }

  /** What an operator on lowered values becomes, in the place of a node. */
  private lowerCall(node: Node, op: OpOverload, args: readonly LoweredArg[]): Lowered {
    try {
      return this.lowerOperator(node, op, args);
    } catch (error) {
      if (error instanceof SizesNeeded) {
        error.op ??= op.qualifiedName;
        error.location ??= node.meta.stackTrace ?? null;
      }
      throw error;
    }
  }

  private callOf(node: Node, op: OpOverload): LoweringCall {
    const results = this.recorded(node);
    const first = results.find((result) => result !== null);
    if (first == null) this.unsupported(node, 'has no recorded value (meta.val)');
    return {
      node,
      op: op.qualifiedName,
      dtype: first.dtype,
      shape: first.shape,
      get sizes() {
        return first.sizes;
      },
      results,
    };
  }

  private lowerOperator(node: Node, op: OpOverload, args: readonly LoweredArg[]): Lowered {
    const { lowering } = this;
    const call = this.callOf(node, op);
    const { results } = call;
    lowering.origin = { op: op.schema.name, node: node.name };
    const lower = findLowering(op.qualifiedName);
    checkOperands(op, args);
    if (lower === undefined) checkFallback(lowering, call);
    const numbers = (): readonly LoweredArg[] => args.map(withNumbers);
    const made =
      lower?.(lowering, takesSizes(op.qualifiedName) ? args : numbers(), call) ??
      (op.hasTag('random')
        ? lowerRandomExtern(lowering, numbers(), call, deviceOf(node))
        : lowerExtern(lowering, args, call, deviceOf(node)));
    if (made instanceof LoweredTensor) return this.settle(node, made);
    const list = made;
    if (isTensor(node.meta.val)) return this.settle(node, list[0]!);
    list.forEach((tensor, i) => {
      if (tensor !== null && results[i] != null) tensor.layout ??= results[i]!.layout;
    });
    return list;
  }

  /** Records the eager layout and gives the value memory if it should have some. */
  private settle(node: Node, made: LoweredTensor): LoweredTensor {
    const tensor = this.lowering.emulatesPrecisionCasts ? this.lowering.asStored(made) : made;
    const [val] = isTensor(node.meta.val) ? this.recorded(node) : [null];
    if (val != null && val.shape.length === tensor.shape.length) tensor.layout ??= val.layout;
    const rows = this.lowering.capabilities.factoredRows;
    if (tensor.isRealized || tensor.isView || rows?.stays(this.lowering, node, tensor) === true)
      return tensor;
    const cost = this.lowering.costOf(tensor.expr);
    const uses = usesOf(node);
    // Every column of a product would compute a row again whose sum it repeats.
    const most = rows?.isRow(tensor) === true ? 1 : MOST_LOADS_SHARED;
    const shared =
      uses.count > 1 &&
      (cost.expensiveEach || cost.loads > most || (cost.loads > 0 && uses.needMemory));
    const large = cost.loads > MOST_LOADS || cost.ops > MOST_OPS;
    const { ofOne, ofThree } = this.mostBuffers;
    const crowded = cost.buffers > (uses.onlyPlace ? ofOne : ofThree);
    if (shared || large || crowded) tensor.realize();
    return tensor;
  }

  private argument(arg: Argument): LoweredArg {
    if (arg instanceof Node) {
      const value = this.values.get(arg);
      if (value === undefined)
        this.unsupported(arg, 'is used but was not computed (its op returns nothing there)');
      return value;
    }
    if (Array.isArray(arg)) return arg.map((item) => this.argument(item));
    return arg as LoweredArg;
  }

  private tensor(node: Node): LoweredTensor {
    // What a schema calls a tensor.
    return this.argument(node) as LoweredTensor;
  }

  private unsupported(node: Node, why: string): never {
    throw new TesseraError(
      'kernel-missing',
      `Cannot compile graph '${this.name}': node '${node.name}' ${why}.`,
      {
        context: { node: node.name },
        hints: [
          'Graphs for inductor hold placeholders, constants, operators and one output; trace with fake tensors so that every node has meta.val.',
        ],
        ...(node.meta.stackTrace === undefined ? {} : { location: node.meta.stackTrace }),
      },
    );
  }
}

/** Facts of a recorded tensor value. */
function recordedTensor({ dtype, sizes, strides }: Tensor): RecordedResult {
  return new RecordedResult(dtype, sizes, strides);
}

/** An argument with numbers for symbolic sizes. */
function withNumbers(arg: LoweredArg): LoweredArg {
  if (arg instanceof SymInt) return fixed(arg);
  return Array.isArray(arg) ? arg.map(withNumbers) : arg;
}

function deviceOf(node: Node): DeviceType {
  const { val } = node.meta;
  const first = isTensor(val) ? val : Array.isArray(val) ? val.find(isTensor) : undefined;
  return first === undefined ? 'cpu' : first.device;
}

/** A lowered graph and the state that its expressions belong to. */
export interface LoweringResult {
  readonly lowering: Lowering;
  readonly graph: LoweredGraph;
}

/**
 * Lowers a graph for a backend; with `sizes`, for all sizes that its symbols stand for.
 *
 * @throws kernel-missing naming the operator and device; SizesNeeded where a symbol has to be fixed first
 */
export function lowerGraph(
  module: GraphModule,
  capabilities: Capabilities,
  name = 'graph',
  sizes: GraphSizes | null = null,
): LoweringResult {
  return atOnce(loweringSteps(module, capabilities, name, sizes));
}

/** `lowerGraph` with a pause after each node. @throws kernel-missing, SizesNeeded */
export function* loweringSteps(
  module: GraphModule,
  capabilities: Capabilities,
  name: string,
  sizes: GraphSizes | null,
): Steps<LoweringResult> {
  yield;
  const state = new GraphLowering(module, name, capabilities, sizes);
  yield;
  return { graph: yield* state.run(), lowering: state.lowering };
}
