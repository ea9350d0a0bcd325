/**
 * @file A graph turned into a list of instructions over numbered slots, for running it many times.
 *
 * No code is generated, so it works under any content security policy. Slots are cleared after their
 * value's last use.
 */
import { SymInt } from '@tessera/shared';
import { type OpOverload, callOp } from '@tessera/tensor';
import { graphError } from '../ir/graph-error.js';
import { type AttributeLookup, callSubmodule } from '../ir/submodule.js';
import type { Graph } from '../ir/graph.js';
import { lastUses } from '../rewrite/last-uses.js';
import { type Argument, Node } from '../ir/node.js';
import type { ResultCheck } from '../symbolic/check-result.js';
import { holdsSymbol } from '../symbolic/symbolic-argument.js';
import type { GraphSymbols } from '../symbolic/graph-symbols.js';

/** A runnable graph: inputs in, output out. */
export type Program = (inputs: readonly unknown[]) => unknown;

type Slots = unknown[];

interface Instruction {
  /** Runs the node with its arguments. */
  readonly call: (args: unknown[]) => unknown;
  readonly args: ArgumentPlan;
  readonly result: number;
  /** Slots to clear afterwards. */
  readonly dead: readonly number[];
  /** Compares the result with its symbolic sizes. */
  readonly check: ResultCheck | null;
}

/** Arguments: constants in place, and what to fill in from slots. */
interface ArgumentPlan {
  readonly template: readonly unknown[];
  readonly direct: readonly { readonly index: number; readonly slot: number }[];
  readonly nested: readonly { readonly index: number; readonly build: (slots: Slots) => unknown }[];
}

/** Prepares a graph to run; attributes are looked up on every run. @throws graph-lint */
export function compileGraph(graph: Graph, attributes: AttributeLookup): Program {
  const nodes = graph.nodes;
  const slotOf = new Map(nodes.map((node, i) => [node, i]));
  const dying = lastUses(nodes);
  const placeholders = nodes.filter((node) => node.op === 'placeholder');
  const { symbols } = graph;
  const bind = symbols?.binder(placeholders);
  const instructions: Instruction[] = [];
  for (const node of nodes) {
    if (node.op === 'placeholder' || node.op === 'output') continue;
    instructions.push({
      call: callOf(node, attributes),
      args: planArguments(node.args, slotOf, symbols),
      result: slotOf.get(node)!,
      dead: (dying.get(node) ?? []).map((dead) => slotOf.get(dead)!),
      check: symbols?.checkOf(node) ?? null,
    });
  }
  const output = graph.outputNode;
  if (output === null)
    throw graphError('The graph has no output node.', 'End it with graph.output(value).');
  const result = planArguments(output.args, slotOf, symbols);
  return (inputs) => {
    if (inputs.length !== placeholders.length) throw inputCountError(placeholders, inputs.length);
    const sizes = bind?.(inputs) ?? [];
    // The values of symbols stand behind those of nodes.
    const slots: Slots = new Array<unknown>(nodes.length);
    slots.push(...sizes);
    for (let i = 0; i < placeholders.length; i++) slots[i] = inputs[i];
    for (const instruction of instructions) {
      const value = instruction.call(fillArguments(instruction.args, slots));
      slots[instruction.result] = value;
      instruction.check?.(value, sizes);
      for (const dead of instruction.dead) slots[dead] = undefined;
    }
    return fillArguments(result, slots)[0];
  };
}

function inputCountError(placeholders: readonly Node[], got: number): Error {
  return graphError(
    `The graph takes ${placeholders.length} inputs, got ${got}.`,
    `Its inputs are: ${placeholders.map((node) => node.name).join(', ')}.`,
  );
}

function callOf(node: Node, attributes: AttributeLookup): Instruction['call'] {
  const { op, target } = node;
  if (op === 'get_attr') return () => attributes.getAttribute(node.path);
  if (typeof target === 'string')
    return (args) => callSubmodule(attributes.getAttribute(target), target, args);
  if (typeof target === 'object') {
    const overload: OpOverload = target;
    return (args) => callOp(overload, args);
  }
  return (args) => target(...args);
}

function planArguments(
  args: readonly Argument[],
  slotOf: ReadonlyMap<Node, number>,
  symbols: GraphSymbols | null,
): ArgumentPlan {
  const template: unknown[] = [];
  const direct: { index: number; slot: number }[] = [];
  const nested: { index: number; build: (slots: Slots) => unknown }[] = [];
  args.forEach((arg, index) => {
    template.push(arg instanceof Node ? undefined : arg);
    if (arg instanceof Node) direct.push({ index, slot: slotOf.get(arg)! });
    else if (holdsNode(arg) || holdsSymbol(arg))
      nested.push({ index, build: builder(arg, slotOf, symbols) });
  });
  return { template, direct, nested };
}

function fillArguments(plan: ArgumentPlan, slots: Slots): unknown[] {
  const args = plan.template.slice();
  for (const { index, slot } of plan.direct) args[index] = slots[slot];
  for (const { index, build } of plan.nested) args[index] = build(slots);
  return args;
}

function holdsNode(arg: Argument): boolean {
  if (arg instanceof Node) return true;
  if (typeof arg !== 'object' || arg === null || arg instanceof SymInt) return false;
  return Object.values(arg).some(holdsNode);
}

function builder(
  arg: Argument,
  slotOf: ReadonlyMap<Node, number>,
  symbols: GraphSymbols | null,
): (slots: Slots) => unknown {
  if (arg instanceof Node) {
    const slot = slotOf.get(arg)!;
    return (slots) => slots[slot];
  }
  if (arg instanceof SymInt) {
    const size = symbols!.compile(arg);
    const first = slotOf.size;
    return (slots) => size(slots.slice(first) as number[]);
  }
  if (typeof arg !== 'object' || arg === null) return () => arg;
  if (Array.isArray(arg)) {
    const items = arg.map((item) => builder(item, slotOf, symbols));
    return (slots) => items.map((item) => item(slots));
  }
  const entries = Object.entries(arg).map(
    ([key, value]) => [key, builder(value, slotOf, symbols)] as const,
  );
  return (slots) => Object.fromEntries(entries.map(([key, build]) => [key, build(slots)]));
}
