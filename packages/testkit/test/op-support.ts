/**
 * @file What an operator supports, read from its record and from the compiler's lowerings.
 */
import { loweredOps, useHistograms } from '@tessera/inductor-core';
import { ownOperators, useDistributions, useLinearAlgebra } from '@tessera/inductor-wgsl';
import { type OpOverload, getOp } from '@tessera/tensor';

/** How an operator runs somewhere, or how a gradient passes it. */
export type Mark =
  /** Yes: its own kernel, lowering or derivative. */
  | 'yes'
  /** Through the operators that it is made of. */
  | 'parts'
  /** The reference kernel, called from compiled code. */
  | 'reference'
  /** A program of its own, which runs between two plans. */
  | 'alone'
  /** Ends the graph and runs eagerly: the shape of its result depends on values. */
  | 'break'
  /** A gradient does not make sense for it. */
  | 'none'
  /** A clear error. */
  | 'no';

/** Everything the tables say about one overload. */
export interface Support {
  readonly grad: Mark;
  readonly eagerCpu: Mark;
  readonly eagerWgpu: Mark;
  readonly cpu: Mark;
  readonly wgpu: Mark;
}

useHistograms();
useLinearAlgebra();
useDistributions();
const lowered = new Set(loweredOps());

/** Made on the CPU, one step after another; their functions copy the result to other devices. */
const COPIED: ReadonlySet<string> = new Set(['aten::randperm']);

function gradient(op: OpOverload): Mark {
  const { vjp, tags = [] } = op.record;
  // A vjp of comparisons is that of their in-place forms, for what they overwrite.
  if (vjp !== undefined && !tags.includes('non-differentiable')) return 'yes';
  return tags.some(
    (tag) => tag === 'non-differentiable' || tag === 'factory' || tag === 'random',
  ) || op.tensorArgs.length === 0
    ? 'none'
    : 'no';
}

/** Support of one overload; an in-place one has that of the functional one it is derived from. */
export function supportOf(overload: OpOverload): Support {
  const { inplaceOf } = overload.record;
  const op = inplaceOf === undefined ? overload : getOp(inplaceOf);
  const { record } = op;
  if (record.decompose !== undefined)
    return { grad: 'parts', eagerCpu: 'parts', eagerWgpu: 'parts', cpu: 'parts', wgpu: 'parts' };
  const runs =
    record.kernel !== undefined || record.produce !== undefined || record.view !== undefined;
  const lowers = lowered.has(op.qualifiedName);
  const alone = ownOperators.has(op.qualifiedName);
  const breaks = op.hasTag('data-dependent');
  // Changes where a tensor's elements are, not the elements: a graph cannot hold that.
  if (record.layoutOf !== undefined || op.qualifiedName.startsWith('aten::set_.'))
    return { grad: gradient(op), eagerCpu: 'yes', eagerWgpu: 'yes', cpu: 'break', wgpu: 'break' };
  if (COPIED.has(op.qualifiedName))
    return { grad: 'none', eagerCpu: 'yes', eagerWgpu: 'parts', cpu: 'reference', wgpu: 'parts' };
  const needsNoKernel = record.view !== undefined || op.hasTag('uninitialized');
  // Compilers have its parts.
  if (record.expand !== undefined && !lowers)
    return { grad: gradient(op), eagerCpu: 'yes', eagerWgpu: 'parts', cpu: 'parts', wgpu: 'parts' };
  return {
    grad: gradient(op),
    eagerCpu: runs ? 'yes' : 'no',
    // Eager kernels are compiled from the same lowerings.
    eagerWgpu: needsNoKernel || lowers || alone ? 'yes' : 'no',
    cpu: lowers ? 'yes' : breaks ? 'break' : 'reference',
    wgpu: lowers ? 'yes' : alone ? 'alone' : 'no',
  };
}

/** Operators of a family by name: overloads together, in-place forms with their functional ones. */
export function byName(ops: readonly OpOverload[]): Map<string, OpOverload[]> {
  const names = new Map<string, OpOverload[]>();
  for (const op of ops) {
    const name = op.schema.name.replace(/(?<=[^_])_$/, '');
    names.set(name, [...(names.get(name) ?? []), op]);
  }
  return names;
}
