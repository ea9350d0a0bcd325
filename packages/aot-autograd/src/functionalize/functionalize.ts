/**
 * @file `functionalize`: a graph with views and in-place ops becomes one of pure ops.
 *
 * In: primitive ops with `meta.val`, whose storages say what aliases what. Out: the same placeholders
 * (and `bases`, see `FunctionalGraph`), pure ops, each returned value with memory of its own, and at
 * the end one `aten::copy_(input, value)` per input that the program modified. Nothing else writes. Modelled on
 * PyTorch's functionalization; here a pass from graph to graph.
 */
import {
  AliasSets,
  type Argument,
  Graph,
  GraphModule,
  type Node,
  eliminateDeadCode,
  getItem,
  tensorVal,
} from '@tessera/graph';
import { type Steps, TesseraError, atOnce } from '@tessera/shared';
import { type OpOverload, type Storage, type Tensor, isTensor } from '@tessera/tensor';
import { functionalForm, getOp, hasInternalOverlap } from '@tessera/tensor/internal';
import { viewedArgument } from '../viewed-argument.js';
import { Emitter } from './emitter.js';
import { writeBack, ownOutputs } from './epilogue.js';
import { functionalUpdate } from './in-place.js';
import { Value, type View, mapArguments, read, write } from './memory.js';
import { type SyntheticBase, sharedWrittenInputs, syntheticBases } from './synthetic-base.js';

/** What the caller decides. */
export interface FunctionalizeOptions {
  /** Placeholders whose update is returned by the graph itself, so it is not copied back. */
  readonly returned?: ReadonlySet<Node>;
  /** Outputs (by index) that may be inputs or share memory; default none. */
  readonly mayAlias?: (index: number) => boolean;
}

/** A functional graph. */
export interface FunctionalGraph {
  /** Placeholders: those of the original, then `bases`. */
  readonly module: GraphModule;
  /** The placeholder of each original one. */
  readonly placeholders: ReadonlyMap<Node, Node>;
  /** Original placeholders that the program modified, and that the graph copies back to. */
  readonly mutated: readonly Node[];
  /** Flat views of memory that several inputs share and the program modified. */
  readonly bases: readonly SyntheticBase[];
}

/** See the file header. @throws aot-unsupported, graph-lint */
export function functionalize(
  module: GraphModule,
  options: FunctionalizeOptions = {},
): FunctionalGraph {
  return atOnce(functionalizeSteps(module, options));
}

/** `functionalize` with a pause after each node. @throws aot-unsupported, graph-lint */
export function functionalizeSteps(
  module: GraphModule,
  options: FunctionalizeOptions = {},
): Steps<FunctionalGraph> {
  return new Functionalizer(module, options).run();
}

/** What an old node stands for in the new graph. */
type Mapped =
  | { readonly kind: 'value'; readonly value: Value }
  /** A list of results: fresh ones, or views. */
  | {
      readonly kind: 'list';
      readonly node: Node;
      readonly view: Omit<View, 'index'> | null;
      readonly results: readonly (Value | null)[] | null;
    }
  | { readonly kind: 'scalar'; readonly node: Node };

class Functionalizer {
  private readonly graph = new Graph();
  private readonly result: GraphModule;
  private readonly emitter = new Emitter(this.graph);
  private readonly mapped = new Map<Argument, Mapped>();
  private readonly placeholders = new Map<Node, Node>();
  private readonly attributes: Node[] = [];
  private bases: readonly SyntheticBase[] = [];

  constructor(
    private readonly module: GraphModule,
    private readonly options: FunctionalizeOptions,
  ) {
    this.result = new GraphModule(module.attributes, this.graph);
  }

  *run(): Steps<FunctionalGraph> {
    yield* this.addInputs();
    for (const node of this.module.graph.nodes) {
      this.emitter.from(node);
      if (node.op === 'get_attr') this.addAttribute(node);
      else if (node.op === 'call_function') this.addCall(node);
      else if (node.op === 'call_module')
        throw unsupported(`Node '${node.name}' calls a submodule.`, 'Inline submodules first.');
      else if (node.op === 'output') this.finish();
      yield;
    }
    eliminateDeadCode(this.graph);
    const { returned } = this.options;
    const mutated = [...this.placeholders.keys()].filter(
      (node) => this.isWritten(node) && returned?.has(node) !== true,
    );
    return {
      module: this.result,
      placeholders: this.placeholders,
      mutated,
      bases: this.bases,
    };
  }

