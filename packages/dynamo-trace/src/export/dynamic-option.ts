/**
 * @file Which sizes of an exported function's arguments vary: `dynamic`, `dynamicShapes` and marks.
 */
import { type DeclaredSize, type SizedInput, parameterNames } from '@tessera/graph';
import { TesseraError, checkOptionNames, treeFlatten, treePaths } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { ParameterNames } from '../guards/call-roots.js';
import { dimMark } from '../dynamic/dynamic-marks.js';

/** What is said of a dim: it varies (in a range; dims of one name are equal), or it does not. */
export type DimSpec =
  boolean | { readonly name?: string; readonly min?: number; readonly max?: number };

/** Dims of a tensor by number; for arrays and records of tensors, the same nesting. */
export type ShapeSpec =
  | null
  | undefined
  | readonly (ShapeSpec | DimSpec)[]
  | { readonly [key: string | number]: ShapeSpec | DimSpec };

/** Options of `exportGraph`. */
export interface ExportOptions {
  /**
   * Sizes are symbols where the program allows it: all from 2 on, of all tensors in the arguments.
   * A size that turns out to be fixed stays a number.
   */
  readonly dynamic?: boolean;
  /**
   * Sizes that vary, per argument, in order or by parameter name: `[{ 0: true }]`,
   * `{ x: { 0: { min: 4, max: 64 } } }`, `{ x: { 0: { name: 'batch' } }, y: [{ name: 'batch' }] }`.
   * One that cannot vary is an error.
   */
  readonly dynamicShapes?: readonly ShapeSpec[] | { readonly [parameter: string]: ShapeSpec };
}

const DIM_OPTIONS: Readonly<Record<string, true>> = { name: true, min: true, max: true };

/** The tensors of the arguments and the sizes among theirs that vary. */
export function dynamicInputs(
  fn: (...args: never[]) => unknown,
  args: readonly unknown[],
  options: ExportOptions,
): { readonly inputs: SizedInput[]; readonly sizes: DeclaredSize[] } {
  checkOptionNames('exportGraph', options, { dynamic: true, dynamicShapes: true });
  if (!Array.isArray(args))
    throw new TesseraError('invalid-argument', 'exportGraph takes a list of arguments.', {
      hints: ['Write exportGraph(fn, [x, y]).'],
    });
  const { leaves, spec } = treeFlatten(args);
  const paths = treePaths(spec);
  const declared = new Map<Tensor, Map<number, DimSpec>>();
  const names = parameterNames(fn);
  const parameters = new ParameterNames(fn);
  const keys = args.map((_, i) => names[i] ?? `arg${i}`);
  for (const [at, own] of declaredArguments(options.dynamicShapes, keys))
    collect(args[at], own, `argument ${at}`, declared);
  const sizes = new Map<string, DeclaredSize>();
  const seen = new Set<Tensor>();
  const inputs: SizedInput[] = [];
  leaves.forEach((tensor, at) => {
    if (!isTensor(tensor) || seen.has(tensor)) return;
    seen.add(tensor);
    const [, position, rest] = /^\[(\d+)\](.*)$/s.exec(paths[at]!)!;
    const name = `${parameters.nameOf(Number(position))}${rest}`;
    const dims = tensor.sizes.map((_, dim) => {
      const wanted = wantedSize(tensor, dim, name, declared.get(tensor)?.get(dim), options);
      if (wanted === null) return -1;
      const [key, size] = wanted;
      const known = sizes.get(key);
      sizes.set(key, known === undefined ? size : join(known, size));
      return [...sizes.keys()].indexOf(key);
    });
    inputs.push({ tensor, dims });
  });
  return { inputs, sizes: [...sizes.values()] };
}

/** What `dynamicShapes` says of arguments, by number. @throws invalid-argument */
function declaredArguments(
  shapes: ExportOptions['dynamicShapes'],
  keys: readonly string[],
): [number, ShapeSpec][] {
  if (shapes === undefined || shapes === null) return [];
  if (typeof shapes !== 'object') throw misfit(`${String(shapes)} is neither a list nor a record`);
  const isList = Array.isArray(shapes);
  return Object.entries(shapes).map(([key, own]: [string, ShapeSpec]) => {
    const at = isList ? Number(key) : keys.indexOf(key);
    if (at < 0 || at >= keys.length)
      throw misfit(
        isList
          ? `there is no argument ${at}, there are ${keys.length}`
          : `there is no argument '${key}', there are ${keys.join(', ')}`,
      );
    return [at, own];
  });
}

