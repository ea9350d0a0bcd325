/**
 * @file `symbolicTrace`: traces a function without example inputs.
 *
 * Arguments are proxies that know nothing but which node they are; every operator called on them is
 * recorded as called. So the graph is valid for all shapes, and a function that looks at a shape or a
 * value is an error. Modelled on torch.fx.symbolic_trace.
 */
import { checkFunction } from '@tessera/shared';
import { type OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import {
  type BackwardCall,
  type PreDispatchMode,
  type RegionInputs,
  makeTensor,
  withPreDispatchMode,
} from '@tessera/tensor/internal';
import { getItem } from '../ir/get-item.js';
import { graphError } from '../ir/graph-error.js';
import { GraphModule } from '../ir/graph-module.js';
import { Graph } from '../ir/graph.js';
import type { Argument, Node } from '../ir/node.js';
import { parameterNames } from './parameter-names.js';

/**
 * Traces `fn`, whose parameters are tensors.
 *
 * @throws graph-lint when the function looks at a shape, a dtype or a value
 */
export function symbolicTrace(fn: (...args: Tensor[]) => unknown): GraphModule {
  checkFunction('symbolicTrace', fn);
  const tracer = new SymbolicTracer();
  const names = parameterNames(fn).filter((name) => name?.startsWith('...') !== true);
  const inputs = names.map((name, i) => tracer.input(name ?? `arg${i}`));
  tracer.finish(withPreDispatchMode(tracer, () => fn(...inputs)));
  return tracer.module;
}

class SymbolicTracer implements PreDispatchMode {
  readonly name = 'symbolic trace';
  readonly module: GraphModule = new GraphModule([], new Graph());
  private readonly nodes = new Map<Tensor, Node>();

  input(name: string): Tensor {
    return this.proxy(this.module.graph.placeholder(name));
  }

  finish(result: unknown): void {
    this.module.graph.output(this.argument(result));
  }

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    const node = this.module.graph.callFunction(
      op,
      args.map((arg) => this.argument(arg)),
    );
    node.meta.originalAten = op;
    const { returns } = op.schema;
    if (returns.some((value) => value.type.list)) {
      throw graphError(
        `symbolicTrace: ${op.qualifiedName} gives a list whose length depends on shapes.`,
        'Use makeFx with example inputs.',
      );
    }
    if (returns.length === 1) return this.proxy(node);
    return returns.map((_, index) =>
      this.proxy(this.module.graph.callFunction(getItem, [node, index], 'getitem')),
    );
  }

  onBackward(_call: BackwardCall): boolean {
    throw graphError('symbolicTrace: backward() needs shapes.', 'Use makeFx with example inputs.');
  }

  onGradMode(): void {}

  onRegion<R>(
    _owner: object,
    _name: string,
    inputs: RegionInputs,
    fn: (inputs: RegionInputs) => R,
  ): R {
    return fn(inputs);
  }

  onSetGrad(): void {}

  private argument(value: unknown): Argument {
    if (isTensor(value)) return this.nodeOf(value);
    if (Array.isArray(value)) return value.map((item) => this.argument(item));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, this.argument(item)]),
      );
    }
    return value as Argument;
  }

  private nodeOf(tensor: Tensor): Node {
    let node = this.nodes.get(tensor);
    if (node === undefined) {
      node = this.module.graph.getAttr(this.module.addAttribute('_tensor_constant', tensor));
      this.nodes.set(tensor, node);
    }
    return node;
  }

  private proxy(node: Node): Tensor {
    const tensor = makeTensor(null, 'float32', 'cpu', [], []);
    for (const property of ['sizes', 'strides', 'storageOffset', 'dtype', 'device'] as const) {
      Object.defineProperty(tensor, property, {
        get(): never {
          throw graphError(
            `symbolicTrace: the ${property} of '${node.name}' is not known.`,
            'Use makeFx with example inputs, or pass shapes as constants.',
          );
        },
      });
    }
    this.nodes.set(tensor, node);
    return tensor;
  }
}
