/**
 * @file Schema strings read by the type checker: the types of an operator's arguments and results.
 *
 * `SchemaArgs<'aten::glu(Tensor self, int dim=-1) -> Tensor'> = { self: Tensor; dim: number }`. The parser of
 * schema.ts reads the same language at run time. Splitting is at every comma, which also cuts defaults
 * (`=[1, 1]`); what is cut off names no argument and is dropped. Types only: no code comes of this file.
 *
 * Written to be cheap to check: pieces (`Tensor self`) are shared by hundreds of operators and TypeScript
 * reads each once; recursion is in tail position.
 */
import type { ScalarLike } from '@tessera/shared';
import type { DeviceType } from '../device.js';
import type { DType } from '../dtype.js';
import type { MemoryFormat } from '../memory-format.js';
import type { Tensor } from '../tensor.js';
import type { NamedArgs, SchemaWords } from './op-record.js';

/** Arguments of which nothing is known: every function fits them. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- see above
type Anything = any;

/** Values of the base types that schemas name. */
interface BaseValues {
  Tensor: Tensor;
  Scalar: ScalarLike;
  int: number;
  SymInt: number;
  float: number;
  bool: boolean;
  str: string;
  Handle: unknown;
  ScalarType: DType;
  Device: DeviceType;
  Layout: unknown;
  MemoryFormat: MemoryFormat;
  Generator: unknown;
}

/** Value of a type without alias annotation: `Tensor?`, `int[2]`, `Tensor?[]`; unknown for one that does not exist. */
type ValueOf<T extends string> = T extends keyof BaseValues
  ? BaseValues[T]
  : T extends `${infer Item}[${string}]${infer Rest}`
    ? readonly ValueOf<Item>[] | (Rest extends '?' ? null : never)
    : T extends `${infer Base}?`
      ? ValueOf<Base> | null
      : unknown;

type Space = ' ' | '\n';

/** Without spaces around it. */
type Trim<T extends string> = T extends `${Space}${infer Rest}`
  ? Trim<Rest>
  : T extends `${infer Rest}${Space}`
    ? Trim<Rest>
    : T;

/** Trimmed, and without alias annotation: `Tensor(a!) self` is `Tensor self`. */
type Plain<T extends string> =
  Trim<T> extends `${infer Head}(${string})${infer Tail}` ? `${Head}${Tail}` : Trim<T>;

/** Without the default: `int dim=-1` is `int dim`. */
type Declared<T extends string> = T extends `${infer Head}=${string}` ? Trim<Head> : T;

/** What stands between the commas of a list, as a union. */
type Pieces<T extends string, Done extends string = never> = T extends `${infer Head},${infer Rest}`
  ? Pieces<Rest, Done | PieceOf<Head>>
  : Done | PieceOf<T>;

/** What it declares; for text of which nothing is known, something that leaves the union's others as they are. */
type PieceOf<T extends string> =
  Declared<Plain<T>> extends infer P extends string
    ? string extends P
      ? `? ${string}`
      : P
    : never;

/** Name that a piece gives an argument; never for `*` and for the tail of a default. */
type NameOf<P> = P extends `${string} ${infer Name}` ? Trim<Name> : never;

/** Value of the argument that a piece declares. */
type ArgumentOf<P> = P extends `str ${infer Word extends keyof SchemaWords}`
  ? SchemaWords[Word]
  : P extends `${infer T} ${string}`
    ? ValueOf<T>
    : never;

/** Pieces with text that is not known until the program runs; the length of a list may be such. */
type Opaque<P extends string> = P extends `${infer Head}[${string}]${infer Tail}`
  ? Opaque<`${Head}${Tail}`>
  : // A key that is not one literal makes an index signature, which an object may lack.
    Record<never, never> extends Record<P, unknown>
    ? P
    : never;

/** The other pieces. */
type Clear<P extends string> = P extends unknown
  ? [Opaque<P>] extends [never]
    ? P
    : never
  : never;

