/**
 * @file `LeftOut`: computing, later, a value that compiled code did not return.
 *
 * Compiled code returns what its function was seen to need. The program may have kept another value, in a closure
 * or for a path that it takes for the first time. Nothing is copied in advance for that: the operators that lead to
 * the value run again, on inputs and results whose version counters say that they are still what they were. Where
 * they are not, the read is an error that names the operator; the next call returns the value.
 */
import { Graph, GraphModule, type Node, getItem, tensorVals, tensorVal } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import {
  type GeneratorState,
  type GradNode,
  type Storage,
  type Tensor,
  isTensor,
} from '@tessera/tensor';
import {
  gradFnOf,
  noteWrittenSince,
  rngState,
  requiresGrad,
  restoreRng,
  sameNumbers,
  show,
  wasWrittenSince,
} from '@tessera/tensor/internal';
import { asRecorded, gradModeNode } from '../trace/as-recorded.js';
import type { Segment } from '../trace/segment.js';
import type { Frame } from './frame.js';

/** Why a value cannot be computed any more. */
class Lost extends Error {}

/** See the file header. Made before the segment runs. */
export class LeftOut {
  /** Versions of the inputs when the segment had run. */
  private readonly versions: number[] = [];
  private readonly generator: GeneratorState | null;

  constructor(
    readonly segment: Segment,
    private readonly frame: Frame,
    /** Whether the sizes are those of the segment's graph. */
    private readonly hasGraph: boolean,
  ) {
    this.generator = segment.hasRandom ? rngState() : null;
  }

  /** The segment ran. */
  noteRun(): void {
    const { inputs } = this.segment;
    const { slots } = this.frame;
    // Of every call: a loop, without a function that the engine would have to inline.
    for (let i = 0; i < inputs.length; i++) {
      const tensor = slots[inputs[i]!.slot];
      this.versions.push(
        tensor === undefined ? 0 : (tensor.storageOrNull ?? tensor.storage).version,
      );
    }
  }

  /** Gives the lazy tensor in `slot` its value, and makes it a result from the next call on. @throws trace-escape */
  compute(slot: number): void {
    this.segment.addOutputs([slot]);
    const node = this.segment.produced.get(slot)!;
    try {
      if (this.segment.leadsToLeaf(node))
        throw new Lost('gradients may arrive at a leaf made beside it');
      if (!this.hasGraph) throw new Lost('its sizes have no graph of their own');
      this.evaluate(this.needed(node), node);
    } catch (error) {
      if (error instanceof Lost) throw escapeError(node, error.message);
      throw error;
    }
  }

  /** The node's tensor of the call, if it exists. */
  private realOf(node: Node): Tensor | null {
    const { segment, frame } = this;
    const at = segment.slotOf(node);
    const tensor = at === null ? undefined : frame.slots[at];
    return tensor === undefined || tensor.isLazy ? null : tensor;
  }

  /** Tensors of the call that exist in some memory. */
  private existingIn(storage: Storage): Tensor[] {
    const { produced, graph } = this.segment;
    return [...produced.values(), ...graph.placeholders]
      .filter((node) => storagesOf(node).includes(storage))
      .flatMap((node) => this.realOf(node) ?? []);
  }

  /** Nodes that must run again for one; those that they read and that are not among them exist. @throws Lost */
  private needed(target: Node): ReadonlySet<Node> {
    const { writers, graph } = this.segment;
    const nodes = new Set<Node>([target]);
    const add = (node: Node): void => void nodes.add(node);
    // A Set gives what is added meanwhile too.
    for (const node of nodes) {
      if (hasEffect(node)) throw new Lost(`${nameOf(node)} does not only compute its result`);
      for (const input of node.allInputNodes()) {
        const looks = isView(node, input);
        if (!looks) this.checkContents(storagesOf(input), node);
        if (input.op === 'placeholder') this.checkInput(input);
        else if (this.isStill(input, looks)) checkTensor(input, this.realOf(input)!);
        else add(input);
      }
      // Memory that is made again is written again by all that wrote to it.
      const given = new Set(node.allInputNodes().flatMap(storagesOf));
      for (const storage of storagesOf(node))
        if (!given.has(storage)) writers.get(storage)?.forEach(add);
      // The same tensor may be given a history by a later node (a custom autograd function).
      for (const other of graph.nodes)
        if (
          other.op === 'call_function' &&
          isTensor(node.meta.val) &&
          other.meta.val === node.meta.val
        )
          add(other);
      // Random numbers come in the order of the whole segment.
      if (isRandomNode(node)) graph.nodes.filter(isRandomNode).forEach(add);
    }
    return nodes;
  }

