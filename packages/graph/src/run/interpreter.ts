/**
 * @file `Interpreter`: runs a graph node by node; every step can be overridden.
 *
 * Subclass it to change what a kind of node does (transform, profile, propagate shapes). Values are
 * dropped after their last use. For plain running, `GraphModule.forward` is faster. Modelled on
 * torch.fx.Interpreter.
 */
import { type Steps, SymInt, atOnce } from '@tessera/shared';
import { type OpOverload, callOp } from '@tessera/tensor';
import { withCurrentNode } from './current-node.js';
import { graphError } from '../ir/graph-error.js';
import type { GraphModule } from '../ir/graph-module.js';
import { lastUses } from '../rewrite/last-uses.js';
import { callSubmodule } from '../ir/submodule.js';
import { type Argument, type HostFunction, Node } from '../ir/node.js';

/** See the file header. */
export class Interpreter {
  /** Values that are still needed. */
  protected readonly env: Map<Node, unknown> = new Map();
  private inputs: readonly unknown[] = [];
  private nextInput = 0;
  /** Values of the graph's symbols in this run. */
  private sizes: readonly number[] = [];

  constructor(readonly module: GraphModule) {}

  /** Runs the graph on its inputs and returns its output. @throws graph-lint when inputs are missing */
  run(...inputs: readonly unknown[]): unknown {
    return atOnce(this.steps(...inputs));
  }

  /** `run` with a pause after each node. @throws graph-lint when inputs are missing */
  *steps(...inputs: readonly unknown[]): Steps<unknown> {
    const nodes = this.module.graph.nodes;
    const dying = lastUses(nodes);
    this.env.clear();
    this.inputs = inputs;
    this.nextInput = 0;
    const { symbols } = this.module.graph;
    if (symbols !== null) this.sizes = symbols.binder(this.module.graph.placeholders)(inputs);
    for (const node of nodes) {
      const value = withCurrentNode(node, () => this.runNode(node));
      symbols?.checkOf(node)?.(value, this.sizes);
      if (node.op === 'output') {
        this.env.clear();
        return value;
      }
      this.env.set(node, value);
      for (const dead of dying.get(node) ?? []) this.env.delete(dead);
      yield;
    }
    throw graphError('The graph has no output node.', 'End it with graph.output(value).');
  }

  /** Runs one node: looks up its arguments and calls the method of its opcode. */
  runNode(node: Node): unknown {
    switch (node.op) {
      case 'placeholder':
        return this.placeholder(node);
      case 'get_attr':
        return this.getAttr(node);
      case 'call_function':
        return this.callFunction(
          node.target as OpOverload | HostFunction,
          this.loadArgs(node),
          node,
        );
      case 'call_module':
        return this.callModule(node.path, this.loadArgs(node), node);
      case 'output':
        return this.output(this.loadArgs(node)[0], node);
    }
  }

  /** The next input. */
  placeholder(node: Node): unknown {
    if (this.nextInput >= this.inputs.length) {
      throw graphError(
        `The graph got ${this.inputs.length} inputs, but there is none for placeholder '${node.name}'.`,
        `It takes: ${this.module.graph.placeholders.map((p) => p.name).join(', ')}.`,
      );
    }
    return this.inputs[this.nextInput++];
  }

  /** An attribute of the module. */
  getAttr(node: Node): unknown {
    return this.module.getAttribute(node.path);
  }

  /** Calls an operator or a function. */
  callFunction(target: OpOverload | HostFunction, args: readonly unknown[], _node: Node): unknown {
    if (typeof target === 'object') return callOp(target, args);
    return target(...args);
  }

  /** Calls a submodule. */
  callModule(path: string, args: readonly unknown[], _node: Node): unknown {
    return callSubmodule(this.module.getAttribute(path), path, args);
  }

  /** What `run` returns. */
  output(value: unknown, _node: Node): unknown {
    return value;
  }

  /** Arguments of a node with nodes replaced by their values. */
  protected loadArgs(node: Node): unknown[] {
    return node.args.map((arg) => this.load(arg));
  }

  private load(arg: Argument): unknown {
    if (arg instanceof Node) return this.env.get(arg);
    if (arg instanceof SymInt) return this.module.graph.symbols!.compile(arg)(this.sizes);
    if (Array.isArray(arg)) return arg.map((item) => this.load(item));
    if (typeof arg === 'object' && arg !== null) {
      return Object.fromEntries(Object.entries(arg).map(([key, value]) => [key, this.load(value)]));
    }
    return arg;
  }
}
