/**
 * @file What lists of modules and of parameters have in common: entries are fields named by their positions.
 *
 * A list is edited by its fields alone, which is what compiled functions guard. Modelled on `torch.nn.ModuleList`.
 */
import { TesseraError } from '@tessera/shared';
import { checkChild } from '../module/check-child.js';
import { ownChildren, putLast } from '../module/module-tree.js';
import { Module } from '../module/module.js';

/** See the file header; `Given` is what becomes an entry. */
export abstract class Numbered<T extends Given, Given = T> extends Module {
  /** The entry at a position, from 0. */
  [index: number]: T;

  /** @internal The entries with their names, in order. */
  _entries(): [name: string, entry: T][] {
    return [...ownChildren(this)] as [string, T & Module][];
  }

  /** @internal What is kept under a name. @throws invalid-argument for what cannot be */
  _kept(name: string | number, value: Given): T {
    checkChild(this.constructor.name, name, value, 'Pass modules.');
    return value as T;
  }

  /** Number of entries. */
  get length(): number {
    return this._entries().length;
  }

  private _entry(index: number): [name: string, entry: T] {
    const entry = this._entries().at(index);
    if (entry !== undefined) return entry;
    throw new TesseraError('index-out-of-range', `index ${index} is out of range`, {
      hints: ['Count from 0.'],
    });
  }

  /** The entry at a position; negative counts from the end. @throws index-out-of-range */
  at(index: number): T {
    return this._entry(index)[1];
  }

  /** Replaces the entry at a position, which keeps its name. @throws index-out-of-range, invalid-argument */
  set(index: number, value: Given): this {
    return this._set(this._entry(index)[0], value);
  }

  /** @internal Adds or replaces the entry of a name. @throws invalid-argument */
  _set(name: string | number, value: Given): this {
    this[name as number] = this._kept(name, value);
    return this;
  }

  /**
   * Adds an entry at the end under the number of those before it, where they have names too, as in PyTorch. If one of
   * them has that number, as after a slice, all are numbered anew.
   *
   * @throws invalid-argument
   */
  append(value: Given): this {
    const { length } = this;
    const isTaken = this._entries().some(([name]) => name === `${length}`);
    return isTaken ? this.insert(length, value) : this._add(`${length}`, value);
  }

  /** @internal Adds an entry of a new name at the end. @throws invalid-argument */
  _add(name: string, value: Given): this {
    this._set(name, value);
    putLast(this, name, this._entries());
    return this;
  }

  /** Adds entries at the end. @throws invalid-argument unless they are a list of what it holds */
  extend(values: Iterable<Given>): this {
    for (const value of [...values]) this.append(value);
    return this;
  }

  /** Adds an entry before a position; all are numbered anew. @throws index-out-of-range, invalid-argument */
  insert(index: number, value: Given): this {
    if (index !== this.length) this._entry(index);
    return this._splice(index, 0, this._kept(index, value));
  }

  /** Takes away the entry at a position; the others are numbered anew. @throws index-out-of-range */
  delete(index: number): this {
    this.pop(index);
    return this;
  }

  /** Takes away the entry at a position, the last unless given, and returns it. @throws index-out-of-range */
  pop(index = -1): T {
    const entry = this.at(index);
    this._splice(index, 1);
    return entry;
  }

  private _splice(...edit: [start: number, count: number, ...added: T[]]): this {
    const entries = [...this];
    for (const [name] of this._entries()) Reflect.deleteProperty(this, name);
    Reflect.deleteProperty(this, '_last');
    entries.splice(...edit);
    return Object.assign(this, entries);
  }

  [Symbol.iterator](): ArrayIterator<T> {
    return this._entries()
      .map(([, entry]) => entry)
      .values();
  }
}