  // ---- inputs

  private *addInputs(): Steps<void> {
    const { graph } = this.module;
    const old = graph.placeholders;
    for (const node of old)
      this.placeholders.set(
        node,
        this.graph.nodeCopy(node, (input) => input),
      );
    yield;
    const aliases = new AliasSets(graph);
    yield;
    const shared = sharedWrittenInputs(old, graph.nodes, aliases);
    this.bases = syntheticBases(this.graph, shared, this.emitter);
    const baseOf = new Map<Storage, Value>(this.bases.map((base) => [base.storage, base.value]));
    for (const node of old) {
      const copy = this.placeholders.get(node)!;
      const val = tensorVal(node);
      if (val === null) this.mapped.set(node, { kind: 'scalar', node: copy });
      else this.setValue(node, this.inputValue(val, copy, baseOf.get(val.storage)));
      yield;
    }
  }

  private inputValue(val: Tensor, node: Node, base: Value | undefined): Value {
    return base === undefined ? Value.owner(val, node, node) : this.stridedView(val, base);
  }

  /** A view by its place in the memory of a value. */
  private stridedView(val: Tensor, { memory }: Value): Value {
    const args = [[...val.sizes], [...val.strides], val.storageOffset];
    const view = { parent: memory.root, op: getOp('aten::as_strided'), args, index: null };
    return Value.view(val, view, this.emitter);
  }

  private addAttribute(node: Node): void {
    const copy = this.graph.nodeCopy(node, (input) => input);
    const val = tensorVal(node);
    if (val === null)
      throw unsupported(
        `Attribute '${String(node.target)}' is no tensor.`,
        'Inline submodules first.',
      );
    this.attributes.push(node);
    this.setValue(node, Value.owner(val, copy, copy));
  }

  // ---- calls

  private addCall(node: Node): void {
    const { target } = node;
    if (target === getItem) this.addGetItem(node);
    else if (typeof target !== 'object') {
      throw unsupported(
        `Node '${node.name}' calls a function that is no operator.`,
        'Register the function as an operator with library().',
      );
    } else if (target.isView) this.addView(node, target);
    else if (target.isMutable) this.addUpdate(node, target);
    else if (target.isCustom && target.schema.isView) this.addCustomView(node, target);
    else this.setFresh(node, this.emitter.emit(target, this.arguments(node)));
  }

  private addView(node: Node, op: OpOverload): void {
    const parent = this.valueOf(node.args[0]);
    const val = tensorVal(node);
    if (op.qualifiedName === 'aten::as_strided')
      return this.setValue(node, this.stridedView(val!, parent));
    const args = mapArguments(node.args.slice(1), (input) => this.current(input));
    const view = { parent, op, args };
    if (val !== null) this.setValue(node, Value.view(val, { ...view, index: null }, this.emitter));
    else {
      const call = this.emitter.emit(op, [read(parent, this.emitter), ...args]);
      this.mapped.set(node, { kind: 'list', node: call, view, results: null });
    }
  }

  /** A view by an operator of the program's: a place in memory, whatever else it means. */
  private addCustomView(node: Node, op: OpOverload): void {
    const of = viewedArgument(node);
    if (of === null)
      throw unsupported(
        `${op.qualifiedName} does not return one view, by its meta rule.`,
        'Return one view, from the rule too, or copies.',
      );
    this.setValue(node, this.stridedView(tensorVal(node)!, this.valueOf(of)));
  }

  private addUpdate(node: Node, op: OpOverload): void {
    if (op.record.inplaceOf !== undefined) {
      const self = this.valueOf(node.args[0]);
      write(self, functionalUpdate(this.emitter, op, this.arguments(node), self.val), this.emitter);
      this.setValue(node, self);
      return;
    }
    this.addOpaqueUpdate(node, op);
  }

