/**
 * @file `aotFunction`: compiles a function without the tracer, once per signature.
 *
 * The function is traced by running it on FakeTensors. Everything but tensors and run-time scalars is
 * part of the signature, as are dtypes, layouts, requires_grad, aliasing of the inputs, grad mode,
 * autocast and the default dtype;
 * what the function reads from elsewhere is frozen. Modelled on functorch's aot_function.
 */
import { parameterNames } from '@tessera/graph';
import {
  type OptionNames,
  SymScalar,
  type TreeSpec,
  checkFunction,
  checkOptionNames,
  treeFlatten,
  treePaths,
  treeSpecEqual,
  treeUnflatten,
  type TreeSpecOf,
} from '@tessera/shared';
import {
  type DeviceType,
  type Tensor,
  defaultDType,
  isTensor,
  setGradEnabled,
} from '@tessera/tensor';
import { autocastKey, gradMode, requiresGrad, sameNumbers } from '@tessera/tensor/internal';
import { type AotCompiled, type AotOptions, compileProgram } from './aot-compile.js';
import type { InputInfo } from './joint/primals.js';
import { isDense } from './layout.js';

/** A program that returns an `R`, compiled for arguments like those of `key`. */
interface Entry<R> {
  readonly key: Signature;
  readonly compiled: AotCompiled;
  readonly structure: TreeSpecOf<R>;
}

interface Signature {
  readonly spec: TreeSpec;
  readonly leaves: readonly unknown[];
  readonly gradEnabled: boolean;
  readonly autocast: string;
  readonly defaultDType: string;
}

/** What is compared of a tensor. */
interface TensorKey {
  readonly dtype: string;
  readonly device: DeviceType;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly requiresGrad: boolean;
  /** Number of the first argument with the same memory, and with the same tensor. */
  readonly storage: number;
  readonly same: number;
  /** First element and bytes of the memory, where graphs may address it: if it is shared or has gaps. */
  readonly place: readonly number[];
}

/** Options that are functions. */
const FUNCTIONS = ['fwCompiler', 'bwCompiler', 'inferenceCompiler', 'partitionFn'] as const;

const OPTIONS: OptionNames<AotOptions> = {
  fwCompiler: true,
  bwCompiler: true,
  inferenceCompiler: true,
  partitionFn: true,
  jointPasses: true,
  postGradPasses: true,
  decompositions: true,
};

/**
 * A compiled form of `fn`: forward and backward are graphs that the given compilers compiled.
 *
 * Arguments and results may be nested. `backward()` inside `fn` needs the tracer (`compile`).
 *
 * @throws invalid-argument; aot-unsupported, graph-lint when called with arguments that cannot be compiled
 */
export function aotFunction<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  options: AotOptions,
): (...args: A) => R {
  checkFunction('aotFunction', fn);
  checkOptionNames('aotFunction', options, OPTIONS);
  for (const name of FUNCTIONS)
    if (name === 'fwCompiler' || options?.[name] !== undefined)
      checkFunction(name, options?.[name]);
  const entries: Entry<R>[] = [];
  return (...args) => {
    const { leaves, spec } = treeFlatten(args);
    const key: Signature = {
      spec,
      leaves: keysOf(leaves),
      gradEnabled: gradMode.enabled,
      autocast: autocastKey(),
      defaultDType: defaultDType(),
    };
    let entry = entries.find((candidate) => sameSignature(candidate.key, key));
    if (entry === undefined) {
      entry = compileEntry(fn, key, leaves, spec, options);
      entries.push(entry);
    }
    const { compiled, structure } = entry;
    const results = compiled.call(leaves.filter(isInput).map(runtimeValue));
    if (compiled.gradEnabledAfter !== key.gradEnabled) setGradEnabled(compiled.gradEnabledAfter);
    return treeUnflatten(results, structure);
  };
}

function compileEntry<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  key: Signature,
  leaves: readonly unknown[],
  spec: TreeSpecOf<A>,
  options: AotOptions,
): Entry<R> {
  let structure!: TreeSpecOf<R>;
  const run = (inputs: readonly unknown[]): readonly unknown[] => {
    let next = 0;
    const values = leaves.map((leaf) => (isInput(leaf) ? inputs[next++] : leaf));
    const result = treeFlatten(fn(...treeUnflatten(values, spec)));
    structure = result.spec;
    return result.leaves;
  };
  const compiled = compileProgram(
    {
      run,
      examples: leaves.filter(isInput),
      infos: inputInfos(fn, spec, leaves),
      gradEnabled: key.gradEnabled,
    },
    options,
  );
  return { key, compiled, structure };
}

function isInput(leaf: unknown): leaf is Tensor | SymScalar {
  return isTensor(leaf) || leaf instanceof SymScalar;
}

function runtimeValue(leaf: Tensor | SymScalar): Tensor | number {
  return leaf instanceof SymScalar ? leaf.hint : leaf;
}

function inputInfos(
  fn: (...args: never[]) => unknown,
  spec: TreeSpec,
  leaves: readonly unknown[],
): InputInfo[] {
  const parameters = parameterNames(fn);
  return treePaths(spec).flatMap((path, i): InputInfo[] => {
    if (!isInput(leaves[i])) return [];
    const [, position, rest] = /^\[(\d+)\](.*)$/s.exec(path)!;
    const parameter = parameters[Number(position)]?.replace('...', '') ?? `arg${position}`;
    return [{ name: `${parameter}${rest}`.replaceAll(/\W+/g, '_').replace(/_$/, '') }];
  });
}

function keysOf(leaves: readonly unknown[]): unknown[] {
  const tensors = leaves.filter((leaf) => isTensor(leaf));
  return leaves.map((leaf): unknown => {
    if (leaf instanceof SymScalar) return leaf.kind;
    if (!isTensor(leaf)) return leaf;
    const { dtype, device, sizes, strides } = leaf;
    return {
      dtype,
      device,
      sizes,
      strides,
      requiresGrad: requiresGrad(leaf),
      storage: tensors.findIndex((other) => other.storage === leaf.storage),
      same: tensors.indexOf(leaf),
      place: isAddressable(leaf, tensors) ? [leaf.storageOffset, leaf.storage.nbytes] : [],
    } satisfies TensorKey;
  });
}

function isAddressable(tensor: Tensor, all: readonly Tensor[]): boolean {
  if (!isDense(tensor.sizes, tensor.strides)) return true;
  return all.some((other) => other !== tensor && other.storage === tensor.storage);
}

function sameSignature(a: Signature, b: Signature): boolean {
  return (
    a.gradEnabled === b.gradEnabled &&
    a.autocast === b.autocast &&
    a.defaultDType === b.defaultDType &&
    treeSpecEqual(a.spec, b.spec) &&
    a.leaves.every((leaf, i) => sameLeaf(leaf, b.leaves[i]))
  );
}

function sameLeaf(a: unknown, b: unknown): boolean {
  if (!isTensorKey(a) || !isTensorKey(b)) return Object.is(a, b);
  return (
    a.dtype === b.dtype &&
    a.device === b.device &&
    sameNumbers(a.sizes, b.sizes) &&
    sameNumbers(a.strides, b.strides) &&
    a.requiresGrad === b.requiresGrad &&
    a.storage === b.storage &&
    a.same === b.same &&
    sameNumbers(a.place, b.place)
  );
}

function isTensorKey(key: unknown): key is TensorKey {
  return typeof key === 'object' && key !== null && 'strides' in key;
}