  /** Whether the value of a node exists and is what is needed of it: its memory, or what the segment computed. */
  private isStill(node: Node, forView: boolean): boolean {
    const real = this.realOf(node);
    return real?.storage.state === 'real' && (forView || real.storage.version === 0);
  }

  /** @throws Lost if memory no longer has the contents that `reader` saw, where it was not made by nodes that can run again */
  private checkContents(memory: readonly Storage[], reader: Node): void {
    const { segment, frame, versions } = this;
    const { nodes, placeholders } = segment.graph;
    for (const storage of memory) {
      const writers = segment.writers.get(storage) ?? [];
      const isLast = writers.every((writer) => nodes.indexOf(writer) < nodes.indexOf(reader));
      const inputs = placeholders.flatMap((node, i) =>
        storagesOf(node).includes(storage) ? [i] : [],
      );
      const isChanged = (i: number): boolean =>
        !isLast || frame.slots[segment.inputs[i]!.slot]!.storage.version !== versions[i];
      // A result has what the last write left there.
      if (
        inputs.some(isChanged) ||
        (inputs.length === 0 && !isLast && this.existingIn(storage).length > 0)
      )
        throw new Lost(`${nameOf(placeholders[inputs[0]!] ?? reader)} was overwritten since`);
    }
  }

  /** @throws Lost if an input is gone, or is not what it was */
  private checkInput(node: Node): void {
    const { segment, frame } = this;
    const { slot } = segment.inputs[segment.graph.placeholders.indexOf(node)]!;
    if (slot < 0) return;
    const tensor = frame.slots[slot]!;
    if (tensor.storage.state !== 'real') throw new Lost(`${nameOf(node)} was disposed since`);
    checkTensor(node, tensor);
  }

  /** Runs nodes again, in order, and gives all lazy tensors among their results their values. */
  private evaluate(nodes: ReadonlySet<Node>, target: Node): void {
    const { segment, frame } = this;
    const graph = new Graph();
    const copies = new Map<Node, Node>();
    const inputs: unknown[] = [];
    const ordered = segment.graph.nodes.filter(
      (node) => nodes.has(node) || node.target === gradModeNode,
    );
    for (const input of ordered.flatMap((node) => node.allInputNodes())) {
      if (nodes.has(input) || copies.has(input)) continue;
      copies.set(input, graph.placeholder(input.name));
      inputs.push(this.valueOf(input));
    }
    graph.copyNodes(ordered, copies);
    const made = ordered.filter(
      (node) => segment.slotOf(node) !== null && this.realOf(node) === null,
    );
    graph.output(made.map((node) => copies.get(node)!));
    const values = this.asThen(() =>
      new GraphModule<readonly Tensor[]>([], graph).forward(...inputs),
    );
    const value = values[made.indexOf(target)]!;
    if (this.existingIn(fakeOf(target).storage).some(({ storage }) => storage !== value.storage))
      throw new Lost('a part of its memory was returned alone');
    made.forEach((node, i) => {
      const [again, fake] = [values[i]!, fakeOf(node)];
      if (fake.requiresGradFlag) useUp(again, fake);
      else this.noteWrites(again, fake);
    });
    show(values);
    made.forEach((node, i) => segment.give(frame, segment.slotOf(node)!, values[i]!));
  }

