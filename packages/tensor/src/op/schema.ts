/**
 * @file Parser of ATen schema strings, the one description of an operator's signature.
 *
 * `aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)`. The strings are
 * exactly PyTorch's, so that checkpoints, papers and FX dumps speak the same names. Everything that
 * can be derived from the signature is derived here: which arguments are mutated, which returns alias.
 */
import { TesseraError } from '@tessera/shared';

/** Base types that schemas name. `SymInt` is read as `int`. */
export type SchemaBaseType =
  | 'Tensor'
  | 'Scalar'
  | 'int'
  | 'float'
  | 'bool'
  | 'str'
  | 'Handle'
  | 'ScalarType'
  | 'Device'
  | 'Layout'
  | 'MemoryFormat'
  | 'Generator';

/** Type of an argument or return: `Tensor?[]` is {base: Tensor, list, elementOptional}. */
export interface SchemaType {
  readonly base: SchemaBaseType;
  readonly list: boolean;
  /** `T?`: the whole value may be null. */
  readonly optional: boolean;
  /** `T?[]`: elements may be null. */
  readonly elementOptional: boolean;
  /** Fixed list length (`int[2]`), which a single number may stand for; null otherwise. */
  readonly length: number | null;
  /** Written `SymInt`: a size or offset, which may vary while the program stays the same. */
  readonly symbolic: boolean;
}

/** `(a!)`: alias set `a`, written to. */
export interface AliasInfo {
  readonly set: string;
  readonly isWrite: boolean;
}

/** A default value; lists of numbers for `int[]`. */
export type SchemaDefault = number | boolean | string | null | readonly number[];

/** One formal argument. */
export interface SchemaArgument {
  readonly name: string;
  readonly type: SchemaType;
  readonly kwargOnly: boolean;
  readonly hasDefault: boolean;
  readonly default: SchemaDefault;
  readonly alias: AliasInfo | null;
}

/** One return value. */
export interface SchemaReturn {
  readonly name: string | null;
  readonly type: SchemaType;
  readonly alias: AliasInfo | null;
}

/** A parsed signature. */
export interface Schema {
  readonly text: string;
  readonly namespace: string;
  /** Operator name without namespace and overload, e.g. `add_`. */
  readonly name: string;
  /** Overload name; `default` when the schema gives none. */
  readonly overload: string;
  readonly args: readonly SchemaArgument[];
  readonly returns: readonly SchemaReturn[];
  /** Whether any argument is written to. */
  readonly isMutable: boolean;
  /** Whether a return aliases an argument that is not written: a view. */
  readonly isView: boolean;
}

const BASES: ReadonlySet<string> = new Set<SchemaBaseType>([
  'Tensor',
  'Scalar',
  'int',
  'float',
  'bool',
  'str',
  'Handle',
  'ScalarType',
  'Device',
  'Layout',
  'MemoryFormat',
  'Generator',
]);

function fail(text: string, why: string): never {
  throw new TesseraError('schema-parse', `Cannot read the operator schema '${text}': ${why}.`, {
    context: { schema: text },
    hints: ["Write it like 'custom::scale(Tensor self, float by=1) -> Tensor'."],
  });
}

/** Splits at top-level commas; parentheses and brackets nest. */
function splitTopLevel(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '(' || c === '[') depth++;
    else if (c === ')' || c === ']') depth--;
    else if (c === ',' && depth === 0) {
      parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  const last = text.slice(start).trim();
  if (last !== '') parts.push(last);
  return parts;
}

const TYPE =
  /^([A-Za-z]+)(\?)?(?:\(([a-z])(!)?(?:\s*->\s*[*a-z|]+)?\))?(\?)?(\[(\d*)\])?(?:\(([a-z])(!)?\))?(\?)?/;

interface ParsedType {
  readonly type: SchemaType;
  readonly alias: AliasInfo | null;
  readonly rest: string;
}

function parseType(text: string, whole: string): ParsedType {
  const m = TYPE.exec(text);
  const symbolic = m?.[1] === 'SymInt';
  const base = symbolic ? 'int' : m?.[1];
  if (m === null || !BASES.has(base!)) fail(whole, `unknown type in '${text}'`);
  const isList = m[6] !== undefined;
  const set = m[3] ?? m[8];
  const early = m[2] !== undefined || m[5] !== undefined;
  return {
    type: {
      base: base as SchemaBaseType,
      list: isList,
      optional: isList ? m[10] !== undefined : early || m[10] !== undefined,
      elementOptional: isList && early,
      length: m[7] === undefined || m[7] === '' ? null : Number(m[7]),
      symbolic,
    },
    alias: set === undefined ? null : { set, isWrite: (m[4] ?? m[9]) !== undefined },
    rest: text.slice(m[0].length).trim(),
  };
}

