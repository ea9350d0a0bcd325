/**
 * @file What dicts of modules and of parameters have in common: entries are fields of their names.
 *
 * A dict is edited by its fields alone, which is what compiled functions guard. Modelled on `torch.nn.ModuleDict`.
 */
import { TesseraError } from '@tessera/shared';
import { checkValues } from '../module/check-child.js';
import { putLast } from '../module/module-tree.js';
import { Module } from '../module/module.js';

/** Entries to add: a record, pairs, or another dict. */
export type Entries<T> = Readonly<Record<string, T>> | Iterable<readonly [string, T]>;

/** See the file header; `Given` is what becomes an entry, `Known` the entries of names that are known. */
export abstract class Named<
  T extends Given,
  Given = T,
  Known extends Readonly<Record<string, T>> = Readonly<Record<string, T>>,
> extends Module {
  /** @internal What the entries are called in errors. */
  protected abstract readonly _kind: string;

  /** Names and entries in order. */
  abstract entries(): [name: string, entry: T][];

  /** @internal What is kept under a name. @throws invalid-argument for what cannot be */
  protected abstract _kept(name: string, value: Given): T;

  /** Number of entries. */
  get size(): number {
    return this.entries().length;
  }

  /** Names in order. */
  keys(): string[] {
    return this.entries().map(([name]) => name);
  }

  /** Entries in order. */
  values(): T[] {
    return this.entries().map(([, entry]) => entry);
  }

  /** Whether there is an entry of this name. */
  has(name: string): boolean {
    return this.keys().includes(name);
  }

  /** The entry of a name, or what is given for where there is none. @throws invalid-argument if nothing is given */
  get<K extends string & keyof Known>(name: K): Known[K];
  get(name: string): T;
  get<D>(name: string, otherwise: D): T | D;
  get(name: string, ...otherwise: unknown[]): unknown {
    const found = this.entries().find(([key]) => key === name);
    if (found === undefined && otherwise.length > 0) return otherwise[0];
    if (found === undefined)
      throw new TesseraError(
        'invalid-argument',
        `${this.constructor.name} has no ${this._kind} '${name}'.`,
        { hints: [`Its ${this._kind}s are: ${this.keys().join(', ')}.`] },
      );
    return found[1];
  }

  /** Adds or replaces an entry. @throws invalid-argument for what cannot be one, or a name that cannot be a field */
  set(name: string, value: Given): this {
    const kept = this._kept(name, value);
    const isNew = !this.has(name);
    if (name === '' || name.includes('.') || (isNew && name in this))
      throw new TesseraError(
        'invalid-argument',
        `${this.constructor.name}: a ${this._kind} cannot be called '${name}'.`,
        {
          hints: [
            'Take a name without dots that is no parameter, submodule or field of every module.',
          ],
        },
      );
    Object.assign(this, { [name]: kept });
    if (isNew) putLast(this, name, this.entries());
    return this;
  }

  /** @internal What a record has to add, in the order in which it is added. */
  protected _fromRecord(record: Readonly<Record<string, Given>>): [name: string, value: Given][] {
    return Object.entries(record);
  }

  /** Adds or replaces entries: those of a record, of pairs, or of another dict. @throws invalid-argument */
  update(values: Entries<Given>): this {
    checkValues(this.constructor.name, values, true);
    const pairs = [...(Symbol.iterator in values ? values : this._fromRecord(values))];
    checkValues(this.constructor.name, pairs.every(Array.isArray) ? pairs : null, true);
    for (const [name, value] of pairs) this.set(name, value);
    return this;
  }

  /** Takes away the entry of a name, and returns it. @throws invalid-argument if there is none */
  pop(name: string): T {
    const entry = this.get(name);
    Reflect.deleteProperty(this, name);
    this._last = this._last?.filter((other) => other !== name);
    return entry;
  }

  /** Takes away the entry of a name. @throws invalid-argument if there is none */
  delete(name: string): this {
    this.pop(name);
    return this;
  }

  /** Takes away all entries. */
  clear(): this {
    for (const name of this.keys()) this.delete(name);
    return this;
  }

  *[Symbol.iterator](): Generator<[string, T]> {
    yield* this.entries();
  }

  /** A dict is no function. @throws invalid-argument always */
  override forward(): never {
    throw new TesseraError('invalid-argument', `${this.constructor.name} has no forward.`, {
      hints: [`Use its ${this._kind}s: dict.get('name').`],
    });
  }
}