  /** A view that was made without gradients takes those of its base once its memory was written to. */
  private noteWrites(value: Tensor, fake: Tensor): void {
    if (value.base === null) return;
    const { placeholders } = this.segment.graph;
    const i = placeholders.findIndex((node) => storagesOf(node).includes(fake.storage));
    const version = i < 0 ? 0 : this.versions[i];
    if (wasWrittenSince(fake) || value.storage.version !== version) noteWrittenSince(value);
  }

  /** What exists of a node: an input or a result. */
  private valueOf(node: Node): unknown {
    const i = this.segment.graph.placeholders.indexOf(node);
    return i < 0 || this.segment.inputs[i]!.slot >= 0
      ? this.realOf(node)!
      : this.frame.scalars[this.segment.inputs[i]!.scalar]!;
  }

  /** With the random numbers of the segment. */
  private asThen<R>(fn: () => R): R {
    const generator = rngState();
    if (this.generator !== null) restoreRng(this.generator);
    try {
      return asRecorded(this.segment.startGradMode, fn);
    } finally {
      restoreRng(generator);
    }
  }
}

/** What a `backward()` of the segment freed of the history of `fake` is freed in that of `value`, which was made again. */
function useUp(value: Tensor, fake: Tensor): void {
  const pairs = [[gradFnOf(value), gradFnOf(fake)]];
  const seen = new Set<GradNode>();
  // An array gives what is added meanwhile too.
  for (const [node, like] of pairs) {
    if (node == null || seen.has(node) || node.name !== like?.name) continue;
    seen.add(node);
    if (like.released) node.release();
    node.released ||= like.released;
    node.nextEdges.forEach((edge, i) =>
      pairs.push([edge?.node ?? null, like.nextEdges[i]?.node ?? null]),
    );
  }
}

/** @throws Lost if a tensor was given another layout, or takes gradients that did not, or does not any more */
function checkTensor(node: Node, tensor: Tensor): void {
  const fake = fakeOf(node);
  if (!sameNumbers(tensor.sizes, fake.sizes) || !sameNumbers(tensor.strides, fake.strides))
    throw new Lost(`${nameOf(node)} was given another layout since`);
  if (requiresGrad(fake) !== requiresGrad(tensor))
    throw new Lost(
      `${nameOf(node)} was told ${requiresGrad(tensor) ? '' : 'not '}to take gradients since`,
    );
}

function fakeOf(node: Node): Tensor {
  return tensorVal(node)!;
}

function storagesOf(node: Node): Storage[] {
  return tensorVals(node).flatMap(({ storageOrNull }) => storageOrNull ?? []);
}

/** Whether a node only looks at the memory of another. */
function isView(node: Node, of: Node): boolean {
  const { target } = node;
  const made = storagesOf(node);
  return (
    (target === getItem || (typeof target === 'object' && !target.isMutable)) &&
    storagesOf(of).some((storage) => made.includes(storage))
  );
}

function nameOf({ meta, name }: Node): string {
  return String(meta.source ?? name);
}

/** Whether running a node again would do something again. */
function hasEffect({ target }: Node): boolean {
  return typeof target === 'object' && target.hasTag('effect');
}

function isRandomNode({ target }: Node): boolean {
  return typeof target === 'object' && target.hasTag('random');
}

function escapeError({ meta, target }: Node, why: string): TesseraError {
  const op = meta.sourceFn ?? (typeof target === 'object' ? target.qualifiedName : 'an operator');
  return new TesseraError(
    'trace-escape',
    `The result of ${String(op)} was kept by a compiled function without being returned, and cannot be computed now: ${why}.`,
    {
      location: meta.stackTrace,
      hints: [
        'Call the function again: from now on it returns this value too. State that every call reads and replaces needs the other way.',
        'Return it from the function, or name the variable or object that keeps it: compile(fn, { captures: () => ({ state }) }); then it is there from the first call.',
      ],
    },
  );
}