function parseDefault(text: string, type: SchemaType, whole: string): SchemaDefault {
  if (text === 'None') return null;
  if (text === 'True') return type.list ? Array<number>(type.length ?? 1).fill(1) : true;
  if (text === 'False') return false;
  if (text.startsWith('[')) {
    return splitTopLevel(text.slice(1, -1)).map((item) => Number(item));
  }
  if (/^["'].*["']$/.test(text)) return text.slice(1, -1);
  if (text === 'Mean') return 1;
  if (/^[a-z_]+$/.test(text)) return text === 'inf' ? Infinity : text;
  const value = Number(text);
  if (Number.isNaN(value)) fail(whole, `default '${text}' is not a value`);
  if (type.list) return Array<number>(type.length ?? 1).fill(value);
  return value;
}

function parseArgument(text: string, kwargOnly: boolean, whole: string): SchemaArgument {
  const { type, alias, rest } = parseType(text, whole);
  const eq = rest.indexOf('=');
  const name = (eq < 0 ? rest : rest.slice(0, eq)).trim();
  if (!/^[A-Za-z_]\w*$/.test(name)) fail(whole, `argument '${text}' has no name`);
  const hasDefault = eq >= 0;
  return {
    name,
    type,
    kwargOnly,
    hasDefault,
    default: hasDefault ? parseDefault(rest.slice(eq + 1).trim(), type, whole) : null,
    alias,
  };
}

interface Signature {
  readonly args: readonly SchemaArgument[];
  readonly returns: readonly SchemaReturn[];
}

function parseSignature(argText: string, returnText: string, whole: string): Signature {
  const args: SchemaArgument[] = [];
  let kwargOnly = false;
  for (const part of splitTopLevel(argText)) {
    if (part === '*') kwargOnly = true;
    else args.push(parseArgument(part, kwargOnly, whole));
  }
  const inner = returnText.startsWith('(') ? returnText.slice(1, -1) : returnText;
  const returns = splitTopLevel(inner).map((part): SchemaReturn => {
    const { type, alias, rest } = parseType(part, whole);
    return { name: rest === '' ? null : rest, type, alias };
  });
  return { args, returns };
}

/** A schema whose name is read at once and whose signature when somebody asks for it. */
class LazySchema implements Schema {
  readonly text: string;
  readonly namespace: string;
  readonly name: string;
  readonly overload: string;
  readonly isMutable: boolean;
  readonly #argText: string;
  readonly #returnText: string;
  #signature: Signature | null = null;

  constructor(text: string) {
    const head = /^\s*(\w+)::(\w+)(?:\.(\w+))?\((.*)\)\s*->\s*(.+?)\s*$/s.exec(text);
    if (head === null) fail(text, "expected 'namespace::name.overload(args) -> returns'");
    const [, namespace, name, overload, argText, returnText] = head;
    this.text = text;
    this.namespace = namespace!;
    this.name = name!;
    this.overload = overload ?? 'default';
    this.isMutable = /\([a-z]!/.test(argText!);
    this.#argText = argText!;
    this.#returnText = returnText!;
  }

  get args(): readonly SchemaArgument[] {
    return this.#parsed().args;
  }

  get returns(): readonly SchemaReturn[] {
    return this.#parsed().returns;
  }

  get isView(): boolean {
    return this.returns.some(({ alias }) => alias !== null && !alias.isWrite);
  }

  #parsed(): Signature {
    return (this.#signature ??= parseSignature(this.#argText, this.#returnText, this.text));
  }
}

/**
 * Reads the name of a schema string now and its signature on first use: of the hundreds of operators, a
 * program uses a few. @throws schema-parse, for the signature when it is used
 */
export function readSchema(text: string): Schema {
  return new LazySchema(text);
}

/** Parses a schema string. @throws schema-parse */
export function parseSchema(text: string): Schema {
  const schema = new LazySchema(text);
  void schema.args;
  return schema;
}
