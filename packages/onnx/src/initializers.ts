/**
 * @file Initialisers as parameters and buffers of a module, under their names.
 *
 * Floats are parameters, all else are buffers, and so are the running statistics of BatchNormalization, as in PyTorch,
 * and numbers that an exporter wrote: scales, exponents, epsilons, the least float that masks with. An optimizer that moved
 * those would ruin the model.
 * Dots in a name are levels of submodules, as in a state dict. A part of a name that cannot be a field gets a `$` in
 * front: an empty one, one that starts with `_` or `$`, one that `Module` uses itself, and one that is a tensor and a
 * folder of tensors at once.
 * Whole numbers beyond 32 bits are no state: the largest int64 says "to the end", and not every device could hold it.
 */
import { Module, Parameter } from '@tessera/nn';
import { fromBytes, isFloatingPoint } from '@tessera/tensor';
import type { OnnxGraph, OnnxModel, TensorLiteral } from './model/model.js';
import { graphsOf, nodesOf } from './model/model.js';
import { fitsHost, isBeyond32Bits, readHost } from './run/host-array.js';

/** A level of names; it only holds tensors. */
export class OnnxScope extends Module {
  // Containers are never run.
  override forward(): never {
    throw new TypeError('A scope of initialisers has no forward().');
  }
}

/** A part of a name as a field. */
function fieldName(part: string): string {
  const taken = part in OnnxScope.prototype || part === 'training' || part === 'model';
  return part === '' || /^[_$]/.test(part) || taken ? `$${part}` : part;
}

/** State-dict names of initialisers, see the file header. */
export function stateNames(names: readonly string[]): Map<string, string> {
  const split = new Map(names.map((each) => [each, each.split('.').map(fieldName)]));
  const tensors = new Set([...split.values()].map((parts) => parts.join('.')));
  const found = new Map<string, string>();
  for (const [each, parts] of split) {
    for (let end = 1; end < parts.length; end++)
      if (tensors.has(parts.slice(0, end).join('.'))) parts[end - 1] = `$${parts[end - 1]}`;
    found.set(each, parts.join('.'));
  }
  return found;
}

/** Names that only BatchNormalization reads, as its running statistics. */
function statistics(graph: OnnxGraph, into = new Map<string, boolean>()): Map<string, boolean> {
  for (const node of graph.nodes) {
    node.inputs.forEach((input, i) => {
      const isStatistic = node.type === 'BatchNormalization' && node.domain === '' && i >= 3;
      into.set(input, isStatistic && into.get(input) !== false);
    });
    for (const inner of graphsOf(node)) statistics(inner, into);
  }
  return into;
}

/** A graph's initialisers and those of the graphs in it. */
export function* allInitializers(graph: OnnxGraph): Generator<TensorLiteral> {
  yield* graph.initializers.values();
  for (const node of graph.nodes) for (const inner of graphsOf(node)) yield* allInitializers(inner);
}

/** Tensors in the attributes of a model's nodes. */
export function* allLiterals(model: OnnxModel): Generator<TensorLiteral> {
  for (const { attributes } of nodesOf(model))
    for (const { kind, value } of attributes.values()) if (kind === 'tensor') yield value;
}

/** The field that holds an initialiser, with the module it is a field of. */
export interface Place {
  readonly owner: Module;
  readonly field: string;
}

/** The place of a state-dict name. */
function place(root: Module, path: string): Place {
  const parts = path.split('.');
  const field = parts.pop()!;
  let owner = root;
  for (const part of parts) {
    const inner: Module = Reflect.get(owner, part) ?? new OnnxScope();
    Reflect.set(owner, part, inner);
    owner = inner;
  }
  return { owner, field };
}

/** What a place holds now: others may be assigned, or lent for a call. */
export function tensorAt({ owner, field }: Place): unknown {
  return Reflect.get(owner, field);
}

/** Which float initialisers are parameters, by name and sizes. */
export type ParameterChoice = (name: string, sizes: readonly number[]) => boolean;

/** All but single numbers under names that exporters make up: a module's own have a path with dots. */
export const isLikelyParameter: ParameterChoice = (name, sizes) =>
  sizes.length > 0 || name.includes('.');

/** Makes the tensors of all initialisers that are state, as fields of a module; returns where they are. */
export function placeInitializers(
  root: Module,
  graph: OnnxGraph,
  isParameter: ParameterChoice,
): Map<TensorLiteral, Place> {
  const literals = [...allInitializers(graph)];
  const isStatistic = statistics(graph);
  // Branches of one If may use the same name.
  const seen = new Map<string, number>();
  const unique = literals.map((literal) => {
    const count = seen.get(literal.name) ?? 0;
    seen.set(literal.name, count + 1);
    return count === 0 ? literal.name : `${literal.name}$${count}`;
  });
  const names = stateNames(unique);
  const places = new Map<TensorLiteral, Place>();
  literals.forEach((literal, i) => {
    const { bytes, shape, type } = literal;
    const data = fromBytes(bytes, shape, type.dtype);
    if (fitsHost(shape) && isBeyond32Bits(readHost(data))) return;
    const at = place(root, names.get(unique[i]!)!);
    const { owner, field } = at;
    places.set(literal, at);
    const isStatic = isStatistic.get(literal.name) === true || !isParameter(literal.name, shape);
    if (isFloatingPoint(type.dtype) && !isStatic) {
      Reflect.set(owner, field, new Parameter(data));
    } else {
      owner.registerBuffer(field, data);
    }
  });
  return places;
}