/** What is wanted of a dim of the tensor called `name`, and what it has in common with equal ones; null for a number. */
function wantedSize(
  tensor: Tensor,
  dim: number,
  name: string,
  spec: DimSpec | undefined,
  { dynamic }: ExportOptions,
): readonly [key: string, DeclaredSize] | null {
  const hint = tensor.sizes[dim]!;
  const at = { hint, source: `${name}.size()[${dim}]` };
  const mark = dimMark(tensor, dim);
  if (spec === false || (spec === undefined && mark === 'static')) return null;
  const range = spec === undefined ? mark : spec === true ? {} : spec;
  if (range === undefined || range === 'static') {
    if (dynamic !== true || hint < 2) return null;
    return [`${hint}`, { ...at, min: 2, max: Infinity, declared: false, bounded: false }];
  }
  const { min = 2, max = Infinity } = range;
  if (min < 2 || hint < min || hint > max) {
    throw new TesseraError(
      'invalid-argument',
      `exportGraph: dim ${dim}, which has size ${hint}, is declared to be from ${min} to ${max}.`,
      { hints: ['Declare it from 2 and around the example; 0 and 1 are exported apart.'] },
    );
  }
  const shared = 'name' in range ? range.name : undefined;
  const key = shared === undefined ? `${hint}` : `name ${shared}`;
  return [key, { ...at, min, max, declared: true, bounded: min > 2 || max < Infinity }];
}

/** Dims that are one size: all that was said of them holds. */
function join(size: DeclaredSize, other: DeclaredSize): DeclaredSize {
  if (size.hint !== other.hint) {
    throw new TesseraError(
      'invalid-argument',
      `exportGraph: ${size.source} and ${other.source} have one name, but are ${size.hint} and ${other.hint}.`,
      { hints: ['Give dims that may differ different names.'] },
    );
  }
  return {
    ...size,
    min: Math.max(size.min, other.min),
    max: Math.min(size.max, other.max),
    declared: size.declared || other.declared,
    bounded: size.bounded || other.bounded,
  };
}

function collect(
  value: unknown,
  spec: ShapeSpec | DimSpec,
  where: string,
  found: Map<Tensor, Map<number, DimSpec>>,
): void {
  if (spec === null || spec === undefined) return;
  if (isTensor(value)) {
    const dims = new Map<number, DimSpec>();
    for (const [key, dim] of Object.entries(spec)) {
      if (dim === null || dim === undefined) continue;
      const at = Number(key) < 0 ? Number(key) + value.ndim : Number(key);
      if (!Number.isInteger(at) || at < 0 || at >= value.ndim || !isDimSpec(dim))
        throw misfit(`${where} has no dim '${key}' to declare`);
      if (typeof dim === 'object')
        checkOptionNames(`exportGraph: dim ${at} of ${where}`, dim, DIM_OPTIONS);
      dims.set(at, dim);
    }
    found.set(value, dims);
    return;
  }
  if (typeof spec !== 'object' || typeof value !== 'object' || value === null)
    throw misfit(`${where} is no tensor`);
  for (const [key, inner] of Object.entries(spec)) {
    if (!(key in value)) throw misfit(`${where} has no '${key}'`);
    collect((value as Record<string, unknown>)[key], inner as ShapeSpec, `${where}.${key}`, found);
  }
}

function isDimSpec(value: unknown): value is DimSpec {
  return typeof value === 'boolean' || (typeof value === 'object' && !Array.isArray(value));
}

function misfit(what: string): TesseraError {
  return new TesseraError('invalid-argument', `exportGraph: dynamicShapes does not fit: ${what}.`, {
    hints: ['Write it in the nesting of the arguments, with { dim: true } for a tensor.'],
  });
}