/** Arguments by name, from the text between the parentheses of a signature. */
type ArgsOf<T extends string> = [Opaque<Pieces<T>>] extends [never]
  ? { [P in Pieces<T> as NameOf<P>]: ArgumentOf<P> }
  : [Clear<Pieces<T>>] extends [never]
    ? Anything
    : { [P in Clear<Pieces<T>> as NameOf<P>]: ArgumentOf<P> } & NamedArgs;

/**
 * Arguments of an operator by name, as its record's functions receive them. A `Tensor` may also be a number in
 * pointwise and composite operators (PyTorch's wrapped number): a function that allows it says so.
 * `any` for arguments that are not known until the program runs, beside those that are; unknown text behind `=` is taken
 * to be a default.
 *
 * @example
 * type Args = SchemaArgs<'custom::scale(Tensor self, float factor=1.0, Tensor? mask=None) -> Tensor'>;
 * // { self: Tensor; factor: number; mask: Tensor | null }
 */
export type SchemaArgs<S extends string> = S extends `${string}(${infer Args}) -> ${string}`
  ? ArgsOf<Args>
  : Anything;

/** Value of a return: `Tensor`, `Tensor(a)[]`, `Tensor values`. Lists are the caller's own. */
type ReturnOf<T extends string> =
  Plain<T> extends `${infer Type} ${string}` ? OwnValueOf<Type> : OwnValueOf<Plain<T>>;

type OwnValueOf<T extends string> = T extends `${infer Item}[]` ? ValueOf<Item>[] : ValueOf<T>;

type ReturnsOf<
  T extends string,
  Done extends readonly unknown[] = [],
> = T extends `${infer Head},${infer Rest}`
  ? ReturnsOf<Rest, [...Done, ReturnOf<Head>]>
  : [...Done, ReturnOf<T>];

/** What a call of an operator returns: a value, a tuple of several, nothing for `()`; unknown for an unknown schema. */
export type SchemaResult<S extends string> = S extends `${string}) -> ${infer Returns}`
  ? Returns extends '()'
    ? void
    : Returns extends `(${infer Many})`
      ? ReturnsOf<Many>
      : ReturnOf<Returns>
  : unknown;

/** `Done` and the argument of a piece, if it declares one; optional where it may be left out. */
type Appended<Done extends readonly unknown[], P extends string, Omissible extends boolean> = [
  NameOf<Declared<Plain<P>>>,
] extends [never]
  ? Done
  : Omissible extends true
    ? P extends `${string}=${string}`
      ? [...Done, ArgumentOf<Declared<Plain<P>>>?]
      : [...Done, ArgumentOf<Declared<Plain<P>>>]
    : [...Done, ArgumentOf<Declared<Plain<P>>>];

type InOrder<
  T extends string,
  Omissible extends boolean,
  Done extends readonly unknown[] = [],
> = T extends `${infer Head},${infer Rest}`
  ? InOrder<Rest, Omissible, Appended<Done, Head, Omissible>>
  : Appended<Done, T, Omissible>;

/** Arguments in the order of the schema; with `Omissible`, those with a default may be left out. */
type Positional<
  S extends string,
  Omissible extends boolean,
> = S extends `${string}(${infer Args}) -> ${string}`
  ? [Opaque<Pieces<Args>>] extends [never]
    ? InOrder<Args, Omissible>
    : never[]
  : never[];

/** A kernel of an operator: all arguments in order, result as the schema says. */
export type SchemaKernel<S extends string> = (...args: Positional<S, false>) => SchemaResult<S>;

/** An operator as a function: arguments in order, those with defaults may be left out. */
export type SchemaFunction<S extends string> = (...args: Positional<S, true>) => SchemaResult<S>;

/** `scale` and `pick.first` for `custom::scale(…) -> …` and `pick.first(…) -> …`. */
export type SchemaName<S extends string> = S extends `${infer Head}(${string}`
  ? Trim<Head> extends `${string}::${infer Name}`
    ? Name
    : Trim<Head>
  : string;