  /** What an operator writes to its arguments are results of its functional form, behind those that are new. */
  private addOpaqueUpdate(node: Node, op: OpOverload): void {
    const { schema } = op;
    const tensors = node.args.flatMap((arg, i) =>
      [arg]
        .flat()
        .filter((each) => tensorVal(each) !== null)
        .map((each) => ({ value: this.valueOf(each), alias: schema.args[i]!.alias })),
    );
    const written = tensors.filter(({ alias }) => alias?.isWrite === true);
    // Copies of one memory would be told apart.
    if (written.some((a) => tensors.some((b) => a !== b && a.value.memory === b.value.memory)))
      throw unsupported(
        `${op.qualifiedName} writes to memory of two arguments.`,
        'Pass a copy: x.clone().',
      );
    const call = this.emitter.emit(functionalForm(op), this.arguments(node));
    let next = 0;
    const take = (): Node => this.emitter.getItem(call, next++);
    const fresh = schema.returns.map(({ alias }) => {
      if (alias !== null) return null;
      const item = take();
      return Value.owner(this.emitter.val(item), item);
    });
    for (const { value } of written)
      write(value, this.emitter.restride(take(), value.val), this.emitter);
    const results = schema.returns.map(
      ({ alias }, i) =>
        fresh[i] ?? written.findLast((each) => each.alias?.set === alias?.set)?.value ?? null,
    );
    const [only] = results;
    if (schema.returns.length === 1 && only != null) this.setValue(node, only);
    else this.mapped.set(node, { kind: 'list', node: call, view: null, results });
  }

  private addGetItem(node: Node): void {
    const list = this.mapped.get(node.input());
    const index = node.number(1);
    if (list?.kind !== 'list')
      throw unsupported(
        `Node '${node.name}' takes an item of something that is no list.`,
        'Lint the graph.',
      );
    const aliased = list.results?.[index];
    if (aliased != null) this.setValue(node, aliased);
    else if (list.view !== null)
      this.setValue(node, Value.view(tensorVal(node)!, { ...list.view, index }, this.emitter));
    else this.setFresh(node, this.emitter.getItem(list.node, index));
  }

  // ---- values

  private setFresh(node: Node, call: Node): void {
    const { val } = node.meta;
    if (isTensor(val)) this.setValue(node, Value.owner(val, call));
    else this.mapped.set(node, { kind: 'list', node: call, view: null, results: null });
  }

  private setValue(node: Node, value: Value): void {
    this.mapped.set(node, { kind: 'value', value });
  }

  private valueOf(arg: Argument): Value {
    const mapped = this.mapped.get(arg);
    if (mapped?.kind === 'value') return mapped.value;
    throw unsupported(
      'A view or an in-place op works on something that is no tensor.',
      'Lint the graph.',
    );
  }

  /** The new node that holds an old node's value now. */
  private current(node: Node): Node {
    const mapped = this.mapped.get(node)!;
    return mapped.kind === 'value' ? read(mapped.value, this.emitter) : mapped.node;
  }

  private arguments(node: Node): Argument[] {
    return mapArguments(node.args, (input) => this.current(input));
  }

  private isWritten(placeholder: Node): boolean {
    const mapped = this.mapped.get(placeholder)!;
    return mapped.kind === 'value' && mapped.value.memory.version > 0;
  }

  // ---- the end

  private finish(): void {
    const values = this.module.graph.results.map((arg) => {
      const mapped = this.mapped.get(arg);
      return mapped?.kind === 'value'
        ? mapped.value
        : mapped?.kind === 'scalar'
          ? mapped.node
          : arg;
    });
    const outputs = ownOutputs(this.emitter, values, this.options.mayAlias ?? (() => false));
    const roots = new Set<Value>();
    for (const node of [...this.placeholders.keys(), ...this.attributes]) {
      const mapped = this.mapped.get(node)!;
      if (mapped.kind !== 'value' || mapped.value.memory.version === 0) continue;
      const { sizes, strides } = tensorVal(node)!;
      if (hasInternalOverlap(sizes, strides))
        throw unsupported(
          `Input '${node.name}' is modified, and some of its elements are one place in memory.`,
          'Modify what it was expanded from, or a copy: x = x.clone().',
        );
      if (this.options.returned?.has(node) !== true) roots.add(mapped.value.memory.root);
    }
    writeBack(this.emitter, [...roots]);
    this.graph.output(outputs);
  }
}

function unsupported(message: string, hint: string): TesseraError {
  return new TesseraError('aot-unsupported', message, { hints: [hint] });
}
