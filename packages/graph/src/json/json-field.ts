/**
 * @file `JsonField`: a value of parsed JSON that nobody vouches for, read with checks.
 *
 * Every accessor refuses what is not of the kind asked for, and the refusal names the place. Only keys that are asked
 * for are looked at, own ones alone; keys that mean something to JavaScript's objects are refused where keys are
 * free. Nesting is limited, as readers recurse.
 */

/** Levels of arrays and objects within each other. */
const DEEPEST = 200;
/** Names that objects of JavaScript inherit. */
const INHERITED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
/** Numbers that JSON cannot hold, as they are written. */
const SPECIAL: ReadonlyMap<string, number> = new Map([
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ['-0', -0],
]);

/** Makes the error of a refusal; `what` is half a sentence that begins with the place. */
export type Refusal = (what: string) => Error;

/** A number as JSON can hold it: special ones by name. */
export function encodeNumber(value: number): number | string {
  if (Object.is(value, -0)) return '-0';
  return Number.isFinite(value) ? value : String(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSafeInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isKeyOf<K extends string>(table: Readonly<Record<K, unknown>>, key: string): key is K {
  return Object.hasOwn(table, key);
}

/** See the file header. */
export class JsonField {
  private readonly depth: number;

  constructor(
    readonly value: unknown,
    private readonly refusal: Refusal,
    private readonly parent: JsonField | null = null,
    private readonly key: string | number = '',
  ) {
    this.depth = parent === null ? 0 : parent.depth + 1;
    if (this.depth > DEEPEST) this.refuse(`is nested more than ${DEEPEST} levels deep`);
  }

  /** Refuses the value. `what` follows the name of its place. */
  refuse(what: string): never {
    throw this.refusal(`${this.path} ${what}`);
  }

  private get path(): string {
    if (this.parent === null) return 'the whole';
    const keys = [this.key];
    for (let at = this.parent; at.parent !== null; at = at.parent) keys.push(at.key);
    if (keys.length > 8) keys.splice(0, keys.length - 8, '…');
    const path = keys
      .reverse()
      .map((key) =>
        typeof key === 'number' ? `[${key}]` : /^\w{1,40}$/.test(key) ? `.${key}` : '.…',
      );
    return `'${path.join('').replace(/^\./, '')}'`;
  }

  private get record(): Readonly<Record<string, unknown>> {
    return isRecord(this.value) ? this.value : this.refuse('is no object');
  }

  get isList(): boolean {
    return Array.isArray(this.value);
  }

  get isRecord(): boolean {
    return isRecord(this.value);
  }

  has(key: string): boolean {
    return isRecord(this.value) && Object.hasOwn(this.value, key);
  }

  /** What stands under a key; missing is as undefined. */
  field(key: string): JsonField {
    const { record } = this;
    return new JsonField(
      Object.hasOwn(record, key) ? record[key] : undefined,
      this.refusal,
      this,
      key,
    );
  }

  /** What stands under a key, or null where nothing does. */
  optional(key: string): JsonField | null {
    return this.has(key) && this.record[key] !== undefined ? this.field(key) : null;
  }

  /** The elements of a list. */
  items(most: number = Infinity): JsonField[] {
    const { value } = this;
    if (!Array.isArray(value)) this.refuse('is no list');
    if (value.length > most) this.refuse(`has ${value.length} elements; there may be ${most}`);
    return Array.from(value, (item, i) => new JsonField(item, this.refusal, this, i));
  }

  /** The elements of a record whose keys are free. */
  entries(): [key: string, value: JsonField][] {
    return Object.entries(this.record).map(([key, value]) => {
      if (INHERITED.has(key)) this.refuse('has a key that objects inherit');
      return [key, new JsonField(value, this.refusal, this, key)];
    });
  }

  string(most = 4096): string {
    const { value } = this;
    if (typeof value !== 'string') this.refuse('is no text');
    if (value.length > most) this.refuse(`is longer than ${most} characters`);
    return value;
  }

  /** A text that matches a pattern. */
  name(pattern: RegExp, most = 500): string {
    const text = this.string(most);
    if (!pattern.test(text)) this.refuse('is no name of the kind that stands there');
    return text;
  }

  boolean(): boolean {
    if (typeof this.value !== 'boolean') this.refuse('is neither true nor false');
    return this.value;
  }

  /** A finite number. */
  finite(): number {
    if (typeof this.value !== 'number' || !Number.isFinite(this.value)) this.refuse('is no number');
    return this.value;
  }

  /** A number, special ones by name. */
  number(): number {
    const { value } = this;
    const special = typeof value === 'string' ? SPECIAL.get(value) : undefined;
    return special ?? this.finite();
  }

  /** A safe integer from `min` to `max`. */
  integer(min: number, max: number): number {
    const { value } = this;
    return isSafeInteger(value) && value >= min && value <= max
      ? value + 0
      : this.refuse(`is no integer from ${min} to ${max}`);
  }

  /** One of the keys of an object. */
  keyOf<K extends string>(table: Readonly<Record<K, unknown>>): K {
    const text = this.string();
    return isKeyOf(table, text) ? text : this.refuse('is none of the known ones');
  }

  /** One of a few values. */
  oneOf<const T extends string | number>(values: readonly T[]): T {
    return (
      values.find((value) => value === this.value) ?? this.refuse(`is none of ${values.join(', ')}`)
    );
  }
}
